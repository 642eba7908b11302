#include "allm/telemetry.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"
#include "allm/session_ops.hpp"
#include "allm/tool_runner.hpp"

#include "runtime/test_waits.hpp"

namespace allm::telemetry_test {
namespace {

using std::chrono::milliseconds;
using Reason = AdapterError::Reason;

const FakeCallScript kAnswer = {fake_text("secret answer"), fake_finish(FinishReason::stop)};
const FakeCallScript kCallsTool = {fake_tool_call("c0", "t", {{"key", "secret argument"}}),
                                   fake_finish(FinishReason::tool_calls)};
const FakeCallScript kRefused = {fake_preflight_error(Reason::rate_limited)};

std::vector<Tool> tools() {
  return {{.name = "t", .handler = [](const Json&, const ToolContext& context) {
             context.report_progress({{"note", "secret progress"}});
             return ok("secret result");
           }}};
}

struct Rig {
  explicit Rig(FakeScript script, std::vector<Tool> engine_tools = tools())
      : telemetry(std::make_shared<CollectingTelemetry>()),
        engine({.adapter = fake(std::move(script)),
                .model = "m",
                .tools = std::move(engine_tools),
                .retry = {.base_delay = milliseconds(1), .jitter = milliseconds(0)},
                .telemetry = telemetry}) {}
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& record : telemetry->records()) list.push_back(record.name.substr(5));
    return list;
  }
  std::shared_ptr<CollectingTelemetry> telemetry;
  Engine engine;
};

TEST(Telemetry, SpansOfAChatNestInOrderUnderOneRequestId) {
  const Rig rig({kCallsTool, kRefused, kAnswer});
  ASSERT_TRUE(chat(rig.engine, {user("hi")}).has_value());
  EXPECT_EQ(rig.names(), (std::vector<std::string>{
                             "chat.start",    "step.start",     "generate.start", "stream.start",     "stream.stop",
                             "generate.stop", "tool.start",     "tool.progress",  "tool.stop",        "step.stop",
                             "step.start",    "generate.start", "stream.start",   "stream.exception", "adapter.retry",
                             "stream.start",  "stream.stop",    "generate.stop",  "step.stop",        "chat.stop"}));
  std::set<std::string> ids;
  for (const auto& record : rig.telemetry->records()) {
    ids.insert(record.request_id);
    EXPECT_EQ(record.model, "m") << record.name;
  }
  ASSERT_EQ(ids.size(), 1U);
  EXPECT_EQ(ids.begin()->size(), 22U);
}

TEST(Telemetry, ARetrySaysWhichAttemptFailedWhyAndHowLongItWaits) {
  const Rig rig({kRefused, kAnswer});
  ASSERT_TRUE(chat(rig.engine, {user("hi")}).has_value());
  for (const auto& record : rig.telemetry->records()) {
    if (record.name == "allm.adapter.retry") {
      EXPECT_EQ(record.detail, Json({{"attempt", 1}, {"delay_ms", 1}, {"reason", "rate_limited"}}));
      EXPECT_EQ(record.error_reason, "rate_limited");
    }
    if (record.name == "allm.stream.exception") {
      EXPECT_EQ(record.detail, Json({{"kind", "error"}}));
    }
  }
}

TEST(Telemetry, AFailedRunEndsItsSpansWithTheError) {
  const Rig rig({{fake_preflight_error(Reason::authentication_failed)}});
  ASSERT_FALSE(chat(rig.engine, {user("hi")}).has_value());
  EXPECT_EQ(rig.names(),
            (std::vector<std::string>{"chat.start", "step.start", "generate.start", "stream.start", "stream.exception",
                                      "generate.exception", "step.exception", "chat.exception"}));
  for (const auto& record : rig.telemetry->records()) {
    if (record.name.ends_with("exception")) {
      EXPECT_EQ(record.error_reason, "authentication_failed");
    }
  }
}

TEST(Telemetry, AnInterruptedMessageEndsTheCallButNotTheRunWithAnError) {
  const Rig rig({{fake_text("par"), fake_error(Reason::network_error)}});
  ASSERT_TRUE(chat(rig.engine, {user("hi")}).has_value());
  EXPECT_EQ(rig.names(),
            (std::vector<std::string>{"chat.start", "step.start", "generate.start", "stream.start", "stream.exception",
                                      "generate.exception", "step.stop", "chat.stop"}));
}

