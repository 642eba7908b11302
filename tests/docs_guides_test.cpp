// The code of docs/streaming.md, docs/sessions.md, docs/errors.md and docs/testing-with-the-fake.md.
// scripts/check_snippets.py compares the regions with the documents.
#include <chrono>
#include <iostream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"
#include "allm/scenario.hpp"

namespace docs_guides_test {
namespace {

using namespace std::chrono_literals;

allm::FakeCallScript says(const std::string& text) {
  return {allm::fake_text(text), allm::fake_finish(allm::FinishReason::stop)};
}

allm::FakeCallScript calls(const std::string& tool, allm::Json arguments = allm::Json::object()) {
  return {allm::fake_tool_call("c0", tool, std::move(arguments)), allm::fake_finish(allm::FinishReason::tool_calls)};
}

allm::Tool answering(const std::string& name, allm::ToolOutcome outcome) {
  return allm::tool({.name = name, .handler = [outcome](const allm::Json&) { return outcome; }});
}

allm::Engine talker(allm::FakeScript script) { return allm::Engine({.adapter = allm::fake(std::move(script))}); }

// Collects the output of the snippets.
class GuideTest : public ::testing::Test {
 protected:
  std::ostringstream out;
};
class StreamingGuide : public GuideTest {};
class SessionsGuide : public GuideTest {};
class ErrorsGuide : public GuideTest {};
class FakeGuide : public GuideTest {};

// --- docs/streaming.md ---

TEST_F(StreamingGuide, AStreamIsARange) {
  const allm::Engine engine = talker({says("Hello.")});
  const allm::Thread thread = {allm::user("hi")};
  // [streaming-range]
  for (const allm::Event& event : allm::stream(engine, thread)) {
    if (const auto* text = event.get_if<allm::TextDelta>()) {
      out << text->delta;
    } else if (const auto* call = event.get_if<allm::ToolExecutionStarted>()) {
      out << "[running " << call->name << "]\n";
    } else if (const auto* error = event.get_if<allm::ErrorEvent>()) {
      out << "[" << error->error.message() << "]\n";
    }
  }
  // [/streaming-range]
  EXPECT_EQ(out.str(), "Hello.");
}

TEST_F(StreamingGuide, TheCollectorGivesTheResultOfTheFoldedForm) {
  const allm::Engine engine = talker({says("Hello.")});
  const allm::Thread thread = {allm::user("hi")};
  // [streaming-collector]
  allm::StreamCollector collector(thread);
  for (const allm::Event& event : allm::stream(engine, thread)) {
    collector.apply(event);
    if (const auto* text = event.get_if<allm::TextDelta>()) out << text->delta;
  }
  allm::Result<allm::ChatResult> result = collector.chat_result();
  // [/streaming-collector]
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->text(), out.str());
}

TEST_F(StreamingGuide, FinishGivesTheResultOfTheFoldedForm) {
  const allm::Engine engine = talker({says("Hello.")});
  const allm::Thread thread = {allm::user("hi")};
  // [streaming-finish]
  allm::ChatStream stream = allm::stream(engine, thread);
  while (allm::Poll event = stream.next()) {
    if (const auto* text = event.event().get_if<allm::TextDelta>()) out << text->delta;
  }
  allm::Result<allm::ChatResult> result = stream.finish();  // what chat() would have returned
  // [/streaming-finish]
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->text(), out.str());
}

TEST_F(StreamingGuide, NothingHappensBeforeTheFirstPull) {
  const auto model = allm::fake({says("Hello.")});
  const allm::Engine engine({.adapter = model});
  // [streaming-lazy]
  allm::EventStream stream = allm::stream(engine, {allm::user("hi")});
  EXPECT_EQ(model->calls(), 0U);  // no event was requested yet
  stream.next();
  EXPECT_EQ(model->calls(), 1U);
  // [/streaming-lazy]
}

TEST_F(StreamingGuide, AfterADeadlineTheStreamCanBeReadOn) {
  const allm::Engine engine = talker({{allm::fake_delay(50ms), allm::fake_text("Hello.")}});
  // [streaming-deadline]
  allm::EventStream stream = allm::stream(engine, {allm::user("hi")});
  while (true) {
    allm::Poll polled = stream.next(std::chrono::steady_clock::now() + 10ms);
    if (polled.is_end()) break;
    if (polled.is_pending()) {
      out << ".";  // still waiting; the stream is unchanged
    } else if (const auto* text = polled.event().get_if<allm::TextDelta>()) {
      out << text->delta;
    }
  }
  // [/streaming-deadline]
  EXPECT_TRUE(out.str().ends_with("Hello."));
}

