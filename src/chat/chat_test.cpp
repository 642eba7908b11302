// The loop: the reasons that end it, their order, and the results.
#include "allm/chat.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/fake.hpp"

namespace allm::chat_test {
namespace {

using Reason = AdapterError::Reason;

FakeEntry call_of(const std::string& id, const std::string& name) { return fake_tool_call(id, name, {{"id", id}}); }
const FakeEntry kRunTools = fake_finish(FinishReason::tool_calls);
const FakeCallScript kAnswer = {fake_text("answer"), fake_finish(FinishReason::stop)};
const FakeCallScript kGood = {call_of("c0", "good"), kRunTools};

std::vector<Tool> tools() {
  return {{.name = "good", .handler = [](const Json&) { return ok("fine"); }},
          {.name = "bad", .handler = [](const Json&) { return failure("no"); }},
          {.name = "asks", .handler = [](const Json&) { return ask_user("who?", {{"choices", {"a"}}}); }},
          {.name = "halts", .handler = [](const Json& arguments) { return halt("own", arguments); }},
          {.name = "manual", .manual = true}};
}
Engine engine_of(FakeScript script, FakeOptions options = {}) {
  return Engine({.adapter = fake(std::move(script), std::move(options)), .tools = tools()});
}
ChatResult run(FakeScript script, const CallOptions& options = {}) {
  const auto result = chat(engine_of(std::move(script)), {user("hi")}, options);
  EXPECT_TRUE(result.has_value()) << result.error().message();
  return result.value_or(ChatResult{});
}
std::vector<EventTag> tags_of(EventStream events) {
  std::vector<EventTag> tags;
  for (const Event& event : events) tags.push_back(event.tag());
  return tags;
}
std::vector<std::string> texts_of(const Thread& thread) {
  std::vector<std::string> texts;
  for (const Message& message : thread.messages)
    texts.push_back(std::string(to_string(message.role)) + ":" + message.text());
  return texts;
}
bool always(const StepResult&) { return true; }

TEST(Chat, ContinuesWhileThereAreToolsToRun) {
  const ChatResult result = run({kGood, kGood, kAnswer});
  EXPECT_EQ(result.halted_reason(), "completed");
  EXPECT_EQ(result.steps.size(), 3U);
  EXPECT_EQ(result.text(), "answer");
  EXPECT_EQ(result.full_metadata(), Json::object());
  EXPECT_EQ(texts_of(result.thread), (std::vector<std::string>{"user:hi", "assistant:", "tool:fine",
                                                               "assistant:", "tool:fine", "assistant:answer"}));
  EXPECT_EQ(result.thread.messages[1].metadata, Json({{"finish_reason", "tool_calls"}}));
}

TEST(Chat, EndsForTheReasonWithTheHighestPrecedence) {
  const auto reason = [](FakeCallScript script, CallOptions options = {}) {
    options.halt_when = always;
    options.max_turns = 1;
    return run({std::move(script)}, options).halted_reason();
  };
  const CallOptions halting{.on_tool_error = ToolErrorAction::halt};
  EXPECT_EQ(reason({call_of("a", "asks"), call_of("b", "bad"), call_of("c", "manual"), kRunTools}, halting),
            "ask_user");
  EXPECT_EQ(reason({call_of("a", "bad"), call_of("b", "asks"), call_of("c", "manual"), kRunTools}, halting),
            "tool_error");
  EXPECT_EQ(reason({call_of("a", "halts"), call_of("b", "asks"), kRunTools}), "own");
  EXPECT_EQ(reason({call_of("a", "good"), call_of("b", "manual"), kRunTools}), "manual_tool_calls");
  EXPECT_EQ(reason(kGood, {.mode = Mode::manual}), "manual_tool_calls");
  EXPECT_EQ(reason({fake_text("x"), fake_error(Reason::timeout)}), "error");
  for (const FinishReason finish :
       {FinishReason::stop, FinishReason::length, FinishReason::content_filter, FinishReason::other}) {
    EXPECT_EQ(reason({call_of("a", "good"), fake_finish(finish)}), "completed") << to_string(finish);
  }
  EXPECT_EQ(reason({fake_text("no finish")}), "completed");
  EXPECT_EQ(reason({fake_text("no calls"), kRunTools}), "completed");
  EXPECT_EQ(reason(kGood), "halt_when");
  EXPECT_EQ(run({kGood}, {.max_turns = 1}).halted_reason(), "max_turns");
}

TEST(Chat, HasItsEndInItsMetadata) {
  EXPECT_EQ(run({kGood, kGood}, {.max_turns = 2}).full_metadata(), Json({{"max_turns", 2}}));
  EXPECT_EQ(run({kGood}, {.halt_when = always}).full_metadata(), Json({{"halt_when_step_index", 0}}));
  EXPECT_EQ(run({kGood, {call_of("a", "halts"), kRunTools}}).full_metadata(),
            Json({{"halt_tool_call_id", "a"}, {"halt_result", {{"id", "a"}}}}));
  EXPECT_EQ(run({{call_of("a", "bad"), kRunTools}}, {.on_tool_error = ToolErrorAction::halt}).full_metadata(),
            Json({{"halt_tool_call_id", "a"}}));
  const ChatResult manual = run({kGood, {call_of("a", "manual"), kRunTools}});
  EXPECT_EQ(manual.full_metadata().at("manual_turn_index"), 1);
  ASSERT_EQ(manual.manual_tool_calls().size(), 1U);
  EXPECT_EQ(manual.manual_tool_calls()[0].id, "a");
}

TEST(Chat, AppendsAQuestionToTheRunsThreadOnly) {
  const ChatResult result = run({{call_of("a", "asks"), call_of("b", "good"), kRunTools}});
  const auto& asked = std::get<ended::AskUser>(result.end);
  EXPECT_EQ(asked.question, "who?");
  EXPECT_EQ(asked.tool_call_id, "a");
  EXPECT_EQ(asked.tool_name, "asks");
  EXPECT_EQ(result.full_metadata().at("ask_user_opts"), Json({{"choices", {"a"}}}));
  EXPECT_EQ(texts_of(result.thread), (std::vector<std::string>{"user:hi", "assistant:", "tool:<awaiting user response>",
                                                               "tool:fine", "assistant:who?"}));
  EXPECT_EQ(result.thread.messages.back().metadata, Json({{"ask_user", true}, {"tool_call_id", "a"}}));
  EXPECT_EQ(result.steps[0].thread.messages.size(), 4U);
}

TEST(Chat, LeavesTruncatedCallsOutOfTheThread) {
  const ChatResult result = run({{fake_text("so"), call_of("a", "good"), fake_finish(FinishReason::length)}});
  EXPECT_EQ(result.halted_reason(), "completed");
  EXPECT_TRUE(result.thread.messages.back().tool_calls.empty());
  EXPECT_EQ(result.final_response->tool_calls.size(), 1U) << "the response still has them";
  EXPECT_TRUE(result.steps[0].tool_results.empty());
}

TEST(Chat, ManualModeRunsNothing) {
  const ChatResult result = run({{call_of("a", "good"), call_of("b", "manual"), kRunTools}}, {.mode = Mode::manual});
  EXPECT_EQ(result.halted_reason(), "manual_tool_calls");
  EXPECT_TRUE(result.manual_tool_calls().empty());
  EXPECT_EQ(result.final_response->tool_calls.size(), 2U);
  EXPECT_EQ(result.steps[0].full_metadata(), Json({{"mode", "manual"}}));
  EXPECT_EQ(result.thread.messages.back().tool_calls.size(), 2U);
}

TEST(Chat, AnswersManualCallsBesideAHaltAsNotRun) {
  const ChatResult result = run({{call_of("m1", "manual"), call_of("h", "halts"), call_of("m2", "manual"), kRunTools}});
  EXPECT_EQ(result.halted_reason(), "own");
  EXPECT_TRUE(result.manual_tool_calls().empty());
  ASSERT_EQ(result.steps[0].tool_results.size(), 3U);
  EXPECT_EQ(result.steps[0].tool_results[0].tool_call_id, "m1");
  EXPECT_EQ(Json::parse(result.steps[0].tool_results[0].text()).at("reason"), "not_run");
  EXPECT_EQ(Json::parse(result.steps[0].tool_results[2].text()).at("reason"), "not_run");
}

TEST(Chat, AnEncoderThatThrowsDoesNotStopTheAnswersOfManualCalls) {
  class Throwing : public ToolResultEncoder {
    Result<std::string> encode(const Json&) override { return "x"; }
    std::string encode_failure(const ToolFailure&) override { throw std::runtime_error("no"); }
  };
  const ChatResult result = run({{call_of("m", "manual"), call_of("h", "halts"), kRunTools}},
                                {.tool_result_encoder = std::make_shared<Throwing>()});
  EXPECT_EQ(Json::parse(result.steps[0].tool_results[0].text()).at("reason"), "not_run");
}

TEST(Chat, SumsTheUsageOfItsSteps) {
  const FakeEntry usage = fake_usage({.input_tokens = 10, .output_tokens = 2, .extra = {{"x", 1}}});
  const ChatResult result = run({{call_of("a", "good"), usage, kRunTools}, kGood, {fake_text("x"), usage}});
  EXPECT_EQ(result.usage.input_tokens, 20);
  EXPECT_EQ(result.usage.output_tokens, 4);
  EXPECT_EQ(result.usage.extra, Json({{"x", 2}}));
  EXPECT_FALSE(result.usage.cached_input_tokens.has_value());
  EXPECT_EQ(result.steps[0].response.usage.input_tokens, 10);
}

TEST(Chat, AnErrorInTheFirstStepIsReturned) {
  for (const FakeCallScript& script : {FakeCallScript{fake_preflight_error(Reason::authentication_failed)},
                                       FakeCallScript{call_of("a", "nobody"), kRunTools}}) {
    EXPECT_FALSE(chat(engine_of({script}), {user("hi")}).has_value());
    EXPECT_EQ(tags_of(stream(engine_of({script}), {user("hi")})).back(), EventTag::error);
  }
}

TEST(Chat, ALaterErrorEndsTheRunWithTheFinishedSteps) {
  for (const FakeCallScript& script : {FakeCallScript{fake_preflight_error(Reason::authentication_failed)},
                                       FakeCallScript{call_of("a", "nobody"), kRunTools}}) {
    const ChatResult result = run({kGood, script});
    EXPECT_EQ(result.halted_reason(), "error");
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.steps.size(), 1U);
    EXPECT_EQ(result.thread, result.steps[0].thread);
    EXPECT_EQ(result.final_response, result.steps[0].response);
    const auto tags = tags_of(stream(engine_of({kGood, script}), {user("hi")}));
    EXPECT_EQ((std::vector<EventTag>{tags.end() - 2, tags.end()}),
              (std::vector{EventTag::error, EventTag::chat_completed}));
  }
}

TEST(Chat, AnErrorIsTheLastEventOfItsMessage) {
  EXPECT_EQ(tags_of(stream(engine_of({{fake_text("a"), fake_error(Reason::timeout), fake_text("b")}}), {user("hi")})),
            (std::vector{EventTag::message_started, EventTag::text_delta, EventTag::error, EventTag::step_completed,
                         EventTag::chat_completed}));
  const ChatResult result = run({{fake_text("a"), fake_error(Reason::timeout)}});
  EXPECT_TRUE(result.error()->is<AdapterError>(Reason::timeout));
  EXPECT_EQ(result.steps.size(), 1U);
  EXPECT_EQ(texts_of(result.thread), (std::vector<std::string>{"user:hi", "assistant:a"}));
}

TEST(Chat, AnExceptionOfHaltWhenReachesTheCallerAndEndsTheStream) {
  const CallOptions options{.halt_when = [](const StepResult&) -> bool { throw std::logic_error("mine"); }};
  EXPECT_THROW((void)chat(engine_of({kGood, kAnswer}), {user("hi")}, options), std::logic_error);
  const auto adapter = fake({kGood, kAnswer});
  EventStream events = stream(Engine({.adapter = adapter, .tools = tools()}), {user("hi")}, options);
  EXPECT_THROW(while (events.next()){}, std::logic_error);
  EXPECT_FALSE(events.next().has_event());
  EXPECT_EQ(adapter->closed(), adapter->calls());
}

TEST(Chat, AnExceptionOfOnEventReachesTheCallerAndEndsTheStream) {
  for (const EventTag at : {EventTag::message_started, EventTag::tool_execution_started, EventTag::tool_result_encoded,
                            EventTag::step_completed, EventTag::chat_completed}) {
    CallOptions options;
    options.on_event = [at](const Event& event) {
      if (event.tag() == at) throw std::logic_error("mine");
    };
    EXPECT_THROW((void)chat(engine_of({kGood, kAnswer}), {user("hi")}, options), std::logic_error);
    EventStream events = stream(engine_of({kGood, kAnswer}), {user("hi")}, options);
    EXPECT_THROW(while (events.next()){}, std::logic_error);
    EXPECT_FALSE(events.next().has_event());
  }
}

TEST(Chat, OnEventSeesEverythingThatTheFiltersHide) {
  std::vector<EventTag> seen;
  CallOptions options{.emit_text_deltas = false, .emit_tool_deltas = false};
  options.on_event = [&](const Event& event) { seen.push_back(event.tag()); };
  const FakeScript script = {
      {fake_text("a"), FakeToolCallDelta{"c", "{}"}, FakeRawChunk{1}, fake_finish(FinishReason::stop)}};
  EXPECT_EQ(tags_of(stream(engine_of(script), {user("hi")}, options)),
            (std::vector{EventTag::message_started, EventTag::text_completed, EventTag::message_completed,
                         EventTag::step_completed, EventTag::chat_completed}));
  EXPECT_EQ(seen, (std::vector{EventTag::message_started, EventTag::text_delta, EventTag::tool_call_delta,
                               EventTag::raw_chunk, EventTag::text_completed, EventTag::message_completed,
                               EventTag::step_completed, EventTag::chat_completed}));
}

TEST(Chat, WithTextDeltasHiddenAnErrorIsPrecededByTheTextSoFar) {
  const FakeScript script = {{fake_text("par"), fake_text("tial"), fake_error(Reason::timeout)}};
  EventStream events = stream(engine_of(script), {user("hi")}, {.emit_text_deltas = false});
  (void)events.next();
  EXPECT_EQ(*events.next(), Event(TextCompleted{.text = "partial"}));
  EXPECT_EQ(events.next()->tag(), EventTag::error);
}

TEST(Chat, StepsKeepTheirThreads) {
  FakeScript script;
  for (int i = 0; i < 100; ++i) script.push_back(kGood);
  script.push_back(kAnswer);
  const ChatResult result = run(std::move(script), {.max_turns = 200});
  ASSERT_EQ(result.steps.size(), 101U);
  for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(result.steps[i].thread.messages.size(), 3 + 2 * i);
  // The history is shared: it is the same message, not a copy.
  EXPECT_EQ(&result.steps[0].thread.messages[0], &result.steps[50].thread.messages[0]);
  EXPECT_EQ(&result.steps[60].thread.messages[40], &result.thread.messages[40]);
}

TEST(Chat, TheCallersThreadIsNotChanged) {
  const Thread thread{user("hi")};
  ASSERT_TRUE(chat(engine_of({kGood, kAnswer}), thread).has_value());
  EXPECT_EQ(thread.messages.size(), 1U);
}

TEST(Chat, ChecksItsThreadInEveryTurn) {
  const auto invalid = chat(engine_of({kAnswer}), {user("hi"), Message{.role = Role::tool, .content = "x"}});
  ASSERT_FALSE(invalid.has_value());
  EXPECT_TRUE(invalid.error().is<ValidationError>(ValidationError::Reason::invalid_thread));
  EXPECT_EQ(to_string(invalid.error().get_if<ValidationError>()->errors.at(0).path), "messages[1].tool_call_id");
  const auto empty = chat(engine_of({kAnswer}), Thread());
  ASSERT_FALSE(empty.has_value());
  EXPECT_TRUE(empty.error().is<ValidationError>(ValidationError::Reason::invalid_request));
}

TEST(Chat, WithoutAnAdapterIsAnError) {
  const auto result = chat(Engine(), {user("hi")});
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is<EngineError>(EngineError::Reason::missing_adapter));
  const auto bad_message_first = chat(Engine(), {Message{.role = Role::tool, .content = "x"}});
  EXPECT_TRUE(bad_message_first.error().is<ValidationError>(ValidationError::Reason::invalid_thread));
}

