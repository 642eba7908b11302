#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allm/scenario.hpp"

namespace allm::runner_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Json json(const char* text) { return Json::parse(text); }

// The observations of a scenario; what it expects is ignored.
Json observations(const char* text) {
  Json scenario = json(text);
  scenario["expect"] = Json(scenario["run"].size(), nullptr);
  const auto outcomes = run_scenarios(scenario);
  if (!outcomes) return outcomes.error().message();
  return outcomes->front().observations;
}

// The mismatches of `observed` and `pattern`, one line each.
std::vector<std::string> differences(const Json& observed, const char* pattern) {
  std::vector<std::string> lines;
  matches_pattern(json(pattern), observed, &lines);
  return lines;
}

// The observation of one call of the tool `t` with this handler.
Json call(const std::string& handler, const std::string& options = "{}") {
  const std::string text = R"({"tools": [{"name": "t", "handler": )" + handler +
                           R"(}], "run": [{"tool_calls": {"calls": [{"id": "c0", "name": "t", "arguments": {"x": 1}}],
                              "options": )" +
                           options + "}}]}";
  return observations(text.c_str())[0];
}

TEST(RunScenarios, AScenarioPassesIfEverythingMatches) {
  const auto outcomes = run_scenarios(json(R"({"name": "n", "scripts": [[{"text": "a"}, {"finish": "stop"}]],
      "run": [{"chat": {"messages": ["hi"]}}], "expect": [{"ok": {"output_text": "a"}}]})"));
  ASSERT_TRUE(outcomes);
  ASSERT_EQ(outcomes->size(), 1U);
  EXPECT_EQ(outcomes->front().name, "n");
  EXPECT_TRUE(outcomes->front().passed());
  EXPECT_EQ(outcomes->front().observations.size(), 1U);
}

TEST(RunScenarios, AMismatchNamesOperationAndPath) {
  const auto outcomes = run_scenarios(json(R"({"scripts": [[{"text": "a"}, {"finish": "stop"}]],
      "run": [{"session_roundtrip": {}}, {"chat": {"messages": ["hi"]}}],
      "expect": [null, {"ok": {"messages": [{}, {"content": "b"}]}}]})"));
  ASSERT_TRUE(outcomes);
  EXPECT_THAT(outcomes->front().mismatches, ElementsAre(R"(expect[1].ok.messages[1].content: expected "b", got "a")"));
}

TEST(RunScenarios, ScenariosOfOneFileShareNothing) {
  const Json one =
      json(R"({"scripts": [[{"text": "a"}, {"finish": "stop"}]], "run": [{"generate": {"messages": ["hi"]}}],
                            "expect": [{"ok": {"output_text": "a"}}]})");
  const auto outcomes = run_scenarios(Json::array({one, one}));
  ASSERT_TRUE(outcomes);
  EXPECT_TRUE(outcomes->at(0).passed());
  EXPECT_TRUE(outcomes->at(1).passed());
}

TEST(ScenarioHandlers, ReturnTheDescribedOutcome) {
  EXPECT_THAT(differences(call(R"({"ok": "v"})"), R"({"ok": {"messages": [{"content": "v"}], "halt": null}})"),
              IsEmpty());
  EXPECT_THAT(differences(call(R"({"echo": true})"), R"({"ok": {"messages": [{"content": "{\"x\":1}"}]}})"), IsEmpty());
  EXPECT_THAT(differences(call(R"({"error": "no"})"), R"({"ok": {"messages": [{"content": "{\"error\":\"no\"}"}]}})"),
              IsEmpty());
  EXPECT_THAT(differences(call(R"({"ask_user": {"question": "q", "options": {"o": 1}}})"),
                          R"({"ok": {"halt": {"pending_question": "q", "ask_user_opts": {"o": 1}}}})"),
              IsEmpty());
  EXPECT_THAT(differences(call(R"({"halt": {"reason": "enough", "result": 3}})"),
                          R"({"ok": {"halt": {"halted_reason": "enough", "halt_result": 3}}})"),
              IsEmpty());
  EXPECT_THAT(
      differences(call(R"({"sleep": {"ms": 1, "then": {"ok": "v"}}})"), R"({"ok": {"messages": [{"content": "v"}]}})"),
      IsEmpty());
}

TEST(ScenarioHandlers, ThrowTheDescribedException) {
  EXPECT_THAT(call(R"({"raise": "kaboom"})").dump(), HasSubstr("kaboom"));
  EXPECT_THAT(call(R"({"raise": "kaboom"})").dump(), HasSubstr("handler_raised"));
  EXPECT_THAT(call(R"({"throw": 5})").dump(), HasSubstr("handler_raised"));
  EXPECT_THAT(call(R"({"sleep": {"ms": 0, "then": {"raise": "later"}}})").dump(), HasSubstr("later"));
}

TEST(ScenarioHandlers, UnencodableCannotBeWrittenAsJson) {
  EXPECT_THAT(call(R"({"unencodable": true})").dump(), HasSubstr("encoding_failed"));
}

