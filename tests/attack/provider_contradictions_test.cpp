// A Responses server whose pieces contradict its final events: the final ones win, in the streamed and in the folded
// form, and telemetry is told.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/telemetry.hpp"

#include "tests/attack/provider_answers.hpp"
#include "tests/provider_rig.hpp"

namespace allm::attack_provider_contradictions_test {
namespace {

using namespace provider_attack;
using allm::testing::HttpServer;
using allm::testing::ProviderCase;
using allm::testing::Reply;
using allm::testing::ServedRequest;

const std::string kCreated = R"({"type":"response.created","response":{"id":"r","model":"m"}})";
const std::string kItem = R"("item_id":"m1","output_index":0,"content_index":0,)";

std::string delta(const std::string& text) {
  return R"({"type":"response.output_text.delta",)" + kItem + R"("delta":)" + quoted(text) + "}";
}
std::string text_item(const std::string& text) {
  return R"({"type":"message","id":"m1","content":[{"type":"output_text","text":)" + quoted(text) + "}]}";
}
std::string call_item(const std::string& name, const std::string& arguments) {
  return R"({"type":"function_call","id":"f1","call_id":"c1","name":)" + quoted(name) + R"(,"arguments":)" +
         quoted(arguments) + "}";
}
std::string completed(const std::string& output) {
  return R"({"type":"response.completed","response":{"id":"r","status":"completed","output":[)" + output + "]}}";
}

struct Answer {
  Response response;
  std::vector<std::string> warnings;  // settings
};

// The response of an engine that reads these events from a server, streamed and folded.
class Served {
 public:
  explicit Served(const std::vector<std::string>& events) : body_(event(kCreated)) {
    for (const std::string& each : events) body_ += event(each);
  }

  Answer read() const {
    const HttpServer server([this](const ServedRequest&, Reply& reply) { allm::testing::send_stream(reply, body_); });
    const auto telemetry = std::make_shared<CollectingTelemetry>();
    const ProviderCase& provider = allm::testing::provider_cases()[1];
    const Engine engine({.adapter = provider.make(server.url(), provider.key, {.ca_file = server.ca_file()}),
                         .model = provider.model,
                         .telemetry = telemetry});
    const Result<Response> folded = generate(engine, {.messages = {user("hi")}});
    EXPECT_TRUE(folded.has_value()) << folded.error().message();
    const std::vector<std::string> warnings = warnings_in(*telemetry);
    StreamCollector collector;
    for (const Event& each : stream_generate(engine, {.messages = {user("hi")}})) collector.apply(each);
    const Result<Response> streamed = std::move(collector).response();
    EXPECT_TRUE(streamed.has_value()) << streamed.error().message();
    if (!folded || !streamed) return {};
    EXPECT_EQ(folded->output_text, streamed->output_text);
    EXPECT_EQ(folded->tool_calls, streamed->tool_calls);
    EXPECT_EQ(folded->reasoning, streamed->reasoning);
    EXPECT_EQ(folded->message, streamed->message);
    EXPECT_EQ(folded->message->text(), folded->output_text);
    return {*folded, warnings};
  }

 private:
  static std::vector<std::string> warnings_in(const CollectingTelemetry& telemetry) {
    std::vector<std::string> found;
    for (const auto& record : telemetry.records()) {
      if (record.name == "allm.adapter.warning") found.push_back(record.detail["setting"].get<std::string>());
    }
    return found;
  }