TEST(Chat, CallsOfAToolReplacedByTheCallRunTheNewOne) {
  const ChatResult result =
      run({kGood, kAnswer}, {.tools = {{.name = "good", .handler = [](const Json&) { return ok("newer"); }}}});
  EXPECT_EQ(result.steps[0].tool_results[0].text(), "newer");
}

// --- Finalize

CallOptions finalizing(CallOptions options = {}) {
  options.structured_finalize = true;
  options.response_format = ResponseFormat::json_schema("answer", {{"type", "object"}});
  return options;
}

TEST(Finalize, AsksOnceMoreInTheFormatAndWithoutTools) {
  const auto adapter = fake({kGood, kAnswer, {fake_text("{}"), fake_finish(FinishReason::stop)}}, {.record = true});
  const auto result = chat(Engine({.adapter = adapter, .tools = tools()}), {user("hi")}, finalizing());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->text(), "{}");
  EXPECT_EQ(result->steps.size(), 3U);
  EXPECT_EQ(result->metadata.at("structured_finalize").at("pass_1_halted"), "completed");
  EXPECT_EQ(texts_of(result->thread).at(4), "user:Give your final answer now, in the requested format.");
  const auto requests = adapter->requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_FALSE(requests[0].request.response_format.has_value());
  EXPECT_FALSE(requests[0].request.tools.empty());
  EXPECT_EQ(requests[2].request.response_format->kind(), ResponseFormat::Kind::json_schema);
  EXPECT_TRUE(requests[2].request.tools.empty());
  EXPECT_EQ(requests[0].request_id, requests[2].request_id);
}