TEST_F(StreamingGuide, DroppingAStreamCancelsTheRun) {
  const auto model = allm::fake({says("Hello.")});
  const allm::Engine engine({.adapter = model});
  // [streaming-drop]
  allm::EventStream stream = allm::stream(engine, {allm::user("hi")});
  while (auto event = stream.next()) {
    if (event->tag() == allm::EventTag::text_delta) break;  // seen enough
  }
  stream.drop();  // or let it go out of scope
  // [/streaming-drop]
  EXPECT_EQ(model->closed(), 1U);
  EXPECT_FALSE(stream.next());
}

TEST_F(StreamingGuide, ACancelledRunHasAResultToo) {
  const allm::Engine engine({.adapter = allm::fake({calls("lookup"), says("never read")}),
                             .tools = {answering("lookup", allm::ok("found"))}});
  const allm::Thread thread = {allm::user("hi")};
  // [streaming-cancelled]
  allm::StreamCollector collector(thread);
  for (const allm::Event& event : allm::stream(engine, thread)) {
    collector.apply(event);
    if (event.tag() == allm::EventTag::step_completed) break;
  }
  allm::Result<allm::ChatResult> result = collector.chat_result();
  // result->halted_reason() == "cancelled", with the steps that were finished
  // [/streaming-cancelled]
  ASSERT_TRUE(result);
  EXPECT_EQ(result->halted_reason(), allm::halted::cancelled);
  EXPECT_EQ(result->steps.size(), 1U);
}

TEST_F(StreamingGuide, FiltersDropEventsAndOnEventSeesAllOfThem) {
  const allm::Engine engine =
      talker({{allm::fake_text("Hel"), allm::fake_text("lo."), allm::fake_finish(allm::FinishReason::stop)}});
  // [streaming-filters]
  int seen = 0;
  int read = 0;
  allm::CallOptions options = {.emit_text_deltas = false, .on_event = [&seen](const allm::Event&) { ++seen; }};
  for (const allm::Event& event : allm::stream(engine, {allm::user("hi")}, options)) {
    ++read;
    if (const auto* text = event.get_if<allm::TextCompleted>()) out << text->text;
  }
  // seen == read + 2: the two deltas
  // [/streaming-filters]
  EXPECT_EQ(seen, read + 2);
  EXPECT_EQ(out.str(), "Hello.");
}

// --- docs/sessions.md ---

TEST_F(SessionsGuide, EveryTurnReturnsTheNextSession) {
  const allm::Engine engine = talker({says("Hello, Ada."), says("You are Ada.")});
  // [sessions-turns]
  allm::Session session = {.id = "ada-1", .thread = {allm::system("You are brief.")}};
  for (const char* line : {"I am Ada.", "Who am I?"}) {
    allm::Result<allm::SessionTurn> turn = allm::session_reply(engine, session, line);
    if (!turn) {
      out << turn.error().message() << '\n';  // `session` is unchanged: the turn can be tried again
      break;
    }
    out << turn->result.text() << '\n';
    session = turn->session;
  }
  // [/sessions-turns]
  EXPECT_EQ(out.str(), "Hello, Ada.\nYou are Ada.\n");
  EXPECT_EQ(session.thread.messages.size(), 5U);
}

TEST_F(SessionsGuide, ASessionStreamFoldsItsEventsIntoASession) {
  const allm::Engine engine = talker({says("Hello.")});
  allm::Session session;
  // [sessions-stream]
  allm::SessionStream stream = allm::session_stream_reply(engine, session, "hi");
  for (const allm::Event& event : stream) {
    if (const auto* text = event.get_if<allm::TextDelta>()) out << text->delta;
  }
  allm::Result<allm::SessionTurn> turn = stream.finish();
  if (turn) session = turn->session;
  // [/sessions-stream]
  EXPECT_EQ(session.status, allm::SessionStatus::completed);
  EXPECT_EQ(out.str(), "Hello.");
}