TEST(ScenarioHandlers, ContextShowsWhatTheHandlerReceived) {
  const Json observed = call(R"({"context": true})", R"({"context": {"u": 7}, "session_id": "s", "request_id": "r"})");
  const Json seen = Json::parse(observed["ok"]["messages"][0]["content"].get<std::string>());
  EXPECT_THAT(differences(seen, R"({"context": {"u": 7}, "session_id": "s", "request_id": "r",
                                    "tool_call": {"id": "c0", "name": "t", "arguments": {"x": 1}}})"),
              IsEmpty());
}

TEST(ScenarioHandlers, SequenceCountsInvocationsAndRepeatsTheLast) {
  const Json observed = observations(R"({"tools": [{"name": "t", "handler": {"sequence": [{"ok": "1"}, {"ok": "2"}]}}],
      "run": [{"tool_calls": {"calls": [{"id": "a", "name": "t"}]}}, {"tool_calls": {"calls": [{"id": "a", "name": "t"}]}},
              {"tool_calls": {"calls": [{"id": "a", "name": "t"}]}}]})");
  std::vector<std::string> contents;
  for (const Json& one : observed) contents.push_back(one["ok"]["messages"][0]["content"]);
  EXPECT_THAT(contents, ElementsAre("1", "2", "2"));
}

TEST(ScenarioHandlers, SleepEndsWhenTheRunIsDropped) {
  // If the handler ignored the request to stop, the test would wait for an hour.
  const Json observed =
      observations(R"({"tools": [{"name": "t", "handler": {"sleep": {"ms": 3600000, "then": {"ok": 1}}}}],
      "run": [{"stream_tool_calls": {"calls": [{"id": "a", "name": "t"}], "take": 1}}]})");
  EXPECT_THAT(differences(observed, R"([{"events": [{"tag": "tool_execution_started"}], "ok": {"$absent": true}}])"),
              IsEmpty());
}

TEST(ScenarioRunner, ABadOptionIsObservedAsAnErrorBeforeAnythingRuns) {
  const Json observed = observations(R"({"scripts": [[{"text": "a"}, {"finish": "stop"}]],
      "run": [{"chat": {"messages": 5, "options": {"bogus": 1}}}, {"chat": {"messages": ["hi"]}}]})");
  EXPECT_THAT(differences(observed, R"([{"error": {"type": "ValidationError", "reason": "invalid_option",
                                                   "errors": [[["bogus"], {"$any": true}]]}},
                                        {"ok": {"output_text": "a"}}])"),
              IsEmpty());
}

TEST(ScenarioRunner, AStreamThatIsRefusedHasTheErrorAsItsOnlyEvent) {
  const Json observed = observations(R"({"run": [
      {"stream": {"messages": ["hi"], "options": {"max_turns": -1}}},
      {"stream": {"messages": [{"role": "wizard", "content": "x"}]}},
      {"stream": {"messages": ["hi"], "options": {"max_turns": -1}, "take": 5}},
      {"session_stream_reply": {"text": "hi", "options": {"max_turns": -1}}},
      {"session_stream_reply": {"text": "hi", "options": {"max_turns": -1}, "take": 0}}]})");
  EXPECT_THAT(differences(observed, R"([
      {"events": [{"tag": "error", "error": {"reason": "invalid_option"}}], "error": {"reason": "invalid_option"}},
      {"events": [{"tag": "error", "error": {"reason": "invalid_thread"}}], "error": {"reason": "invalid_thread"}},
      {"events": [{"tag": "error"}], "error": {"$absent": true}, "ok": {"$absent": true}},
      {"events": [{"tag": "error"}], "error": {"reason": "invalid_option"}},
      {"events": [], "ok": {"status": "idle", "result": null}}])"),
              IsEmpty());
}

TEST(ScenarioRunner, DefaultOptionsApplyToEveryOperation) {
  const Json observed = observations(R"({"options": {"mode": "manual"}, "tools": [{"name": "t", "handler": {"ok": 1}}],
      "scripts": [[{"tool_call": {"id": "c", "name": "t", "arguments": {}}}, {"finish": "tool_calls"}],
                  [{"tool_call": {"id": "c", "name": "t", "arguments": {}}}, {"finish": "tool_calls"}]],
      "run": [{"step": {"messages": ["hi"]}}, {"step": {"messages": ["hi"], "options": {"mode": "auto"}}}]})");
  EXPECT_THAT(differences(observed, R"([{"ok": {"tool_results": []}}, {"ok": {"tool_results": [{"content": "1"}]}}])"),
              IsEmpty());
}

TEST(ScenarioRunner, AStreamThatIsDroppedHasNoResult) {
  const Json observed = observations(R"({"scripts": [[{"text": "a"}, {"finish": "stop"}]],
      "run": [{"stream_generate": {"messages": ["hi"], "take": 100}}]})");
  EXPECT_THAT(differences(observed, R"([{"ok": {"$absent": true}, "error": {"$absent": true},
                                         "events": {"$ordered_subset": [{"tag": "message_completed"}]}}])"),
              IsEmpty());
}