TEST(Finalize, FollowsARunThatReachedALimitButNotAPendingOne) {
  EXPECT_EQ(run({kGood, kAnswer}, finalizing({.max_turns = 1})).metadata.at("structured_finalize").at("pass_1_halted"),
            "max_turns");
  EXPECT_EQ(run({kGood, kAnswer}, finalizing({.halt_when = always})).halted_reason(), "completed");
  for (const char* tool : {"asks", "halts", "manual"}) {
    const ChatResult result = run({{call_of("a", tool), kRunTools}}, finalizing());
    EXPECT_EQ(result.steps.size(), 1U);
    EXPECT_EQ(result.metadata.at("structured_finalize").at("pass_1_halted"), result.halted_reason());
  }
  EXPECT_EQ(run({{fake_text("x"), fake_error(Reason::timeout)}}, finalizing()).halted_reason(), "error");
}

TEST(Finalize, MayAskWithoutANudge) {
  const ChatResult result = run({kAnswer, kAnswer}, finalizing({.structured_finalize_nudge = ""}));
  EXPECT_EQ(texts_of(result.thread), (std::vector<std::string>{"user:hi", "assistant:answer", "assistant:answer"}));
}

TEST(Finalize, ReturnsTheFirstPassIfTheSecondFails) {
  // A refused request, and a tool call in the pass without tools.
  for (const FakeCallScript& second : {FakeCallScript{fake_preflight_error(Reason::authentication_failed)}, kGood}) {
    const ChatResult result = run({kAnswer, second}, finalizing());
    EXPECT_EQ(result.halted_reason(), "completed");
    EXPECT_EQ(result.text(), "answer");
    EXPECT_EQ(result.metadata.at("structured_finalize").at("pass_1_halted"), "completed");
    EXPECT_TRUE(result.metadata.at("structured_finalize").contains("pass_2_error"));
    const auto tags = tags_of(stream(engine_of({kAnswer, second}), {user("hi")}, finalizing()));
    EXPECT_EQ((std::vector<EventTag>{tags.end() - 2, tags.end()}),
              (std::vector{EventTag::error, EventTag::chat_completed}));
    EXPECT_EQ(std::count(tags.begin(), tags.end(), EventTag::chat_completed), 1);
  }
}