TEST(Telemetry, ADroppedRunEndsItsSpansFromTheInsideOut) {
  const Rig rig({{fake_text("a"), fake_delay(std::chrono::hours(1))}});
  EventStream events = stream(rig.engine, {user("hi")});
  events.next();
  events.next();
  events.drop();
  EXPECT_EQ(rig.names(),
            (std::vector<std::string>{"chat.start", "step.start", "generate.start", "stream.start", "stream.exception",
                                      "generate.exception", "step.exception", "chat.exception"}));
  for (const auto& record : rig.telemetry->records()) {
    if (record.name.ends_with("exception")) {
      EXPECT_EQ(record.detail, Json({{"kind", "cancelled"}}));
    }
  }
}

TEST(Telemetry, ADroppedToolCallEndsItsSpanAsCancelled) {
  const auto may_end = std::make_shared<testing::Gate>();
  const Rig rig({kCallsTool}, {{.name = "t", .handler = [may_end](const Json&) {
                                  may_end->wait();
                                  return ok(1);
                                }}});
  EventStream events = stream(rig.engine, {user("hi")});
  while (events.next()->tag() != EventTag::tool_execution_started) {
  }
  events.drop();
  std::vector<std::string> names = rig.names();
  ASSERT_GE(names.size(), 3U);
  EXPECT_EQ((std::vector<std::string>{names.end() - 3, names.end()}),
            (std::vector<std::string>{"tool.exception", "step.exception", "chat.exception"}));
  may_end->open();
}

TEST(Telemetry, ATimeoutEndsTheToolsSpanAndALateAnswerIsReported) {
  const auto may_end = std::make_shared<testing::Gate>();
  const auto entered = std::make_shared<testing::Gate>();
  const Rig rig({kCallsTool, kAnswer}, {{.name = "t", .handler = [may_end, entered](const Json&) {
                                           entered->open();
                                           may_end->wait();
                                           return ok(1);
                                         }}});
  ASSERT_TRUE(chat(rig.engine, {user("hi")}, {.tool_timeout = milliseconds(200)}).has_value());
  const bool ran = entered->is_open();
  may_end->open();
  if (!ran) GTEST_SKIP() << "the call timed out before it had a thread";
  const auto late = [&] {
    for (const auto& record : rig.telemetry->records()) {
      if (record.name == "allm.tool.late") return true;
    }
    return false;
  };
  testing::eventually(late, "the late answer");
  std::vector<std::string> of_tool;
  for (const auto& record : rig.telemetry->records()) {
    if (record.tool != "t") continue;
    of_tool.push_back(record.name);
    EXPECT_EQ(record.tool_call_id, "c0");
    if (record.name == "allm.tool.exception") {
      EXPECT_EQ(record.error_reason, "timeout");
      EXPECT_EQ(record.detail, Json({{"kind", "timeout"}}));
      EXPECT_EQ(record.duration, milliseconds(200));
    }
  }
  EXPECT_EQ(of_tool, (std::vector<std::string>{"allm.tool.start", "allm.tool.exception", "allm.tool.late"}));
}

TEST(Telemetry, AThrowingHandlerIsANormalStop) {
  const Rig rig({kCallsTool, kAnswer},
                {{.name = "t", .handler = [](const Json&) -> ToolOutcome { throw std::runtime_error("x"); }}});
  ASSERT_TRUE(chat(rig.engine, {user("hi")}).has_value());
  const auto names = rig.names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "tool.stop"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "tool.exception"), 0);
}

TEST(Telemetry, TheCallersRequestIdIsUsed) {
  const Rig rig({kAnswer});
  const auto turn = session_reply(rig.engine, Session{.id = "s"}, "hi", {.request_id = "mine"});
  ASSERT_TRUE(turn.has_value());
  for (const auto& record : rig.telemetry->records()) EXPECT_EQ(record.request_id, "mine");
  EXPECT_EQ(turn->result.final_response->request_id, "mine");
}

TEST(Telemetry, StopsCarryTheResults) {
  class Sink : public Telemetry {
   public:
    void on_event(const TelemetryEvent& event) override {
      if (event.phase != SpanPhase::stop) return;
      if (event.span == SpanKind::step) steps += event.step != nullptr ? 1 : 0;
      if (event.span == SpanKind::chat) chats += event.chat != nullptr && event.chat->steps.size() == 2 ? 1 : 0;
      if (event.span == SpanKind::tool) tools += event.outcome != nullptr && event.tool != nullptr ? 1 : 0;
      // No lock: events of one run come one after the other.
      if (event.span == SpanKind::generate && event.response != nullptr) responses.push_back(*event.response);
    }
    std::atomic<int> steps = 0;
    std::atomic<int> chats = 0;
    std::atomic<int> tools = 0;
    std::vector<Response> responses;
  };
  const auto sink = std::make_shared<Sink>();
  const Engine engine({.adapter = fake({kCallsTool, kAnswer}), .tools = tools(), .telemetry = sink});
  const auto result = chat(engine, {user("hi")});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(sink->steps, 2);
  EXPECT_EQ(sink->chats, 1);
  EXPECT_EQ(sink->tools, 1);
  ASSERT_EQ(sink->responses.size(), 2U);
  EXPECT_EQ(sink->responses[0], result->steps[0].response);
  EXPECT_EQ(sink->responses[1], result->steps[1].response);
  sink->responses.clear();
  const auto response = generate(Engine({.adapter = fake({kAnswer}), .telemetry = sink}), {.messages = {user("hi")}});
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(sink->responses, std::vector{*response});
}