TEST_F(SessionsGuide, ADroppedSessionStreamKeepsTheMessage) {
  const allm::Engine engine = talker({says("Hello.")});
  allm::Session session;
  // [sessions-cancel]
  allm::SessionStream stream = allm::session_stream_reply(engine, session, "hi");
  stream.next();
  stream.drop();
  session = stream.session();  // idle, with the user's message and every finished step
  // [/sessions-cancel]
  EXPECT_EQ(session.status, allm::SessionStatus::idle);
  EXPECT_EQ(session.thread.messages.size(), 1U);
}

TEST_F(SessionsGuide, AQuestionIsAnsweredWithAReply) {
  const allm::Engine engine({.adapter = allm::fake({calls("book"), says("Booked for Friday.")}),
                             .tools = {answering("book", allm::ask_user("On which day?"))}});
  allm::Session session;
  // [sessions-ask]
  allm::Result<allm::SessionTurn> turn = allm::session_reply(engine, session, "Book a table.");
  if (turn && turn->session.status == allm::SessionStatus::awaiting_user) {
    out << *turn->session.pending_question << '\n';
    turn = allm::session_reply(engine, turn->session, "On Friday.");
  }
  // [/sessions-ask]
  ASSERT_TRUE(turn);
  EXPECT_EQ(out.str(), "On which day?\n");
  EXPECT_EQ(turn->result.text(), "Booked for Friday.");
}

TEST_F(SessionsGuide, PendingCallsAreAnsweredAndTheRunGoesOn) {
  const allm::Engine engine({.adapter = allm::fake({calls("deploy"), says("Deployed.")}),
                             .tools = {allm::tool({.name = "deploy", .manual = true})}});
  allm::Session session;
  // [sessions-manual]
  allm::Result<allm::SessionTurn> turn = allm::session_reply(engine, session, "Ship it.");
  if (turn && turn->session.status == allm::SessionStatus::awaiting_tools) {
    std::vector<allm::SubmittedResult> results;
    for (const allm::ToolCall& call : turn->session.pending_tool_calls) {
      results.push_back({.tool_call_id = call.id, .result = {{"done", true}}});
    }
    allm::Result<allm::Session> answered = allm::submit_tool_results(turn->session, results);
    if (answered) turn = allm::session_continue(engine, *answered);
  }
  // [/sessions-manual]
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->result.text(), "Deployed.");
}

TEST_F(SessionsGuide, ASuspendedCallRunsWhenItIsApproved) {
  const allm::Engine engine({.adapter = allm::fake({calls("pay"), says("Paid.")}),
                             .tools = {answering("pay", allm::ok("sent"))},
                             .approve = [](std::span<const allm::ToolCall> pending) {
                               return std::vector(pending.size(), allm::Approval::suspend());
                             }});
  allm::Result<allm::SessionTurn> turn = allm::session_reply(engine, allm::Session{}, "Pay it.");
  ASSERT_TRUE(turn);
  // [sessions-approve]
  allm::Result<std::string> saved = allm::to_json(turn->session);  // awaiting_tools
  if (!saved) return;
  // Later, also in another process with the same tools:
  allm::Result<allm::Session> loaded = allm::from_json<allm::Session>(*saved);
  if (!loaded) return;
  turn = allm::session_approve(engine, *loaded, {{"c0", allm::Approval::allow()}});
  // [/sessions-approve]
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->session.thread.messages[2].text(), "sent");
  EXPECT_EQ(turn->result.text(), "Paid.");
}

TEST_F(SessionsGuide, ASessionInErrorIsRecovered) {
  const allm::Engine engine =
      talker({{allm::fake_text("Half of a"), allm::fake_error(allm::AdapterError::Reason::network_error)},
              says("The whole answer.")});
  allm::Session session;
  // [sessions-recover]
  allm::Result<allm::SessionTurn> turn = allm::session_reply(engine, session, "hi");
  if (turn && turn->session.status == allm::SessionStatus::error) {
    allm::Result<allm::Session> recovered = allm::session_recover(turn->session);  // ends with the user's message
    if (recovered) turn = allm::session_start(engine, *recovered);
  }
  // [/sessions-recover]
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->result.text(), "The whole answer.");
  EXPECT_EQ(turn->session.thread.messages.size(), 2U);
}

