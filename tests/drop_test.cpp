// Drops streams after every event: nothing continues to run, nothing leaks.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

#include "runtime/test_waits.hpp"

namespace allm::drop_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::eventually;

// Counts the opened streams. The fake adapter inside counts the destroyed ones.
class CountingAdapter : public Adapter {
 public:
  explicit CountingAdapter(FakeScript script) : fake_(fake(std::move(script))) {}
  std::string_view provider() const override { return "counting"; }
  Result<std::unique_ptr<EventSource>> open(const AdapterCall& call) override {
    auto source = fake_->open(call);
    if (source) ++opened_;
    return source;
  }
  std::size_t opened() const { return opened_; }
  std::size_t closed() const { return fake_->closed(); }

 private:
  std::shared_ptr<FakeAdapter> fake_;
  std::atomic<std::size_t> opened_ = 0;
};

// One interface for all kinds of streams.
class AnyStream {
 public:
  AnyStream(EventStream stream) : events_(std::move(stream)) {}
  template <class T>
  AnyStream(ResultStream<T> stream) : events_(std::move(stream)) {}
  AnyStream(SessionStream stream) : session_(std::move(stream)) {}
  Poll next(std::chrono::steady_clock::time_point deadline) {
    return session_ ? session_->next(deadline) : events_.next(deadline);
  }
  Poll try_next() { return session_ ? session_->try_next() : events_.try_next(); }

 private:
  EventStream events_;
  std::optional<SessionStream> session_;
};

struct Case {
  std::string name;
  FakeScript script;
  CallOptions options = {};
  std::function<AnyStream(const Engine&, const CallOptions&)> open = {};
  // The number of events after which the run waits until it is dropped; nullopt if the run ends by itself.
  std::optional<std::size_t> waits_after = std::nullopt;
  // The number of handlers that run at that time.
  std::size_t handlers = 0;
  RetryPolicy retry = {.base_delay = milliseconds(1), .jitter = milliseconds(0)};
};

// The runtime, adapter and engine of a case.
struct World {
  explicit World(const Case& test)
      : runtime(Runtime::create({.idle_timeout = milliseconds(1)})),
        adapter(std::make_shared<CountingAdapter>(test.script)),
        engine({.adapter = adapter, .tools = tools(), .retry = test.retry, .runtime = runtime}) {}

  std::vector<Tool> tools() {
    auto in = entered;
    return {{.name = "quick", .handler = [](const Json& arguments) { return ok(arguments); }},
            {.name = "fails", .handler = [](const Json&) { return failure("no"); }},
            {.name = "asks", .handler = [](const Json&) { return ask_user("who?"); }},
            {.name = "halts", .handler = [](const Json&) { return halt("own", 1); }},
            {.name = "manual", .manual = true},
            // Returns after the call was asked to stop.
            {.name = "waits",
             .handler =
                 [in](const Json&, const ToolContext& context) {
                   testing::Gate asked;
                   const std::stop_callback callback(context.stop_token(), [&] { asked.open(); });
                   in->add();
                   asked.wait();
                   return ok("stopped");
                 }},
            // Answers on the thread that asks the call to stop.
            {.name = "answers_later", .handler = [in](const Json&, const ToolContext& context, ToolCompletion done) {
               struct Waiting {
                 Waiting(std::stop_token token, ToolCompletion completion)
                     : done(std::move(completion)), callback(std::move(token), Answer{this}) {}
                 struct Answer {
                   Waiting* waiting;
                   void operator()() const { (*waiting->done)(ok("late")); }
                 };
                 std::optional<ToolCompletion> done;
                 std::stop_callback<Answer> callback;
               };
               // The handler keeps the completion until the call was asked to stop.
               Waiting waiting(context.stop_token(), std::move(done));
               in->add();
               testing::Gate asked;
               const std::stop_callback last(context.stop_token(), [&] { asked.open(); });
               asked.wait();
             }}};
  }

  std::shared_ptr<testing::Counter> entered = std::make_shared<testing::Counter>();
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<CountingAdapter> adapter;
  Engine engine;
};

FakeEntry tool_call(const std::string& id, const std::string& name) { return fake_tool_call(id, name, {{"x", 1}}); }
const FakeEntry kRunTools = fake_finish(FinishReason::tool_calls);
const FakeCallScript kAnswer = {fake_text("all "), fake_text("done"), fake_finish(FinishReason::stop)};