TEST(LogTelemetry, WritesALinePerEventWithoutTheUsersData) {
  std::vector<std::string> lines;
  const auto log = std::make_shared<LogTelemetry>([&](const std::string& line) { lines.push_back(line); });
  const Engine engine({.adapter = fake({kRefused, kCallsTool, {fake_text("x"), fake_error(Reason::timeout)}}),
                       .model = "m",
                       .tools = tools(),
                       .retry = {.base_delay = milliseconds(1), .jitter = milliseconds(0)},
                       .telemetry = log});
  ASSERT_TRUE(chat(engine, {user("secret question")}, {.request_id = "rq"}).has_value());
  ASSERT_FALSE(lines.empty());
  std::string all;
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_NE(line.find("request_id=rq"), std::string::npos) << line;
    all += line + "\n";
  }
  EXPECT_EQ(all.find("secret"), std::string::npos) << all;
  EXPECT_NE(all.find("allm.tool.stop request_id=rq model=m tool=t tool_call_id=c0 duration_us="), std::string::npos)
      << all;
  EXPECT_NE(all.find("allm.adapter.retry request_id=rq model=m error=AdapterError.rate_limited attempt=1 delay_ms=1 "
                     "reason=rate_limited"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("allm.chat.stop request_id=rq model=m halted_reason=error steps=2"), std::string::npos) << all;
}

const std::string kCaller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(Spans, ARunIsATreeOfOneTrace) {
  const Rig rig({kCallsTool, kRefused, kAnswer});
  ASSERT_TRUE(chat(rig.engine, {user("hi")}).has_value());
  EXPECT_EQ(rig.telemetry->tree(), R"(chat
  step
    generate m
      stream
    tool t
      - tool.progress
  step
    generate m
      stream: rate_limited
      - adapter.retry
      stream
)");
  std::set<std::string> traces;
  for (const auto& record : rig.telemetry->records()) {
    traces.insert(to_hex(record.trace_id));
    EXPECT_TRUE(record.span_id.is_set()) << record.name;
    EXPECT_EQ(record.parent_span_id.is_set(), record.span != SpanKind::chat) << record.name;
    EXPECT_EQ(record.engine_id, rig.engine.id());
    EXPECT_FALSE(record.session_id.has_value());
  }
  EXPECT_EQ(traces.size(), 1U);
  EXPECT_NE(*traces.begin(), std::string(32, '0'));
}

TEST(Spans, TwoRunsHaveTwoTraces) {
  const Rig rig({kAnswer, kAnswer});
  ASSERT_TRUE(chat(rig.engine, {user("hi")}).has_value());
  ASSERT_TRUE(chat(rig.engine, {user("hi")}).has_value());
  const auto records = rig.telemetry->records();
  EXPECT_NE(records.front().trace_id, records.back().trace_id);
}

TEST(Spans, TheOutermostSpanIsAChildOfTheCallers) {
  const Rig rig({kAnswer, kAnswer, kAnswer});
  const CallOptions options{.traceparent = kCaller};
  ASSERT_TRUE(chat(rig.engine, {user("hi")}, options).has_value());
  ASSERT_TRUE(step(rig.engine, {user("hi")}, options).has_value());
  ASSERT_TRUE(generate(rig.engine, {.messages = {user("hi")}}, options).has_value());
  ASSERT_TRUE(run_tool_calls({{.id = "c0", .name = "t"}}, tools(), options, rig.engine).has_value());
  EXPECT_EQ(rig.telemetry->tree(),
            "chat\n  step\n    generate m\n      stream\n"
            "step\n  generate m\n    stream\n"
            "generate m\n  stream\n"
            "tool t\n  - tool.progress\n");
  std::vector<SpanKind> children_of_the_caller;
  for (const auto& record : rig.telemetry->records()) {
    EXPECT_EQ(to_hex(record.trace_id), "4bf92f3577b34da6a3ce929d0e0e4736");
    if (record.phase == SpanPhase::start && to_hex(record.parent_span_id) == "00f067aa0ba902b7") {
      children_of_the_caller.push_back(record.span);
    }
  }
  EXPECT_EQ(children_of_the_caller, (std::vector{SpanKind::chat, SpanKind::step, SpanKind::generate, SpanKind::tool}));
}