TEST(Finalize, FailsInTheFirstPassLikeARunWithoutIt) {
  EXPECT_FALSE(chat(engine_of({}), {user("hi")}, finalizing()).has_value());
  const auto without_format = chat(engine_of({kAnswer}), {user("hi")}, {.structured_finalize = true});
  ASSERT_FALSE(without_format.has_value());
  EXPECT_EQ(without_format.error().get_if<ValidationError>()->errors.at(0).reason, "requires_json_schema");
}

// --- One step, one call

TEST(Step, IsOneModelCallAndItsTools) {
  const auto adapter = fake({kGood, kAnswer});
  const auto result = step(Engine({.adapter = adapter, .tools = tools()}), {user("hi")});
  ASSERT_TRUE(result.has_value());
  EXPECT_FALSE(result->done);
  EXPECT_EQ(result->tool_results.size(), 1U);
  EXPECT_EQ(result->thread.messages.size(), 3U);
  EXPECT_EQ(result->response.request_id->size(), 22U);
  EXPECT_EQ(adapter->calls(), 1U);
}

TEST(Step, NeverAppendsTheQuestion) {
  const auto result = step(engine_of({{call_of("a", "asks"), kRunTools}}), {user("hi")});
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->done);
  EXPECT_EQ(result->thread.messages.back().text(), "<awaiting user response>");
  EXPECT_EQ(result->full_metadata().at("halted_reason"), "ask_user");
}