AnyStream open_generate(const Engine& engine, const CallOptions& options) {
  return stream_generate(engine, {.messages = {user("hi")}}, options);
}
AnyStream open_step(const Engine& engine, const CallOptions& options) {
  return stream_step(engine, {user("hi")}, options);
}
AnyStream open_chat(const Engine& engine, const CallOptions& options) { return stream(engine, {user("hi")}, options); }
AnyStream open_session(const Engine& engine, const CallOptions& options) {
  return session_stream_reply(engine, Session{.id = "s"}, "hi", options);
}
AnyStream open_session_step(const Engine& engine, const CallOptions& options) {
  return session_stream_step(engine, Session{.thread = {user("hi")}}, options);
}
AnyStream open_batch(const Engine& engine, const CallOptions& options) {
  return stream_tool_calls({{.id = "a", .name = "quick"}, {.id = "b", .name = "fails"}, {.id = "c", .name = "quick"}},
                           engine.tools(), options, engine);
}
AnyStream open_waiting_batch(const Engine& engine, const CallOptions& options) {
  return stream_tool_calls({{.id = "a", .name = "waits"}, {.id = "b", .name = "waits"}, {.id = "c", .name = "waits"}},
                           engine.tools(), options, engine);
}

CallOptions finalizing() {
  return {.response_format = ResponseFormat::json_schema("answer", {{"type", "object"}}), .structured_finalize = true};
}

std::vector<Case> cases() {
  const FakeCallScript tools = {fake_text("let me see"), tool_call("c0", "quick"), tool_call("c1", "fails"), kRunTools};
  const FakeCallScript waiting = {tool_call("c0", "waits"), tool_call("c1", "quick"), tool_call("c2", "waits"),
                                  kRunTools};
  const FakeEntry overloaded = fake_preflight_error(AdapterError::Reason::rate_limited);
  const FakeEntry broken = fake_error(AdapterError::Reason::network_error);
  return {
      {"text", {kAnswer}, {}, open_chat},
      {"text, one call", {kAnswer}, {}, open_generate},
      {"a step", {tools}, {}, open_step},
      {"tools", {tools, tools, kAnswer}, {.max_concurrency = 2}, open_chat},
      {"a session", {tools, kAnswer}, {}, open_session},
      {"a session's step", {tools}, {}, open_session_step},
      {"a batch", {}, {.max_concurrency = 1}, open_batch},
      {"a question", {{tool_call("c0", "asks"), tool_call("c1", "manual"), kRunTools}}, {}, open_session},
      {"a halt", {{tool_call("c0", "halts"), tool_call("c1", "quick"), kRunTools}}, {}, open_chat},
      {"manual calls", {{tool_call("c0", "manual"), tool_call("c1", "quick"), kRunTools}}, {}, open_chat},
      {"an unknown tool", {{tool_call("c0", "nobody"), kRunTools}}, {}, open_chat},
      {"a broken message", {tools, {fake_text("so f"), broken}}, {}, open_chat},
      {"an exhausted script", {tools}, {}, open_chat},
      {"two passes", {tools, kAnswer, kAnswer}, finalizing(), open_chat},
      {"a second pass that fails", {kAnswer, {overloaded}}, finalizing(), open_chat, {}, 0, RetryPolicy::off()},
      {"short delays", {{fake_delay(milliseconds(1)), fake_text("a"), fake_delay(milliseconds(1))}}, {}, open_generate},
      {"retries", {{overloaded}, {overloaded}, kAnswer}, {}, open_chat},
      {"a pending delay", {{fake_text("a"), fake_delay(hours(1)), fake_text("b")}}, {}, open_chat, 2},
      {"a delay in the second turn", {tools, {fake_delay(hours(1))}}, {.max_concurrency = 1}, open_session, 16},
      {"a pending retry", {{overloaded}, kAnswer}, {}, open_chat, 0, 0, {.base_delay = hours(1)}},
      {"a pending retry in the second turn",
       {tools, {overloaded}},
       {.max_concurrency = 1},
       open_chat,
       15,
       0,
       {.base_delay = hours(1)}},
      {"running tools", {waiting}, {.max_concurrency = 3}, open_chat, 13, 2},
      {"tools that wait for their turn", {waiting}, {.max_concurrency = 1}, open_session, 9, 1},
      {"a running batch", {}, {.max_concurrency = 2}, open_waiting_batch, 2, 2},
      {"tools that answer later",
       {{tool_call("c0", "answers_later"), tool_call("c1", "answers_later"), kRunTools}},
       {.max_concurrency = 2},
       open_chat,
       8,
       2},
  };
}

