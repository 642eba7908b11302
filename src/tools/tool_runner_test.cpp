#include "allm/tool_runner.hpp"

#include <atomic>
#include <barrier>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/collector.hpp"

#include "runtime/test_waits.hpp"

namespace allm::tool_runner_test {
namespace {

using testing::Gate;
using testing::HighWater;

ToolCall call(std::string id, std::string name, Json arguments = Json::object()) {
  return {.id = std::move(id), .name = std::move(name), .arguments = std::move(arguments)};
}

std::vector<ToolCall> calls(const std::string& name, int count) {
  std::vector<ToolCall> list;
  for (int i = 0; i < count; ++i) list.push_back(call("c" + std::to_string(i), name, {{"i", i}}));
  return list;
}

Tool handled_by(std::string name, Handler handler) { return {.name = std::move(name), .handler = std::move(handler)}; }

std::vector<EventTag> tags_of(EventStream events) {
  std::vector<EventTag> tags;
  for (const Event& event : events) tags.push_back(event.tag());
  return tags;
}

// The content of the only message.
std::string answer_of(const Tool& tool, CallOptions options = {}, const Engine& engine = Engine()) {
  const Result<ToolBatch> batch = run_tool_calls({call("c0", tool.name)}, {tool}, options, engine);
  EXPECT_TRUE(batch.has_value());
  return batch && batch->messages.size() == 1 ? batch->messages[0].text() : "no answer";
}

std::string reason_of(const std::string& content) { return Json::parse(content).value("reason", "none"); }

TEST(ToolRunner, AnswersInTheOrderOfTheCalls) {
  // The first call ends after the last one, so that the order of the calls differs from the order of their ends.
  Gate last_ended;
  const Tool echo = handled_by("echo", [&](const Json& arguments) {
    if (arguments.at("i") == 0) last_ended.wait();
    if (arguments.at("i") == 3) last_ended.open();
    return ok(arguments.at("i"));
  });
  const auto batch = run_tool_calls(calls("echo", 4), {echo}, {.max_concurrency = 4});
  ASSERT_TRUE(batch.has_value());
  ASSERT_EQ(batch->messages.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(batch->messages[i].text(), std::to_string(i));
    EXPECT_EQ(batch->messages[i].tool_call_id, "c" + std::to_string(i));
    EXPECT_EQ(batch->messages[i].role, Role::tool);
  }
  EXPECT_FALSE(batch->halt.has_value());
}

TEST(ToolRunner, FiveBlockingHandlersOfOneTurnOverlap) {
  // The barrier opens only if all five handlers run at the same time.
  std::barrier all_five(5);
  const Tool meet = handled_by("meet", [&](const Json&) {
    all_five.arrive_and_wait();
    return ok("met");
  });
  for (const CallOptions& options : {CallOptions{}, CallOptions{.max_concurrency = 5}}) {
    const auto batch = run_tool_calls(calls("meet", 5), {meet}, options);
    ASSERT_TRUE(batch.has_value());
    for (const Message& message : batch->messages) EXPECT_EQ(message.text(), "met");
  }
}

TEST(ToolRunner, MaxConcurrencyLimitsConcurrentCalls) {
  HighWater inside;
  std::barrier pairs(2);
  const Tool busy = handled_by("busy", [&](const Json&) {
    inside.enter();
    pairs.arrive_and_wait();  // at least two
    inside.leave();
    return ok(nullptr);
  });
  ASSERT_TRUE(run_tool_calls(calls("busy", 20), {busy}, {.max_concurrency = 2}).has_value());
  EXPECT_EQ(inside.highest(), 2U);
}

TEST(ToolRunner, WithoutCallsTheBatchIsEmpty) {
  const auto batch = run_tool_calls({}, {});
  ASSERT_TRUE(batch.has_value());
  EXPECT_TRUE(batch->messages.empty());
  EXPECT_TRUE(tags_of(stream_tool_calls({}, {})).empty());
}

TEST(ToolRunner, AnUnknownNameFailsTheBatchBeforeAnythingRuns) {
  std::atomic<int> ran = 0;
  const Tool known = handled_by("known", [&](const Json&) {
    ++ran;
    return ok(1);
  });
  const auto batch = run_tool_calls({call("c0", "known"), call("c1", "other"), call("c2", "third")}, {known});
  ASSERT_FALSE(batch.has_value());
  EXPECT_TRUE(batch.error().is<EngineError>(EngineError::Reason::unknown_tool));
  EXPECT_EQ(batch.error().metadata().at("tool_name"), "other");
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(tags_of(stream_tool_calls({call("c1", "other")}, {known})), std::vector{EventTag::error});
}

TEST(ToolRunner, AnUnknownNameCanBeReportedToTheModel) {
  const Tool known = handled_by("known", [](const Json&) { return ok(1); });
  const auto batch =
      run_tool_calls({call("c0", "other"), call("c1", "known")}, {known}, {.on_unknown_tool = OnUnknownTool::report});
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(reason_of(batch->messages[0].text()), "unknown_tool");
  EXPECT_NE(batch->messages[0].text().find("known"), std::string::npos) << "says what there is";
  EXPECT_EQ(batch->messages[1].text(), "1");
}

TEST(ToolRunner, AThrownExceptionBecomesHandlerRaised) {
  const std::string standard =
      answer_of(handled_by("t", [](const Json&) -> ToolOutcome { throw std::runtime_error("no disk"); }));
  EXPECT_EQ(reason_of(standard), "handler_raised");
  EXPECT_NE(standard.find("no disk"), std::string::npos);
  const std::string other = answer_of(handled_by("t", [](const Json&) -> ToolOutcome { throw 42; }));
  EXPECT_EQ(reason_of(other), "handler_raised");
}

TEST(ToolRunner, AToolWithoutAHandlerIsNotFound) { EXPECT_EQ(reason_of(answer_of({.name = "t"})), "not_found"); }

TEST(ToolRunner, AHandlersOwnFailureHasNoReason) {
  EXPECT_EQ(answer_of(handled_by("t", [](const Json&) { return failure("bad day"); })), R"({"error":"bad day"})");
  EXPECT_EQ(answer_of(handled_by("t", [](const Json&) { return failure({{"code", 7}}); })), R"({"error":{"code":7}})");
}

TEST(ToolRunner, AnswersOfFailedCallsAreMarked) {
  const std::vector<Tool> tools = {
      {.name = "fails", .handler = [](const Json&) { return failure("no"); }},
      {.name = "throws", .handler = [](const Json&) -> ToolOutcome { throw std::runtime_error("x"); }},
      {.name = "works", .handler = [](const Json&) { return ok({{"error", nullptr}}); }}};
  const std::vector<ToolCall> calls = {{.id = "a", .name = "fails"},
                                       {.id = "b", .name = "throws"},
                                       {.id = "c", .name = "works"},
                                       {.id = "d", .name = "?"}};
  for (const bool halts : {false, true}) {
    const CallOptions options{.on_tool_error = halts ? ToolErrorAction::halt : ToolErrorAction::tell_model,
                              .on_unknown_tool = OnUnknownTool::report};
    const Result<ToolBatch> batch = run_tool_calls(calls, tools, options);
    ASSERT_TRUE(batch.has_value()) << batch.error().message();
    for (const Message& message : batch->messages) {
      EXPECT_EQ(message.metadata.value("is_error", false), message.tool_call_id != "c") << *message.tool_call_id;
    }
  }
}

TEST(ToolRunner, ReservedAndEmptyHaltReasonsAreRefused) {
  for (const char* reason : {"ask_user", "max_turns", "halt_when", "tool_error", "cancelled", "completed", "error",
                             "manual_tool_calls", "", "\xff"}) {
    const auto batch = run_tool_calls({call("c0", "t")}, {handled_by("t", [&](const Json&) { return halt(reason); })});
    ASSERT_TRUE(batch.has_value());
    EXPECT_FALSE(batch->halt.has_value()) << reason;
    EXPECT_EQ(reason_of(batch->messages[0].text()), "invalid_return") << reason;
  }
}

TEST(ToolRunner, AQuestionWithOptionsThatJsonCannotExpressIsRefused) {
  const Json no_json = {{"x", std::numeric_limits<double>::quiet_NaN()}};
  for (const Json& options : {Json::array({1}), Json({{"x", "\xff"}}), no_json}) {
    const Tool asks = handled_by("t", [&](const Json&) { return ask_user("who?", options); });
    EXPECT_EQ(reason_of(answer_of(asks)), "invalid_return");
  }
}

TEST(ToolRunner, TheHaltOfTheLowestIndexIsUsed) {
  Gate second_ended;
  const Tool stop = handled_by("stop", [&](const Json& arguments) {
    if (arguments.at("i") == 0) second_ended.wait();
    if (arguments.at("i") == 1) second_ended.open();
    return halt("r" + arguments.at("i").dump(), arguments);
  });
  const auto batch = run_tool_calls(calls("stop", 3), {stop}, {.max_concurrency = 3});
  ASSERT_TRUE(batch && batch->halt);
  EXPECT_EQ(batch->halt, StepEnd(ended::Halted{.reason = "r0", .result = {{"i", 0}}, .tool_call_id = "c0"}));
  EXPECT_EQ(batch->messages.size(), 3U);
}

TEST(ToolRunner, EventsOfACallComeInTheirOrder) {
  EXPECT_EQ(tags_of(stream_tool_calls({call("c0", "t")}, {handled_by("t", [](const Json&) { return ok(1); })})),
            (std::vector{EventTag::tool_execution_started, EventTag::tool_execution_completed,
                         EventTag::tool_result_encoded}));
  EXPECT_EQ(tags_of(stream_tool_calls({call("c0", "t")}, {handled_by("t", [](const Json&) { return ask_user("?"); })})),
            (std::vector{EventTag::tool_execution_started, EventTag::tool_execution_completed,
                         EventTag::ask_user_requested}));
  EXPECT_EQ(tags_of(stream_tool_calls({call("c0", "t")}, {handled_by("t", [](const Json&) { return halt("own"); })})),
            (std::vector{EventTag::tool_execution_started, EventTag::tool_execution_completed, EventTag::tool_halt}));
  EXPECT_EQ(tags_of(stream_tool_calls({call("c0", "t", Json::array())},
                                      {handled_by("t", [](const Json&) { return ok(1); })})),
            (std::vector{EventTag::tool_execution_started, EventTag::tool_execution_completed,
                         EventTag::tool_result_encoded}))
      << "a call that is answered without its handler has the same events";
}

TEST(ToolRunner, StartedComesWhileTheHandlerRuns) {
  Gate may_end;
  const Tool waits = handled_by("t", [&](const Json&) {
    may_end.wait();
    return ok(1);
  });
  EventStream events = stream_tool_calls({call("c0", "t")}, {waits});
  EXPECT_EQ(events.next()->tag(), EventTag::tool_execution_started);
  EXPECT_TRUE(events.try_next().is_pending());
  may_end.open();
  EXPECT_EQ(events.next()->tag(), EventTag::tool_execution_completed);
}

TEST(ToolRunner, HandlersSeeTheirContext) {
  std::string seen;
  const Tool looks = handled_by("look", [&](const Json&, const ToolContext& context) {
    seen = context.context().dump() + context.session_id().value_or("-") + context.request_id() +
           context.tool_call().id + std::to_string(context.engine().id());
    EXPECT_FALSE(context.stop_token().stop_requested());
    EXPECT_GT(context.deadline(), std::chrono::steady_clock::now());
    return ok(1);
  });
  const Engine engine({.context = {{"from", "engine"}}});
  const auto run = [&](CallOptions options) {
    options.request_id = "rq";
    EXPECT_TRUE(run_tool_calls({call("c7", "look")}, {looks}, options, engine).has_value());
    return std::exchange(seen, "");
  };
  const std::string id = std::to_string(engine.id());
  EXPECT_EQ(run({}), R"({"from":"engine"}-rqc7)" + id);
  EXPECT_EQ(run({.context = Json({{"from", "call"}}), .session_id = "s"}), R"({"from":"call"}srqc7)" + id);
  EXPECT_EQ(run({.context = Json::object()}), R"({"from":"engine"}-rqc7)" + id) << "an empty one says nothing";
}

TEST(ToolRunner, ProgressReachesTheOptionOnTheConsumersThread) {
  std::vector<std::string> reports;
  const auto consumer = std::this_thread::get_id();
  const Tool reporting = handled_by("t", [](const Json&, const ToolContext& context) {
    context.report_progress({{"done", 1}});
    context.report_progress("half");
    return ok(1);
  });
  CallOptions options;
  options.on_tool_progress = [&](const ToolCall& about, const Json& report) {
    EXPECT_EQ(std::this_thread::get_id(), consumer);
    reports.push_back(about.id + report.dump());
  };
  ASSERT_TRUE(run_tool_calls({call("c0", "t")}, {reporting}, options).has_value());
  EXPECT_EQ(reports, (std::vector<std::string>{R"(c0{"done":1})", R"(c0"half")"}));
}

TEST(ToolRunner, OnlyTheNewestReportsAreKeptForAConsumerThatDoesNotPoll) {
  Gate reported;
  std::vector<Json> reports;
  const Tool chatty = handled_by("t", [&](const Json&, const ToolContext& context) {
    for (int i = 0; i < 1000; ++i) context.report_progress(i);
    reported.open();
    return ok(1);
  });
  CallOptions options;
  options.on_tool_progress = [&](const ToolCall&, const Json& report) { reports.push_back(report); };
  EventStream events = stream_tool_calls({call("c0", "t")}, {chatty}, options);
  EXPECT_EQ(events.next()->tag(), EventTag::tool_execution_started);
  reported.wait();
  while (events.next()) {
  }
  ASSERT_LE(reports.size(), 64U);
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.back(), 999);
}

TEST(ToolRunner, AnExceptionOfACallbackReachesTheConsumerAndEndsTheStream) {
  const Tool reporting = handled_by("t", [](const Json&, const ToolContext& context) {
    context.report_progress(1);
    return ok(1);
  });
  CallOptions options;
  options.on_tool_progress = [](const ToolCall&, const Json&) { throw std::logic_error("mine"); };
  EventStream events = stream_tool_calls({call("c0", "t")}, {reporting}, options);
  EXPECT_EQ(events.next()->tag(), EventTag::tool_execution_started);
  EXPECT_THROW(events.next(), std::logic_error);
  EXPECT_FALSE(events.next().has_event());
}

TEST(ToolRunner, InvalidOptionsAreNamed) {
  const auto batch = run_tool_calls({}, {},
                                    {.tool_timeout = std::chrono::milliseconds(0),
                                     .max_concurrency = 0,
                                     .on_tool_error = OnToolError(ToolErrorFunction())});
  ASSERT_FALSE(batch.has_value());
  const auto* error = batch.error().get_if<ValidationError>();
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->reason, ValidationError::Reason::invalid_option);
  std::vector<std::string> names;
  for (const FieldError& field : error->errors) names.push_back(to_string(field.path));
  EXPECT_EQ(names, (std::vector<std::string>{"tool_timeout", "max_concurrency", "on_tool_error"}));
}

TEST(ToolRunner, TheCollectorBuildsTheSameBatchFromTheStream) {
  const std::vector<Tool> tools = {handled_by("good", [](const Json&) { return ok({{"a", 1}}); }),
                                   handled_by("bad", [](const Json&) { return failure("no"); }),
                                   handled_by("ask", [](const Json&) { return ask_user("who?"); }),
                                   handled_by("stop", [](const Json&) { return halt("own", 5); })};
  const std::vector<ToolCall> batch_calls = {call("c0", "good"), call("c1", "bad"), call("c2", "ask"),
                                             call("c3", "stop")};
  StreamCollector collector;
  for (const Event& event : stream_tool_calls(batch_calls, tools)) collector.apply(event);
  const auto folded = run_tool_calls(batch_calls, tools);
  ASSERT_TRUE(folded.has_value());
  EXPECT_EQ(collector.tool_batch(), folded);
  EXPECT_TRUE(std::holds_alternative<ended::AskUser>(*folded->halt));
}

}  // namespace
}  // namespace allm::tool_runner_test
