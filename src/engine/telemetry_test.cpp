#include "allm/telemetry.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"
#include "allm/session_ops.hpp"

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
                             "step.start",    "generate.start", "stream.start",   "stream.exception", "stream.retry",
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
    if (record.name == "allm.stream.retry") {
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

TEST(Telemetry, AMessageThatBreaksEndsTheCallButNotTheRunWithAnError) {
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
      // Those of one run come one after the other.
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
  EXPECT_NE(all.find("allm.stream.retry request_id=rq model=m error=AdapterError.rate_limited attempt=1 delay_ms=1 "
                     "reason=rate_limited"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("allm.chat.stop request_id=rq model=m halted_reason=error steps=2"), std::string::npos) << all;
}

}  // namespace
}  // namespace allm::telemetry_test
