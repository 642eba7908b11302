// Tool arguments that are small on the wire and large in memory: the text has limits of its own before it is parsed.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"

#include "tests/attack/provider_answers.hpp"
#include "tests/cases.hpp"

namespace allm::attack_provider_arguments_test {
namespace {

using namespace provider_attack;

std::string repeated(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

// {"a":[x,x,…]}
std::string list_of(const std::string& element, std::size_t count) {
  return "{\"a\":[" + repeated(element + ",", count - 1) + element + "]}";
}

std::string nested(std::size_t count) {
  const std::string one = repeated("[", 100) + repeated("]", 100);
  return list_of(one, count / 100);
}

const ToolCall* only_call(const std::vector<Event>& events) {
  const auto* message = events.empty() ? nullptr : events.back().get_if<MessageCompleted>();
  return message == nullptr || message->message.tool_calls.size() != 1 ? nullptr : &message->message.tool_calls[0];
}

TEST(AttackProviderArguments, TextBeyondTheLimitOfOneCallIsNotParsed) {
  const AnswerLimits limits{.max_argument_bytes = 10'000};
  const std::string text = "{\"a\":\"" + std::string(9'992, 'x') + "\"}";
  ASSERT_EQ(text.size(), 10'000U);
  const std::string longer = "{\"a\":\"" + std::string(9'993, 'x') + "\"}";
  for_each_answer({{"c", text}}, [&](const Protocol& protocol, const HttpResponseHead& head, const std::string& body,
                                     const std::string& name) {
    const std::vector<Event> events = decoded(protocol, head, body, limits);
    ASSERT_NE(only_call(events), nullptr) << name << error_in(events);
    EXPECT_EQ(only_call(events)->arguments.size(), 1U) << name;
  });
  for_each_answer({{"c", longer}}, [&](const Protocol& protocol, const HttpResponseHead& head, const std::string& body,
                                       const std::string& name) {
    const std::vector<Event> events = decoded(protocol, head, body, limits);
    ASSERT_NE(only_call(events), nullptr) << name << error_in(events);
    EXPECT_EQ(only_call(events)->arguments, Json::object()) << name;
    EXPECT_EQ(only_call(events)->raw_arguments, longer) << name;
  });
}

TEST(AttackProviderArguments, TheTextOfAllCallsHasALimit) {
  const std::vector<Call> calls(5, Call{"c", "{\"a\":\"" + std::string(9'000, 'x') + "\"}"});
  for_each_answer(calls, [&](const Protocol& protocol, const HttpResponseHead& head, const std::string& body,
                             const std::string& name) {
    const std::string error = error_in(decoded(protocol, head, body, {.max_call_bytes = 40'000}));
    EXPECT_NE(error.find("40000 bytes (EngineOptions::answer_limits.max_call_bytes)"), std::string::npos)
        << name << ": " << error;
  });
}

// Before, 726 kB of gzip became 3.4 GB of values.
TEST(AttackProviderArguments, SmallTextsDoNotBecomeMillionsOfValues) {
  for (const std::string& arguments :
       {list_of("0", 2'600), list_of("{}", 2'600), list_of("\"\"", 2'600), nested(2'600)}) {
    for_each_answer({{"c", arguments}}, [&](const Protocol& protocol, const HttpResponseHead& head,
                                            const std::string& body, const std::string& name) {
      const std::string error = error_in(decoded(protocol, head, body, {.max_argument_values = 2'500}));
      EXPECT_NE(error.find("2500 JSON values (EngineOptions::answer_limits.max_argument_values)"), std::string::npos)
          << name << ": " << error << " for " << arguments.substr(0, 20);
    });
  }
  const HttpResponseHead head{200, {{"content-type", "text/event-stream"}}};
  const std::string error = error_in(decoded(protocols()[0], head, chat_stream({{"c", list_of("0", 110'000)}})));
  EXPECT_NE(error.find("100000 JSON values"), std::string::npos) << error;
}

TEST(AttackProviderArguments, AnEventHasALimitOfValues) {
  const std::string million = list_of("0", 1'000'001);
  for (const bool is_stream : {true, false}) {
    const HttpResponseHead head{200, {{"content-type", is_stream ? "text/event-stream" : "application/json"}}};
    const std::string error = error_in(decoded(protocols()[3], head, is_stream ? event(million) : million));
    EXPECT_NE(error.find("or it has more than 1000000 values"), std::string::npos) << error;
  }
}

// The search for a repeated key, and each copy of members, was quadratic in their number.
TEST(AttackProviderArguments, ObjectsWithManyMembersAreReadInLinearTime) {
  const int count = allm::testing::cases(5'000);
  std::string members;
  for (int i = 0; i < count; ++i) members += "\"m" + std::to_string(i) + "\":1,";
  const std::string object = "{" + members + "\"m0\":2}";
  for (const Protocol& protocol : protocols()) {
    const std::string_view name = protocol.name;
    std::string body =
        event(name == "responses"   ? R"({"type":"response.created","response":{"id":"r"}})"
              : name == "anthropic" ? R"({"type":"message_start","message":{"id":"m","usage":)" + object + "}}"
              : name == "gemini"    ? R"({"usageMetadata":)" + object + "}"
                                 : R"({"choices":[{"index":0,"delta":{"reasoning_details":[)" + object + "," + object +
                                       R"(]}}],"usage":)" + object + "}");
    body += name == "responses"
                ? event(R"({"type":"response.completed","response":{"status":"completed","usage":)" + object +
                        R"(,"output":[{"type":"other","x":null,)" + object.substr(1) +
                        R"(,{"type":"reasoning","summary":[]}]}})")
                : protocol.stream({}).substr(name == "anthropic" ? protocol.stream({}).find("\n\n") + 2 : 0);
    EXPECT_EQ(error_in(decoded(protocol, {200, {{"content-type", "text/event-stream"}}}, body)), "") << name;
  }
}

TEST(AttackProviderArguments, TheModelIsToldThatTheyAreTooLong) {
  const std::string text = "{\"a\":\"" + std::string(1U << 20U, 'x') + "\"}";
  int runs = 0;
  const Tool tool{.name = "f", .handler = [&runs](const Json&) {
                    ++runs;
                    return ok(1);
                  }};
  const auto run = [&](AnswerLimits limits) {
    const Engine engine({.adapter = fake({{FakeToolCall{.id = "c", .name = "f", .raw_arguments = text},
                                           fake_finish(FinishReason::tool_calls)},
                                          {fake_text("sorry"), fake_finish(FinishReason::stop)}}),
                         .tools = {tool},
                         .answer_limits = limits});
    const Result<ChatResult> result = chat(engine, {user("hi")});
    EXPECT_TRUE(result.has_value());
    return result ? result->steps.front().tool_results.front().text() : std::string();
  };
  const std::string told = run({});
  EXPECT_EQ(runs, 0);
  EXPECT_NE(told.find("\"reason\":\"invalid_arguments\""), std::string::npos) << told.substr(0, 300);
  EXPECT_NE(told.find("1048584 bytes, and at most 1048576 are allowed"), std::string::npos) << told.substr(0, 300);
  EXPECT_NE(told.find("max_argument_bytes"), std::string::npos) << told.substr(0, 300);
  EXPECT_EQ(run({.max_argument_bytes = 2U << 20U}), "1");
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace allm::attack_provider_arguments_test