TEST_F(SessionsGuide, ASessionIsSavedAndLoaded) {
  const allm::Session session = {.id = "ada-1", .thread = {allm::user("hi")}, .context = {{"user", "ada"}}};
  // [sessions-save]
  allm::Result<std::string> text = allm::to_json(session);
  if (!text) return;  // text.error() names the value that JSON cannot represent
  allm::Result<allm::Session> loaded = allm::from_json<allm::Session>(*text);
  // [/sessions-save]
  ASSERT_TRUE(loaded);
  EXPECT_EQ(*loaded, session);
}

TEST_F(SessionsGuide, ASessionCanRunOneStepAtATime) {
  const allm::Engine engine(
      {.adapter = allm::fake({calls("lookup"), says("Found.")}), .tools = {answering("lookup", allm::ok("found"))}});
  allm::Session session = {.thread = {allm::user("Look it up.")}};
  // [sessions-step]
  int steps = 0;
  do {
    allm::Result<allm::SessionStep> step = allm::session_step(engine, session);
    if (!step) break;
    session = step->session;
    ++steps;
  } while (session.status == allm::SessionStatus::idle);
  // [/sessions-step]
  EXPECT_EQ(steps, 2);
  EXPECT_EQ(session.status, allm::SessionStatus::completed);
}

// --- docs/errors.md ---

TEST_F(ErrorsGuide, AResultIsCheckedBeforeItIsUsed) {
  const allm::Engine engine;
  // [errors-result]
  allm::Result<allm::ChatResult> result = allm::chat(engine, {allm::user("hi")});
  if (!result) {
    const allm::Error& error = result.error();
    out << error.kind() << ' ' << error.reason() << ": " << error.message() << '\n';
  }
  // [/errors-result]
  EXPECT_TRUE(out.str().starts_with("EngineError missing_adapter: "));
}

TEST_F(ErrorsGuide, KindsAndReasonsAreTypes) {
  const allm::Error error(
      allm::AdapterError{.reason = allm::AdapterError::Reason::rate_limited, .retry_after_ms = 1500});
  bool try_later = false;
  // [errors-match]
  if (const auto* adapter = error.get_if<allm::AdapterError>()) {
    if (adapter->reason == allm::AdapterError::Reason::rate_limited) {
      out << "wait " << adapter->retry_after_ms.value_or(1000) << " ms\n";
    }
  }
  if (error.is<allm::AdapterError>(allm::AdapterError::Reason::provider_unavailable)) try_later = true;
  // [/errors-match]
  EXPECT_EQ(out.str(), "wait 1500 ms\n");
  EXPECT_FALSE(try_later);
}

TEST_F(ErrorsGuide, ALaterFailureKeepsTheFinishedSteps) {
  const allm::Engine engine({.adapter = allm::fake({calls("lookup")}), .tools = {answering("lookup", allm::ok(1))}});
  // [errors-halted]
  allm::Result<allm::ChatResult> result = allm::chat(engine, {allm::user("hi")});
  if (result && result->halted_reason() == allm::halted::error) {
    out << result->error()->message() << " after " << result->steps.size() << " step\n";
  }
  // [/errors-halted]
  EXPECT_NE(out.str().find("after 1 step"), std::string::npos);
}

TEST_F(ErrorsGuide, UnwrapGivesTheTextOfAResponseThatEndedWell) {
  const allm::Engine engine = talker({{allm::fake_text("Once upon"), allm::fake_finish(allm::FinishReason::length)}});
  // [errors-unwrap]
  allm::Result<allm::Response> response = allm::generate(engine, {.messages = {allm::user("Tell me a story.")}});
  if (response) {
    allm::Result<std::string> text = allm::unwrap(*response);
    out << (text ? *text : text.error().message()) << '\n';
  }
  // [/errors-unwrap]
  EXPECT_NE(out.str().find("length"), std::string::npos) << out.str();
}

TEST_F(ErrorsGuide, AValidationErrorHasEveryError) {
  // [errors-validation]
  allm::Request request = {.messages = {allm::Message{.role = allm::Role::tool}}, .temperature = 3.0};
  allm::Status valid = allm::validate(request);
  if (!valid) {
    for (const allm::FieldError& field : valid.error().get_if<allm::ValidationError>()->errors) {
      out << allm::to_string(field.path) << ": " << field.reason << '\n';
    }
  }
  // messages[0].tool_call_id: required
  // temperature: out_of_range
  // [/errors-validation]
  EXPECT_EQ(out.str(), "messages[0].tool_call_id: required\ntemperature: out_of_range\n");
}