// The number of events until the end, or until the run waits until it is dropped.
std::size_t count_events(const Case& test) {
  World world(test);
  AnyStream events = test.open(world.engine, test.options);
  std::size_t count = 0;
  const auto deadline = std::chrono::steady_clock::now() + testing::kWatchdog;
  while (count != test.waits_after) {
    Poll polled = events.next(deadline);
    if (polled.is_end()) break;
    if (polled.is_pending()) testing::give_up("an event");
    ++count;
  }
  return count;
}

enum class How { after_the_event, while_waiting_for_the_next, with_handlers_inside };

void drop_after(const Case& test, std::size_t count, How how) {
  SCOPED_TRACE(test.name + ", dropped after " + std::to_string(count) + " events, way " +
               std::to_string(static_cast<int>(how)));
  World world(test);
  {
    AnyStream events = test.open(world.engine, test.options);
    const auto deadline = std::chrono::steady_clock::now() + testing::kWatchdog;
    for (std::size_t i = 0; i < count; ++i) {
      if (!events.next(deadline).has_event()) testing::give_up("an event");
    }
    if (how != How::after_the_event) (void)events.try_next();
    if (how == How::with_handlers_inside) world.entered->wait_for(test.handlers);
  }
  // Streams are destroyed at once; handlers return later, after they were asked to stop.
  EXPECT_EQ(world.adapter->closed(), world.adapter->opened());
  eventually(
      [&] {
        const RuntimeStats stats = world.runtime->stats();
        return stats.running == 0 && stats.queued == 0 && stats.set_aside == 0;
      },
      "the end of the handlers");
  eventually([&] { return world.runtime->stats().threads == 0; }, "the end of the threads");
}

TEST(Drop, AfterAnyEventLeavesNothingBehind) {
  for (const Case& test : cases()) {
    const std::size_t events = count_events(test);
    ASSERT_EQ(events, test.waits_after.value_or(events)) << test.name;
    for (std::size_t count = 0; count <= events; ++count) {
      drop_after(test, count, How::after_the_event);
      drop_after(test, count, How::while_waiting_for_the_next);
      if (HasFatalFailure()) return;
    }
    if (test.handlers > 0) drop_after(test, events, How::with_handlers_inside);
  }
}

TEST(Drop, OfASessionStreamKeepsTheMessageAndEveryFinishedStep) {
  const Case test{"", {{tool_call("c0", "quick"), kRunTools}, kAnswer}};
  for (std::size_t count = 0;; ++count) {
    World world(test);
    SessionStream events = session_stream_reply(world.engine, Session{.id = "s"}, "hi");
    std::size_t steps = 0;
    bool ended = false;
    for (std::size_t i = 0; i < count && !ended; ++i) {
      const Poll event = events.next();
      if (!event) break;
      if (event->tag() == EventTag::step_completed) ++steps;
      ended = event->tag() == EventTag::chat_completed;
    }
    events.drop();
    const Session left = events.session();
    ASSERT_GE(left.thread.messages.size(), 1U);
    EXPECT_EQ(left.thread.messages[0].text(), "hi");
    EXPECT_EQ(left.thread.messages.size(), steps == 0 ? 1U : steps == 1 ? 3U : 4U) << count;
    EXPECT_EQ(left.status, ended ? SessionStatus::completed : SessionStatus::idle) << count;
    EXPECT_TRUE(validate(left).has_value());
    if (ended) break;
  }
}

TEST(Drop, OnAnotherThreadWorksTheSame) {
  // The stream is read and dropped on a thread that did not make it.
  World world(cases()[3]);
  AnyStream events = open_chat(world.engine, {});
  (void)events.try_next();
  std::thread([moved = std::move(events)]() mutable { (void)moved.try_next(); }).join();
  EXPECT_EQ(world.adapter->closed(), world.adapter->opened());
}

TEST(Drop, OfTheRuntimeBeforeTheStreamIsHarmless) {
  // The stream keeps its runtime alive.
  auto runtime = Runtime::create();
  std::optional<Engine> engine(
      Engine({.adapter = fake({{fake_text("a"), fake_delay(milliseconds(1)), fake_text("b")}}), .runtime = runtime}));
  EventStream events = stream(*engine, {user("hi")});
  events.next();
  runtime.reset();
  engine.reset();
  std::size_t rest = 0;
  while (events.next()) ++rest;
  EXPECT_EQ(rest, 6U);
}

}  // namespace
}  // namespace allm::drop_test