TEST(Generate, RunsNoTools) {
  const auto response = generate(engine_of({kGood}), {.messages = {user("hi")}});
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->tool_calls.size(), 1U);
  EXPECT_EQ(response->finish_reason, FinishReason::tool_calls);
}

TEST(Generate, AnInterruptedMessageCarriesTheRequestId) {
  const Engine engine = engine_of({{fake_text("x"), fake_error(AdapterError::Reason::timeout)}});
  const auto response = generate(engine, {.messages = {user("hi")}}, {.request_id = "mine"});
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->finish_reason, FinishReason::error);
  EXPECT_EQ(response->request_id, "mine");
}

TEST(Generate, SendsTheToolsOfTheRequest) {
  const auto adapter = fake({kAnswer, kAnswer}, {.record = true});
  const Engine engine({.adapter = adapter, .tools = tools()});
  ASSERT_TRUE(generate(engine, {.messages = {user("hi")}, .tools = {{.name = "own"}}}).has_value());
  ASSERT_TRUE(generate(engine, {.messages = {user("hi")}}).has_value());
  EXPECT_EQ(adapter->requests()[0].request.tools.size(), 1U);
  EXPECT_EQ(adapter->requests()[1].request.tools.size(), tools().size());
}

}  // namespace
}  // namespace allm::chat_test