TEST(ScenarioRunner, ASessionStreamThatIsDroppedShowsItsSession) {
  const Json observed =
      observations(R"({"scripts": [[{"text": "a"}, {"finish": "stop"}], [{"text": "b"}, {"finish": "stop"}]],
      "run": [{"session_stream_start": {"messages": ["hi"], "take": 1}}, {"session_continue": {"message": null}}]})");
  EXPECT_THAT(differences(observed, R"([
      {"events": [{"tag": "message_started"}], "ok": {"status": "idle", "messages": [{"content": "hi"}], "result": null}},
      {"ok": {"status": "completed", "messages": [{"content": "hi"}, {"content": "b"}]}}])"),
              IsEmpty());
}

TEST(ScenarioRunner, AnExceptionOfACallbackIsObservedAsRaised) {
  const char* text = R"({"tools": [{"name": "t", "handler": {"ok": 1}}],
      "scripts": [[{"tool_call": {"id": "c", "name": "t", "arguments": {}}}, {"finish": "tool_calls"}],
                  [{"tool_call": {"id": "c", "name": "t", "arguments": {}}}, {"finish": "tool_calls"}]],
      "run": [{"chat": {"messages": ["hi"], "options": {"halt_when": {"raise": "oh"}}}},
              {"stream": {"messages": ["hi"], "options": {"halt_when": {"raise": "oh"}}}}]})";
  EXPECT_THAT(differences(observations(text), R"([
      {"raised": "oh", "ok": {"$absent": true}},
      {"raised": "oh", "ok": {"$absent": true}, "events": {"$ordered_subset": [{"tag": "tool_result_encoded"}]}}])"),
              IsEmpty());
}

TEST(ScenarioRunner, TheNextRunContinuesWithAppendedMessages) {
  const Json observed =
      observations(R"({"scripts": [[{"text": "a"}, {"finish": "stop"}], [{"text": "b"}, {"finish": "stop"}]],
      "run": [{"chat": {"messages": ["hi"]}}, {"append_messages": {"messages": ["more"]}}, {"stream": {"again": true}},
              {"append_messages": {"messages": [{"role": "tool", "content": "x"}]}}]})");
  EXPECT_THAT(differences(observed, R"([{}, {"ok": {"messages": {"$len": 3}}},
      {"ok": {"messages": [{"content": "hi"}, {"content": "a"}, {"content": "more"}, {"content": "b"}]}},
      {"error": {"reason": "invalid_thread"}}])"),
              IsEmpty());
}

TEST(ScenarioRunner, AFailedSessionOperationDoesNotChangeTheSession) {
  const Json observed =
      observations(R"({"scripts": [[{"preflight_error": "rate_limited"}], [{"text": "b"}, {"finish": "stop"}]],
      "run": [{"session_reply": {"text": "lost"}}, {"session_reply": {"text": "kept"}}]})");
  EXPECT_THAT(differences(observed, R"([{"error": {"reason": "rate_limited"}},
                                        {"ok": {"messages": [{"content": "kept"}, {"content": "b"}]}}])"),
              IsEmpty());
}

TEST(ScenarioRunner, ASessionThatFailedToStartCanBeStartedAgain) {
  const Json observed =
      observations(R"({"scripts": [[{"preflight_error": "rate_limited"}], [{"text": "b"}, {"finish": "stop"}]],
      "run": [{"session_start": {"messages": ["hi"], "id": "s"}}, {"session_start": {}}]})");
  EXPECT_THAT(differences(observed, R"([{"error": {}}, {"ok": {"messages": [{"content": "hi"}, {"content": "b"}]}}])"),
              IsEmpty());
}

TEST(ScenarioRunner, TheErrorOfABadMessageHasItsIndexInTheThread) {
  const Json observed = observations(R"({"scripts": [[{"text": "a"}, {"finish": "stop"}]],
      "run": [{"session_start": {"messages": ["hi"]}}, {"session_continue": {"message": {"role": "tool", "content": "x"}}}]})");
  EXPECT_THAT(differences(observed, R"([{}, {"error": {"errors": [[["messages", 2, "tool_call_id"], "required"]]}}])"),
              IsEmpty());
}

TEST(ScenarioRunner, AfterARoundtripTheParsedSessionIsUsed) {
  const Json observed =
      observations(R"({"scripts": [[{"text": "a"}, {"finish": "stop"}], [{"text": "b"}, {"finish": "stop"}]],
      "run": [{"session_start": {"messages": ["hi"], "context": {"k": 1}, "metadata": {"m": 2}}}, {"session_roundtrip": {}},
              {"session_reply": {"text": "on"}}]})");
  EXPECT_THAT(differences(observed, R"([{}, {"ok": {"equal": true}}, {"ok": {"messages": {"$len": 4}}}])"), IsEmpty());
}

TEST(ScenarioFormat, TheExampleInTheDocumentPasses) {
  std::ifstream file(ALLM_SOURCE_DIR "/docs/scenario-format.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t begin = text.find("```json\n") + 8;
  const auto outcomes = run_scenarios(json(text.substr(begin, text.find("```", begin) - begin).c_str()));
  ASSERT_TRUE(outcomes) << outcomes.error().message();
  EXPECT_THAT(outcomes->front().mismatches, IsEmpty());
}

}  // namespace
}  // namespace allm::runner_test