TEST(Spans, ATraceparentThatIsMalformedIsAnInvalidOption) {
  const auto is_invalid = [](const auto& result) {
    const auto* invalid = result ? nullptr : result.error().template get_if<ValidationError>();
    return invalid != nullptr && invalid->reason == ValidationError::Reason::invalid_option &&
           invalid->errors == std::vector<FieldError>{{{std::string("traceparent")}, "invalid_value"}};
  };
  EXPECT_TRUE(is_invalid(chat(Engine({.adapter = fake({kAnswer})}), {user("hi")}, {.traceparent = "00-1-2-3"})));
  EXPECT_TRUE(is_invalid(call_options_from_json({{"traceparent", "00-1-2-3"}})));
  EXPECT_TRUE(is_invalid(call_options_from_json({{"traceparent", 1}})));
  const auto options = call_options_from_json({{"traceparent", kCaller}});
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->traceparent, kCaller);
}

// The traceparent that a handler gets in a run with these options.
std::optional<std::string> traceparent_in_a_handler(const std::shared_ptr<Telemetry>& telemetry,
                                                    const CallOptions& options = {}) {
  const auto seen = std::make_shared<std::optional<std::string>>();
  const Engine engine({.adapter = fake({kCallsTool, kAnswer}),
                       .tools = {{.name = "t",
                                  .handler =
                                      [seen](const Json&, const ToolContext& context) {
                                        *seen = context.traceparent();
                                        return ok(1);
                                      }}},
                       .telemetry = telemetry});
  EXPECT_TRUE(chat(engine, {user("hi")}, options).has_value());
  return *seen;
}

TEST(Spans, AHandlerGetsItsSpan) {
  const auto telemetry = std::make_shared<CollectingTelemetry>();
  const auto seen = traceparent_in_a_handler(telemetry);
  ASSERT_TRUE(seen.has_value());
  const auto parent = parse_traceparent(*seen);
  ASSERT_TRUE(parent.has_value());
  EXPECT_TRUE(parent->sampled);
  for (const auto& record : telemetry->records()) {
    EXPECT_EQ(record.trace_id, parent->trace_id);
    EXPECT_EQ(record.span_id == parent->span_id, record.span == SpanKind::tool);
  }
}

TEST(Spans, WithoutTelemetryAHandlerGetsTheCallersSpan) {
  EXPECT_EQ(traceparent_in_a_handler(nullptr), std::nullopt);
  EXPECT_EQ(traceparent_in_a_handler(nullptr, {.traceparent = kCaller}), kCaller);
}

TEST(Spans, ARunInsideAHandlerIsPartOfItsTree) {
  const auto telemetry = std::make_shared<CollectingTelemetry>();
  const Engine inner({.adapter = fake({kAnswer}), .model = "small", .telemetry = telemetry});
  const Engine outer({.adapter = fake({kCallsTool, kAnswer}),
                      .model = "m",
                      .tools = {{.name = "t",
                                 .handler =
                                     [inner](const Json&, const ToolContext& context) {
                                       return chat(inner, {user("hi")}, {.traceparent = context.traceparent()})
                                                  ? ok(1)
                                                  : failure("no");
                                     }}},
                      .telemetry = telemetry});
  ASSERT_TRUE(chat(outer, {user("hi")}).has_value());
  EXPECT_EQ(telemetry->tree(), R"(chat
  step
    generate m
      stream
    tool t
      chat
        step
          generate small
            stream
  step
    generate m
      stream
)");
}

TEST(Spans, BothPassesOfAFinalizeRunAreInOneTree) {
  const Rig rig({kAnswer, {fake_text("{}"), fake_finish(FinishReason::stop)}});
  ASSERT_TRUE(
      chat(rig.engine, {user("hi")}, {.response_format = ResponseFormat::json_object(), .structured_finalize = true})
          .has_value());
  EXPECT_EQ(rig.telemetry->tree(),
            "chat\n  step\n    generate m\n      stream\n  step\n    generate m\n      stream\n");
}

TEST(Spans, EventsOfASessionCarryItsId) {
  const Rig rig({kCallsTool, kAnswer});
  ASSERT_TRUE(session_reply(rig.engine, Session{.id = "s7"}, "hi").has_value());
  const auto records = rig.telemetry->records();
  ASSERT_FALSE(records.empty());
  for (const auto& record : records) EXPECT_EQ(record.session_id, "s7") << record.name;
}

