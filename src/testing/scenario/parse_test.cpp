#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allm/scenario.hpp"

#include "testing/scenario/scenario.hpp"

namespace allm::scenario::parse_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Json json(const char* text) { return Json::parse(text); }

// The field errors of an invalid document, as "path: reason".
std::vector<std::string> errors_of(const Json& document) {
  const auto parsed = parse_scenarios(document);
  if (parsed) return {};
  const auto* detail = parsed.error().get_if<ValidationError>();
  if (detail == nullptr || detail->reason != ValidationError::Reason::invalid_scenario) return {"another error"};
  std::vector<std::string> lines;
  for (const FieldError& field : detail->errors) lines.push_back(to_string(field.path) + ": " + field.reason);
  return lines;
}

// A scenario with one member replaced.
Json with(const char* key, const char* value) {
  Json scenario = json(R"({"name": "n", "about": "a", "scripts": [], "tools": [], "run": [], "expect": []})");
  scenario[key] = json(value);
  return scenario;
}

Json with_handler(const char* handler) {
  Json scenario = with("tools", R"([{"name": "t"}])");
  scenario["tools"][0]["handler"] = json(handler);
  return scenario;
}

Json with_operation(const char* operation) {
  Json scenario = with("expect", "[null]");
  scenario["run"] = Json::array({json(operation)});
  return scenario;
}

TEST(ParseScenario, ReadsOneScenarioAndAnArray) {
  const Json one = with("name", R"("first")");
  ASSERT_TRUE(parse_scenarios(one));
  EXPECT_EQ(parse_scenarios(one)->front().name, "first");
  EXPECT_EQ(parse_scenarios(Json::array({one, one}))->size(), 2U);
  EXPECT_EQ(parse_scenarios(Json::array())->size(), 0U);
}

TEST(ParseScenario, ReportsValuesThatAreNotScenarios) {
  EXPECT_THAT(errors_of(1), ElementsAre(": invalid_type"));
  EXPECT_THAT(errors_of(Json::array({with("name", R"("n")"), "x"})), ElementsAre("[1]: invalid_type"));
  EXPECT_THAT(errors_of(Json::object()), ElementsAre("run: required", "expect: required"));
}

TEST(ParseScenario, ReportsUnknownKeysEverywhere) {
  EXPECT_THAT(errors_of(with("runs", "[]")), ElementsAre("runs: unknown_key"));
  EXPECT_THAT(errors_of(with("engine", R"({"modle": "m"})")), ElementsAre("engine.modle: unknown_key"));
  EXPECT_THAT(errors_of(with("tools", R"([{"name": "t", "manuel": true}])")),
              ElementsAre("tools[0].manuel: unknown_key"));
  EXPECT_THAT(errors_of(with_operation(R"({"chat": {"messages": [], "takes": 1}})")),
              ElementsAre("run[0].chat.takes: unknown_key"));
  EXPECT_THAT(errors_of(with_handler(R"({"halt": {"reason": "r", "reslt": 1}})")),
              ElementsAre("tools[0].handler.halt.reslt: unknown_key"));
}

TEST(ParseScenario, ReportsEveryErrorAtOnce) {
  Json scenario = with("name", "1");
  scenario["tools"] = json(R"([{"name": 5}, 3])");
  scenario["bogus"] = 1;
  EXPECT_THAT(errors_of(scenario), ElementsAre("bogus: unknown_key", "name: invalid_type",
                                               "tools[0].name: invalid_type", "tools[1]: invalid_type"));
  EXPECT_THAT(parse_scenarios(scenario).error().message(),
              AllOf(HasSubstr("bogus: unknown key; known are name"), HasSubstr("tools[1]: expected an object")));
}

TEST(ParseScenario, ReportsWrongTypes) {
  EXPECT_THAT(errors_of(with("tools", "{}")), ElementsAre("tools: invalid_type"));
  EXPECT_THAT(errors_of(with("options", "[]")), ElementsAre("options: invalid_type"));
  EXPECT_THAT(errors_of(with("engine", R"({"model": 5, "params": [], "context": 1})")),
              ElementsAre("engine.model: invalid_type", "engine.params: invalid_type", "engine.context: invalid_type"));
  EXPECT_THAT(errors_of(with("tools", R"([{"name": "t", "manual": 1}])")),
              ElementsAre("tools[0].manual: invalid_type"));
}

TEST(ParseScenario, NeedsOnePatternPerOperation) {
  EXPECT_THAT(errors_of(with("expect", "[null]")), ElementsAre("expect: wrong_length"));
  EXPECT_THAT(errors_of(with("expect", "{}")), ElementsAre("expect: invalid_type"));
  Json scenario = with_operation(R"({"session_step": {}})");
  scenario["expect"] = json(R"([{"ok": {"$bogus": 1}}])");
  EXPECT_THAT(errors_of(scenario), ElementsAre("expect[0].ok: invalid_pattern"));
}

TEST(ParseScenario, ReportsScriptsWithTheirPath) {
  const auto errors = errors_of(with("scripts", R"([[{"text": "a"}, {"bogus": 1}]])"));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(errors[0], HasSubstr("scripts[0][1]"));
}

