// Runs that start from a request.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"
#include "allm/serialize.hpp"

namespace allm::request_run_test {
namespace {

const FakeCallScript kCallTool = {fake_tool_call("c0", "tool"), fake_finish(FinishReason::tool_calls)};
const FakeCallScript kAnswer = {fake_text("done"), fake_finish(FinishReason::stop)};

Tool tool_saying(std::string text, std::string name = "tool") {
  return {.name = std::move(name), .description = text, .handler = [text](const Json&) { return ok(text); }};
}

std::shared_ptr<FakeAdapter> recording_fake(FakeScript script) { return fake(std::move(script), {.record = true}); }

TEST(RequestRuns, BracedMessageListsAreNotAmbiguous) {
  const Engine engine({.adapter = fake({kAnswer, kAnswer, kAnswer, kAnswer, kAnswer})});
  EXPECT_TRUE(chat(engine, {user("hi")}).has_value());
  EXPECT_TRUE(chat(engine, {system("be brief"), user("hi")}).has_value());
  EXPECT_TRUE(step(engine, {user("hi")}, {.temperature = 0.5}).has_value());
  EXPECT_TRUE(chat(engine, Request{.messages = {user("hi")}}).has_value());
  EXPECT_TRUE(
      chat(engine, Request{.messages = {user("hi")}, .model = "m", .temperature = 0.5}, {.max_turns = 2}).has_value());
}

TEST(RequestRuns, SettingsComeFromTheCallThenTheRequestThenTheEngine) {
  const auto adapter = recording_fake({kAnswer, kAnswer, kAnswer, kAnswer});
  const Engine engine({.adapter = adapter,
                       .model = "em",
                       .defaults = {.temperature = 0.1, .max_tokens = 1, .params = {{"top_p", 0.1}, {"top_k", 1}}},
                       .params = {{"temperature", 0.9}, {"seed", 7}, {"tool_choice", "none"}}});
  const Request request = {.messages = {user("hi")},
                           .model = "rm",
                           .temperature = 0.2,
                           .max_tokens = 2,
                           .response_format = ResponseFormat::json_object(),
                           .tool_choice = ToolChoice::required(),
                           .prompt_cache = PromptCache{.key = "rk"},
                           .options = {{"top_p", 0.2}},
                           .metadata = {{"user_id", "u1"}}};
  const CallOptions options = {.model = "cm",
                               .temperature = 0.3,
                               .max_tokens = 3,
                               .response_format = ResponseFormat::text(),
                               .tool_choice = ToolChoice::automatic(),
                               .prompt_cache = PromptCache{.key = "ck"},
                               .params = {{"top_p", 0.3}}};
  ASSERT_TRUE(chat(engine, {user("hi")}).has_value());
  ASSERT_TRUE(chat(engine, request).has_value());
  ASSERT_TRUE(step(engine, request, options).has_value());
  for (const Event& event : stream(engine, request, options)) static_cast<void>(event);
  const std::vector<AdapterCall> calls = adapter->requests();
  ASSERT_EQ(calls.size(), 4U);

  EXPECT_EQ(calls[0].model->id, "em");
  EXPECT_EQ(calls[0].request.temperature, 0.1) << "defaults go before params";
  EXPECT_EQ(calls[0].request.max_tokens, 1);
  EXPECT_EQ(calls[0].request.tool_choice, ToolChoice::none()) << "params fill what the defaults leave out";
  EXPECT_EQ(calls[0].request.options, Json({{"seed", 7}, {"top_p", 0.1}, {"top_k", 1}}));
  EXPECT_EQ(calls[0].request.metadata, Json::object());

  EXPECT_EQ(calls[1].model->id, "rm");
  EXPECT_EQ(calls[1].request.temperature, 0.2);
  EXPECT_EQ(calls[1].request.max_tokens, 2);
  EXPECT_EQ(calls[1].request.response_format, ResponseFormat::json_object());
  EXPECT_EQ(calls[1].request.tool_choice, ToolChoice::required());
  EXPECT_EQ(calls[1].request.prompt_cache->key, "rk");
  EXPECT_EQ(calls[1].request.options, Json({{"seed", 7}, {"top_p", 0.2}, {"top_k", 1}}));
  EXPECT_EQ(calls[1].request.metadata, Json({{"user_id", "u1"}}));

  for (const std::size_t i : {2U, 3U}) {
    EXPECT_EQ(calls[i].model->id, "cm");
    EXPECT_EQ(calls[i].request.temperature, 0.3);
    EXPECT_EQ(calls[i].request.max_tokens, 3);
    EXPECT_EQ(calls[i].request.response_format, ResponseFormat::text());
    EXPECT_EQ(calls[i].request.tool_choice, ToolChoice::automatic());
    EXPECT_EQ(calls[i].request.prompt_cache->key, "ck");
    EXPECT_EQ(calls[i].request.options.at("top_p"), 0.3);
    EXPECT_EQ(calls[i].request.metadata, Json({{"user_id", "u1"}}));
  }
}

TEST(RequestRuns, ToolsOfCallRequestAndEngineAreMergedAndRun) {
  const auto answered = [](const Engine& engine, const Request& request, const CallOptions& options) {
    const auto result = chat(engine, request, options);
    EXPECT_TRUE(result.has_value()) << result.error().message();
    return result->steps.at(0).tool_results.at(0).text();
  };
  const Request plain = {.messages = {user("hi")}};
  const Request with_tool = {.messages = {user("hi")}, .tools = {tool_saying("request"), tool_saying("r", "extra")}};
  const auto adapter = recording_fake({kCallTool, kAnswer, kCallTool, kAnswer, kCallTool, kAnswer});
  const Engine engine({.adapter = adapter, .tools = {tool_saying("engine")}});
  EXPECT_EQ(answered(engine, plain, {}), "engine");
  EXPECT_EQ(answered(engine, with_tool, {}), "request");
  EXPECT_EQ(answered(engine, with_tool, {.tools = {tool_saying("call")}}), "call");
  const AdapterCall last = adapter->requests().back();
  ASSERT_EQ(last.request.tools.size(), 2U) << "every step has them";
  EXPECT_EQ(last.request.tools[0].description, "call");
  EXPECT_EQ(last.request.tools[1].name, "extra");
}

TEST(RequestRuns, AFormatOfTheRequestCanBeFinalized) {
  const auto adapter = recording_fake({kAnswer, {fake_text("{}"), fake_finish(FinishReason::stop)}});
  const Engine engine({.adapter = adapter});
  const auto result = chat(engine, {.messages = {user("hi")},
                                    .response_format = ResponseFormat::json_schema("a", {{"type", "object"}}),
                                    .tool_choice = ToolChoice::none(),
                                    .structured_finalize = true});
  ASSERT_TRUE(result.has_value()) << result.error().message();
  EXPECT_EQ(result->text(), "{}");
  const auto calls = adapter->requests();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_FALSE(calls[0].request.response_format.has_value());
  EXPECT_EQ(calls[0].request.tool_choice, ToolChoice::none());
  EXPECT_EQ(calls[1].request.response_format->kind(), ResponseFormat::Kind::json_schema);
  EXPECT_FALSE(calls[1].request.tool_choice.has_value());
  const Json& note = result->metadata.at("structured_finalize");
  EXPECT_EQ(note.at("pass_1_halted"), "completed");
  EXPECT_EQ(from_json_value<Response>(note.at("pass_1_response"))->output_text, "done");
}

TEST(RequestRuns, ParamsThatAreNotAnObjectAreAnError) {
  const Engine engine({.adapter = fake({kAnswer})});
  const auto result = chat(engine, {.messages = {user("hi")}, .options = Json::array()});
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is<ValidationError>(ValidationError::Reason::invalid_option));
}

TEST(EngineDefaults, AreTheOptionsOfEveryCall) {
  int events = 0;
  const auto adapter = recording_fake({kCallTool, kCallTool, kAnswer, kAnswer, kAnswer});
  const Engine engine({.adapter = adapter,
                       .tools = {tool_saying("engine")},
                       .defaults = {.tools = {tool_saying("default")},
                                    .max_turns = 1,
                                    .emit_text_deltas = false,
                                    .on_event = [&events](const Event&) { ++events; }},
                       .params = {{"max_turns", 5}}});
  const auto limited = chat(engine, {user("hi")});
  ASSERT_TRUE(limited.has_value());
  EXPECT_EQ(limited->halted_reason(), halted::max_turns);
  EXPECT_EQ(limited->steps.at(0).tool_results.at(0).text(), "default");
  EXPECT_GT(events, 0);
  EXPECT_EQ(chat(engine, {user("hi")}, {.max_turns = 2})->halted_reason(), halted::completed);

  const auto count_deltas = [&](const CallOptions& options) {
    int deltas = 0;
    for (const Event& event : stream(engine, {user("hi")}, options)) deltas += event.tag() == EventTag::text_delta;
    return deltas;
  };
  EXPECT_EQ(count_deltas({}), 0);
  EXPECT_GT(count_deltas({.emit_text_deltas = true}), 0) << "a call may show what the engine hides";
}

TEST(EngineDefaults, StayWithDerivedEngines) {
  const Engine engine({.defaults = {.tools = {tool_saying("default", "kept")}, .max_turns = 3}});
  const auto adapter = fake({kAnswer});
  const Engine derived = engine.with_adapter(adapter).with_tools({tool_saying("other", "own")});
  EXPECT_EQ(derived.adapter(), adapter);
  EXPECT_EQ(derived.id(), engine.id());
  ASSERT_EQ(derived.tools().size(), 2U);
  EXPECT_EQ(derived.options().defaults.max_turns, 3);
  EXPECT_TRUE(chat(derived, {user("hi")}).has_value());
  EXPECT_EQ(engine.adapter(), nullptr);
}

}  // namespace
}  // namespace allm::request_run_test