TEST(Spans, AnOpenAndACancelledSpanShowInTheTree) {
  const Rig rig({{fake_text("a"), fake_delay(std::chrono::hours(1))}});
  EventStream events = stream(rig.engine, {user("hi")});
  events.next();
  EXPECT_EQ(rig.telemetry->tree(), "chat: open\n  step: open\n    generate m: open\n      stream: open\n");
  events.drop();
  EXPECT_EQ(rig.telemetry->tree(),
            "chat: cancelled\n  step: cancelled\n    generate m: cancelled\n      stream: cancelled\n");
  EXPECT_NE(rig.telemetry->tree({.durations = true}).find("stream: cancelled ("), std::string::npos);
}

TEST(Telemetry, ASinkThatThrowsDoesNotHurtTheRun) {
  class Thrower : public Telemetry {
   public:
    void on_event(const TelemetryEvent&) override {
      ++events;
      throw std::runtime_error("sink");
    }
    std::atomic<int> events = 0;
  };
  const auto sink = std::make_shared<Thrower>();
  const Engine engine({.adapter = fake({kCallsTool, kAnswer}), .tools = tools(), .telemetry = sink});
  const auto result = chat(engine, {user("hi")});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->text(), "secret answer");
  EXPECT_EQ(sink->events, 17);
  stream(engine, {user("hi")}).next();  // dropped in the middle
}

// A sink that is slow at the end of a tool's span.
class SlowSink : public Telemetry {
 public:
  void on_event(const TelemetryEvent& event) override {
    if (event.span == SpanKind::tool && event.phase == SpanPhase::stop) {
      stopping.open();
      dropping.wait();
      for (int i = 0; i < 10'000; ++i) std::this_thread::yield();
    }
    const std::lock_guard lock(mutex);
    names.push_back(name_of(event));
  }
  testing::Gate stopping;
  testing::Gate dropping;
  std::mutex mutex;
  std::vector<std::string> names;
};

TEST(Spans, OfAToolEndsBeforeItsStepEvenIfTheRunIsDropped) {
  const auto sink = std::make_shared<SlowSink>();
  const Engine engine({.adapter = fake({kCallsTool}), .tools = tools(), .telemetry = sink});
  EventStream events = stream(engine, {user("hi")});
  while (events.next()->tag() != EventTag::tool_execution_started) {
  }
  sink->stopping.wait();
  sink->dropping.open();
  events.drop();
  const std::vector<std::string> last(sink->names.end() - 3, sink->names.end());
  EXPECT_EQ(last, (std::vector<std::string>{"allm.tool.stop", "allm.step.exception", "allm.chat.exception"}));
}

TEST(LogTelemetry, IndentsTheTreeAndPrintsTheIdsOfSpans) {
  std::vector<std::string> lines;
  const auto log = std::make_shared<LogTelemetry>([&](const std::string& line) { lines.push_back(line); });
  const Engine engine({.adapter = fake({kCallsTool, kAnswer}), .tools = tools(), .telemetry = log});
  ASSERT_TRUE(chat(engine, {user("hi")}, {.session_id = "s7", .traceparent = kCaller}).has_value());
  std::vector<std::string> names;
  names.reserve(lines.size());
  for (const std::string& line : lines) {
    names.push_back(line.substr(0, line.find(" request_id")));
    EXPECT_NE(line.find(" session_id=s7 engine=" + std::to_string(engine.id()) + " trace=4bf92f3577b34da6 span="),
              std::string::npos)
        << line;
  }
  EXPECT_EQ(std::vector(names.begin(), names.begin() + 10),
            (std::vector<std::string>{"allm.chat.start", "  allm.step.start", "    allm.generate.start",
                                      "      allm.stream.start", "      allm.stream.stop", "    allm.generate.stop",
                                      "    allm.tool.start", "      allm.tool.progress", "    allm.tool.stop",
                                      "  allm.step.stop"}));
  const auto value = [&](std::size_t line, const std::string& key) {
    const std::size_t at = lines[line].find(" " + key + "=");
    return at == std::string::npos ? "" : lines[line].substr(at + key.size() + 2, 8);
  };
  EXPECT_EQ(value(0, "parent"), "00f067aa");
  EXPECT_EQ(value(1, "parent"), value(0, "span"));
  EXPECT_EQ(value(6, "parent"), value(1, "span"));
  EXPECT_EQ(value(8, "span"), value(6, "span"));
}

}  // namespace
}  // namespace allm::telemetry_test