TEST(ParseScenario, ReportsInvalidHandlers) {
  EXPECT_THAT(errors_of(with_handler(R"({"fly": 1})")), ElementsAre("tools[0].handler.fly: unknown_handler"));
  EXPECT_THAT(errors_of(with_handler("1")), ElementsAre("tools[0].handler: invalid_type"));
  EXPECT_THAT(errors_of(with_handler(R"({"ok": 1, "error": 2})")), ElementsAre("tools[0].handler: invalid_type"));
  EXPECT_THAT(errors_of(with_handler(R"({"echo": false})")), ElementsAre("tools[0].handler.echo: invalid_type"));
  EXPECT_THAT(errors_of(with_handler(R"({"raise": 1})")), ElementsAre("tools[0].handler.raise: invalid_type"));
  EXPECT_THAT(errors_of(with_handler(R"({"sequence": []})")), ElementsAre("tools[0].handler.sequence: invalid_type"));
  EXPECT_THAT(errors_of(with_handler(R"({"sequence": [{"ok": 1}, {"x": 1}]})")),
              ElementsAre("tools[0].handler.sequence[1].x: unknown_handler"));
  EXPECT_THAT(errors_of(with_handler(R"({"sleep": {"ms": -1, "then": {"ok": 1}}})")),
              ElementsAre("tools[0].handler.sleep.ms: invalid_type"));
  EXPECT_THAT(errors_of(with_handler(R"({"sleep": {}})")),
              ElementsAre("tools[0].handler.sleep.ms: required", "tools[0].handler.sleep.then: required"));
  EXPECT_THAT(
      errors_of(with_handler(R"({"ask_user": {"options": 1}})")),
      ElementsAre("tools[0].handler.ask_user.question: required", "tools[0].handler.ask_user.options: invalid_type"));
}

TEST(ParseScenario, HandlersThatEndTheirProcessAreRead) {
  EXPECT_TRUE(parse_scenarios(with_handler(R"({"exit": 3})")).has_value());
  EXPECT_TRUE(parse_scenarios(with_handler(R"({"crash": "SIGSEGV"})")).has_value());
  EXPECT_THAT(errors_of(with_handler(R"({"exit": 256})")), ElementsAre("tools[0].handler.exit: invalid_type"));
  EXPECT_THAT(errors_of(with_handler(R"({"crash": "SIGNOTHING"})")),
              ElementsAre("tools[0].handler.crash: invalid_type"));
}

TEST(ParseScenario, ReportsInvalidOperations) {
  EXPECT_THAT(errors_of(with_operation(R"({"chatt": {}})")), ElementsAre("run[0].chatt: unknown_operation"));
  EXPECT_THAT(errors_of(with_operation(R"({"chat": {}, "step": {}})")), ElementsAre("run[0]: invalid_type"));
  EXPECT_THAT(errors_of(with_operation(R"({"chat": 1})")), ElementsAre("run[0].chat: invalid_type"));
  EXPECT_THAT(errors_of(with_operation(R"({"chat": {}})")), ElementsAre("run[0].chat.messages: required"));
  EXPECT_THAT(errors_of(with_operation(R"({"chat": {"messages": [], "again": true}})")),
              ElementsAre("run[0].chat.again: not_allowed"));
  EXPECT_THAT(errors_of(with_operation(R"({"generate": {"again": true}})")),
              ElementsAre("run[0].generate.again: not_allowed"));
  EXPECT_THAT(errors_of(with_operation(R"({"chat": {"messages": [], "take": 1}})")),
              ElementsAre("run[0].chat.take: not_allowed"));
  EXPECT_THAT(errors_of(with_operation(R"({"stream": {"messages": [], "take": -1}})")),
              ElementsAre("run[0].stream.take: invalid_type"));
  EXPECT_THAT(errors_of(with_operation(R"({"tool_calls": {"calls": [{"id": "c"}]}})")),
              ElementsAre("run[0].tool_calls.calls[0].name: required"));
  EXPECT_THAT(errors_of(with_operation(R"({"session_reply": {}})")),
              ElementsAre("run[0].session_reply.text: required"));
  EXPECT_THAT(errors_of(with_operation(R"({"submit_tool_result": {"id": "c"}})")),
              ElementsAre("run[0].submit_tool_result.result: required"));
  EXPECT_THAT(errors_of(with_operation(R"({"submit_tool_results": {}})")),
              ElementsAre("run[0].submit_tool_results: invalid_type"));
}

TEST(ParseScenario, DoesNotCheckMessagesBeforeTheRun) {
  EXPECT_TRUE(parse_scenarios(with_operation(R"({"chat": {"messages": [{"role": "wizard"}]}})")));
  EXPECT_TRUE(parse_scenarios(with_operation(R"({"chat": {"messages": 5}})")));
}

TEST(ParseScenario, ReadsAStreamWithItsLimit) {
  const auto parsed = parse_scenarios(with_operation(R"({"stream": {"messages": ["hi"], "take": 3}})"));
  ASSERT_TRUE(parsed);
  const Operation& operation = parsed->front().run.front();
  EXPECT_TRUE(operation.streamed);
  EXPECT_EQ(operation.take, 3U);
}

TEST(ParseScenario, ReadsCallsFromTheTextTheModelSent) {
  const auto parsed = parse_scenarios(with_operation(
      R"({"tool_calls": {"calls": [{"id": "a", "name": "t", "raw_arguments": "{\"x\": 1}"},
                                   {"id": "b", "name": "t", "raw_arguments": "[1]"}]}})"));
  ASSERT_TRUE(parsed);
  const auto& calls = std::get<ToolsOperation>(parsed->front().run.front().what).calls;
  EXPECT_EQ(calls[0].arguments, json(R"({"x": 1})"));
  EXPECT_EQ(calls[1].arguments, Json::object());
  EXPECT_EQ(calls[1].raw_arguments, "[1]");
}

TEST(RunScenarios, FailsOnAnInvalidScenario) {
  const auto outcomes = run_scenarios(json(R"({"run": [{"dance": {}}], "expect": [null]})"));
  ASSERT_FALSE(outcomes);
  EXPECT_TRUE(outcomes.error().is<ValidationError>(ValidationError::Reason::invalid_scenario));
}

}  // namespace
}  // namespace allm::scenario::parse_test