// --- docs/testing-with-the-fake.md ---

TEST_F(FakeGuide, EachModelCallHasItsOwnScript) {
  const allm::Tool weather = answering("weather", allm::ok({{"celsius", 21}}));
  // [fake-script]
  auto model = allm::fake({
      {allm::fake_text("Let me see. "), allm::fake_tool_call("c0", "weather", {{"city", "Rome"}}),
       allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("21 degrees."), allm::fake_finish(allm::FinishReason::stop)},
  });
  allm::Engine engine({.adapter = model, .tools = {weather}});

  auto result = allm::chat(engine, {allm::user("Weather in Rome?")});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->text(), "21 degrees.");
  EXPECT_EQ(model->calls(), 2U);  // the script was used up
  // [/fake-script]
}

TEST_F(FakeGuide, ArgumentsCanBeTheRawTextOfTheModel) {
  const allm::Tool weather = answering("weather", allm::ok(21));
  // [fake-raw]
  auto model = allm::fake({
      {allm::FakeToolCall{.id = "c0", .name = "weather", .raw_arguments = R"({"city": "Ro)"},
       allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("Sorry."), allm::fake_finish(allm::FinishReason::stop)},
  });
  allm::Engine engine({.adapter = model, .tools = {weather}});
  auto result = allm::chat(engine, {allm::user("Weather in Rome?")});
  ASSERT_TRUE(result);
  EXPECT_NE(result->steps[0].tool_results[0].text().find("invalid_arguments"), std::string::npos);
  // [/fake-raw]
}

TEST_F(FakeGuide, ErrorsBeforeAndAfterTheMessageHasBegun) {
  // [fake-errors]
  auto model = allm::fake({
      {allm::fake_preflight_error(allm::AdapterError::Reason::authentication_failed)},
      {allm::fake_text("Half of"), allm::fake_error(allm::AdapterError::Reason::network_error)},
  });
  allm::Engine engine({.adapter = model});

  auto refused = allm::chat(engine, {allm::user("hi")});
  EXPECT_FALSE(refused);  // no message had begun: the error is returned

  auto broken = allm::chat(engine, {allm::user("hi")});
  ASSERT_TRUE(broken);  // a message had begun: it is in the result
  EXPECT_EQ(broken->halted_reason(), allm::halted::error);
  EXPECT_EQ(broken->text(), "Half of");
  // [/fake-errors]
}

TEST_F(FakeGuide, RetriesAreTestedWithoutWaiting) {
  // [fake-retry]
  auto model = allm::fake({
      {allm::fake_preflight_error(allm::AdapterError::Reason::rate_limited)},
      {allm::fake_text("Second try."), allm::fake_finish(allm::FinishReason::stop)},
  });
  allm::Engine engine({.adapter = model, .retry = {.base_delay = 1ms, .jitter = 0ms}});
  auto result = allm::chat(engine, {allm::user("hi")});
  ASSERT_TRUE(result);
  EXPECT_EQ(model->calls(), 2U);
  // [/fake-retry]
}

TEST_F(FakeGuide, UsageAndDelays) {
  // [fake-usage]
  auto model = allm::fake(
      {{allm::fake_text("One, "), allm::fake_delay(5ms), allm::fake_text("two."),
        allm::fake_usage({.input_tokens = 9, .output_tokens = 4}), allm::fake_finish(allm::FinishReason::stop)}});
  auto result = allm::chat(allm::Engine({.adapter = model}), {allm::user("Count.")});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->usage.total(), 13);
  // [/fake-usage]
}