  std::string body_;
};

using Warnings = std::vector<std::string>;

TEST(AttackProviderContradictions, TheFinalTextWins) {
  const std::string other = R"("other")";
  const std::vector<std::pair<const char*, std::vector<std::string>>> answers = {
      {"response.completed", {delta("one"), delta(" two"), completed(text_item("other"))}},
      {"output_item.done",
       {delta("one"), R"({"type":"response.output_item.done","output_index":0,"item":)" + text_item("other") + "}",
        completed("")}},
      {"output_text.done",
       {delta("one"), R"({"type":"response.output_text.done",)" + kItem + R"("text":"other"})", completed("")}},
      {"content_part.done",
       {delta("one"),
        R"({"type":"response.content_part.done",)" + kItem + R"("part":{"type":"output_text","text":"other"}})",
        completed("")}},
      {"twice, and an earlier final text",
       {delta("one"), R"({"type":"response.output_text.done",)" + kItem + R"("text":"one"})",
        R"({"type":"response.output_text.done",)" + kItem + R"("text":"one"})", completed(text_item("other"))}},
  };
  for (const auto& [name, events] : answers) {
    const Answer answer = Served(events).read();
    EXPECT_EQ(answer.response.output_text, "other") << name;
    EXPECT_EQ(answer.warnings, Warnings{"output_text"}) << name;
  }
}

TEST(AttackProviderContradictions, AnEmptyFinalTextWinsToo) {
  const Answer answer = Served({delta("one"), completed(text_item(""))}).read();
  EXPECT_EQ(answer.response.output_text, "");
  EXPECT_EQ(answer.warnings, Warnings{"output_text"});
}

TEST(AttackProviderContradictions, TextThatOnlyContinuesIsNoContradiction) {
  const Answer longer = Served({delta("one"), completed(text_item("one two"))}).read();
  EXPECT_EQ(longer.response.output_text, "one two");
  EXPECT_EQ(longer.warnings, Warnings{});
  const Answer without = Served({delta("one"), completed("")}).read();
  EXPECT_EQ(without.response.output_text, "one");
  EXPECT_EQ(without.warnings, Warnings{});
}

TEST(AttackProviderContradictions, TheFinalCallWins) {
  const std::string added =
      R"({"type":"response.output_item.added","output_index":0,"item":)" + call_item("look", "") + "}";
  const std::string piece =
      R"({"type":"response.function_call_arguments.delta","item_id":"f1","output_index":0,"delta":"{\"a\":1}"})";
  const std::string done =
      R"({"type":"response.function_call_arguments.done","item_id":"f1","output_index":0,"arguments":"{\"a\":2}"})";
  for (const std::vector<std::string>& events :
       {std::vector<std::string>{added, piece, done, completed("")},
        std::vector<std::string>{added, piece, completed(call_item("look", R"({"a":2})"))}}) {
    const Answer answer = Served(events).read();
    ASSERT_EQ(answer.response.tool_calls.size(), 1U);
    EXPECT_EQ(answer.response.tool_calls[0].arguments, Json({{"a", 2}}));
    EXPECT_EQ(answer.warnings, Warnings{"arguments"});
  }
  const Answer renamed = Served({added, piece, completed(call_item("other", R"({"a":1})"))}).read();
  ASSERT_EQ(renamed.response.tool_calls.size(), 1U);
  EXPECT_EQ(renamed.response.tool_calls[0].name, "other");
  EXPECT_EQ(renamed.warnings, Warnings{"name"});
}

TEST(AttackProviderContradictions, TheFinalReasoningAndRefusalWin) {
  const Answer thought =
      Served({R"({"type":"response.reasoning_summary_text.delta","item_id":"t","output_index":0,"delta":"one"})",
              completed(R"({"type":"reasoning","id":"t","summary":[{"type":"summary_text","text":"other"}]},)" +
                        text_item("x"))})
          .read();
  EXPECT_EQ(thought.response.reasoning, "other");
  EXPECT_EQ(thought.response.metadata["reasoning"]["summary"], "other");
  EXPECT_EQ(thought.warnings, Warnings{"reasoning"});

  const std::string piece = R"({"type":"response.refusal.delta",)" + kItem + R"("delta":"one"})";
  const std::string done = R"({"type":"response.refusal.done",)" + kItem + R"("refusal":"other"})";
  const Answer refused = Served({piece, done, completed("")}).read();
  EXPECT_EQ(refused.response.metadata["refusal"], "other");
  EXPECT_EQ(refused.warnings, Warnings{"refusal"});
}

}  // namespace
}  // namespace allm::attack_provider_contradictions_test