TEST_F(FakeGuide, RequestsAreRecorded) {
  const allm::Tool weather = answering("weather", allm::ok(21));
  // [fake-record]
  auto model = allm::fake({{allm::fake_text("Hi.")}}, {.record = true});
  allm::Engine engine({.adapter = model, .tools = {weather}, .params = {{"temperature", 0.2}, {"top_p", 0.9}}});
  auto result = allm::chat(engine, {allm::system("You are brief."), allm::user("hi")}, {.max_tokens = 100});
  ASSERT_TRUE(result);

  const allm::AdapterCall call = model->requests().at(0);
  EXPECT_EQ(call.request.messages.size(), 2U);
  EXPECT_EQ(call.request.tools.at(0).name, "weather");
  EXPECT_EQ(call.request.temperature, 0.2);
  EXPECT_EQ(call.request.max_tokens, 100);
  EXPECT_EQ(call.options["top_p"], 0.9);  // options that allm does not know are sent to the provider
  // [/fake-record]
}

TEST_F(FakeGuide, AFunctionCanAnswerForTheModel) {
  const allm::Tool weather = answering("weather", allm::ok(21));
  // [fake-function]
  auto model = allm::fake([](const allm::Request& request) -> allm::FakeCallScript {
    const allm::Message& last = request.messages.back();
    if (last.role == allm::Role::tool) {
      return {allm::fake_text("The tool says " + last.text()), allm::fake_finish(allm::FinishReason::stop)};
    }
    return {allm::fake_tool_call("c0", "weather", {{"city", last.text()}}),
            allm::fake_finish(allm::FinishReason::tool_calls)};
  });
  allm::Engine engine({.adapter = model, .tools = {weather}});
  auto result = allm::chat(engine, {allm::user("Rome")});
  // [/fake-function]
  ASSERT_TRUE(result);
  EXPECT_EQ(model->calls(), 2U);
  EXPECT_TRUE(result->text().starts_with("The tool says ")) << result->text();
}

TEST_F(FakeGuide, ScriptsCanBeWrittenAsJson) {
  // [fake-json]
  auto json = allm::parse_json(R"([[{"text": "Hi."}, {"usage": {"output_tokens": 2}}, {"finish": "stop"}]])");
  ASSERT_TRUE(json);
  auto script = allm::fake_script_from_json(*json);
  ASSERT_TRUE(script) << script.error().message();
  allm::Engine engine({.adapter = allm::fake(*script)});
  // [/fake-json]
  EXPECT_EQ(allm::chat(engine, {allm::user("hi")})->text(), "Hi.");
}

TEST_F(FakeGuide, TelemetryRecordsTheRun) {
  const allm::Tool weather = answering("weather", allm::ok(21));
  const auto model = allm::fake({calls("weather"), says("21.")});
  // [fake-telemetry]
  auto telemetry = std::make_shared<allm::CollectingTelemetry>();
  allm::Engine engine({.adapter = model, .tools = {weather}, .telemetry = telemetry});
  auto result = allm::chat(engine, {allm::user("hi")}, {.request_id = "r-1"});

  int tools = 0;
  for (const auto& record : telemetry->records()) {
    EXPECT_EQ(record.request_id, "r-1");  // all records of one chat have the same id
    if (record.name == "allm.tool.stop") ++tools;
  }
  EXPECT_EQ(tools, 1);
  // [/fake-telemetry]
  ASSERT_TRUE(result);
}

TEST_F(FakeGuide, ScenariosAreTestsAsData) {
  // [fake-scenario]
  auto scenario = allm::parse_json(R"({
    "name": "a slow tool is reported to the model",
    "scripts": [
      [{"tool_call": {"id": "c0", "name": "weather", "arguments": {}}}, {"finish": "tool_calls"}],
      [{"text": "I cannot tell."}, {"finish": "stop"}]
    ],
    "tools": [{"name": "weather", "handler": {"sleep": {"ms": 2000, "then": {"ok": 21}}}}],
    "run": [{"chat": {"messages": ["Weather?"], "options": {"tool_timeout_ms": 20}}}],
    "expect": [{"ok": {"halted_reason": "completed", "output_text": "I cannot tell."}}]
  })");
  ASSERT_TRUE(scenario);
  auto outcomes = allm::run_scenarios(*scenario);
  ASSERT_TRUE(outcomes) << outcomes.error().message();  // fails if the input is not a scenario
  for (const allm::ScenarioOutcome& outcome : *outcomes) {
    for (const std::string& mismatch : outcome.mismatches) ADD_FAILURE() << outcome.name << ": " << mismatch;
  }
  // [/fake-scenario]
  EXPECT_EQ(outcomes->size(), 1U);
}

}  // namespace
}  // namespace docs_guides_test
