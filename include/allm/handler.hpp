// Handlers: the functions that run tool calls.
//
// A handler is any callable of one of these four forms, which are distinguished at compile time:
//   (const Json& arguments)                                                    → ToolOutcome
//   (const Json& arguments, const ToolContext& context)                        → ToolOutcome
//   (const Json& arguments, ToolCompletion done)                               → void
//   (const Json& arguments, const ToolContext& context, ToolCompletion done)   → void
// The last two forms return at once and call `done` later, from any thread, when they have the answer. So a thousand
// waiting calls occupy no threads. A handler of any other form does not compile. Nor does a handler that needs an
// implicit conversion: one with the parameter (std::string), or one that returns a Json instead of ok(json).
//
// Handlers run on pool threads of the runtime, several at once: they must protect shared data. If a handler throws, its
// call fails with ToolError `handler_raised`. A tool in the worker lane runs its handler in another process; see
// allm/lane.hpp.
//
// Lifetime: a handler that is past its deadline, or whose run was dropped, still runs until it returns. It may outlive
// the run, the stream and the function that started them. So a handler must own what it uses: capture values or a
// shared_ptr. An object that is captured by reference must exist until the handler has returned, not only until the run
// has ended. Nothing waits for a late handler, not even the destructor of the Runtime.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include "allm/detail/handler_forms.hpp"
#include "allm/message.hpp"
#include "allm/tool_outcome.hpp"

namespace allm {

class Engine;

// The data for ToolContext::for_testing. Everything has a default.
struct TestContextOptions {
  ToolCall call = {};              // an empty id becomes "call_1"
  std::string tool = {};           // the name of the tool, where `call` has none
  Json context = empty_object();   // returned by context()
  const Engine* engine = nullptr;  // copied; default: an engine without an adapter
  std::optional<std::string> session_id = std::nullopt;
  std::string request_id = "test";
  std::string idempotency_key = {};
  // Default: no deadline.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop_token = {};
  std::function<void(const Json&)> on_progress = nullptr;  // called by report_progress with its argument
};

// What a handler can read about its call. It owns its data: a copy can be used in another thread, after the handler has
// returned and after the run has ended. Copying costs a reference count. Safe to use from any thread.
class ToolContext {
 public:
  // The program's own data: the first of CallOptions::context, Session::context and EngineOptions::context that is not
  // empty.
  const Json& context() const;
  const std::optional<std::string>& session_id() const;
  const std::string& request_id() const;
  const ToolCall& tool_call() const;
  // A text that is the same when this call is run again after a crash, and different for every other call. For services
  // that perform a request with the same key only once. Empty if the run has no journal (allm/session_runner.hpp). A
  // command gets it in the environment variable ALLM_IDEMPOTENCY_KEY.
  const std::string& idempotency_key() const;
  // The engine that runs the call, for handlers that call a model themselves.
  const Engine& engine() const;
  // The call's span as the text of a W3C traceparent header, for requests of the handler to other services and for runs
  // that it starts (CallOptions::traceparent). Without telemetry it is the traceparent that the run was given, if any.
  std::optional<std::string> traceparent() const;
  // Stop is requested at the deadline, and when the run is cancelled or dropped.
  std::stop_token stop_token() const;
  std::chrono::steady_clock::time_point deadline() const;
  // Reports progress to the program: to telemetry at once, and to the option `on_tool_progress` when the stream is next
  // polled. Until then, the newest 64 reports of a call are kept. A report after the end of the call is ignored.
  void report_progress(Json progress) const;

  // Makes a context without a run, with which a test can call a handler or an executor directly.
  static ToolContext for_testing(TestContextOptions options = {});

  // There is no move, only a copy, because a moved-from context would be empty.
  ToolContext(const ToolContext&) = default;
  ToolContext& operator=(const ToolContext&) = default;
  ~ToolContext() = default;

  class State;
  explicit ToolContext(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  friend class ToolContextAccess;
  // Shared by all copies, the runner and the timer of the deadline: any of them may be the last owner.
  std::shared_ptr<const State> state_;
};

// Answers one tool call. Safe to call from any thread. Copies answer the same call; the first answer counts. If the
// last copy is destroyed without an answer, the call fails with ToolError `invalid_return`.
class ToolCompletion {
 public:
  // Passes each answer to `function`, which returns whether it accepted the answer. For executors that inspect the
  // answers of another executor, and for tests. `function` is called once for each answer, on the thread that answers,
  // and must not throw.
  explicit ToolCompletion(std::function<bool(ToolOutcome)> function);

  // Returns whether the answer was accepted. An answer is not accepted if the call is over: it has an answer, its
  // deadline has passed, or its run was cancelled or dropped.
  bool operator()(ToolOutcome outcome) const;

  class Sink {
   public:
    virtual ~Sink() = default;
    virtual bool complete(ToolOutcome outcome) = 0;
  };
  explicit ToolCompletion(std::shared_ptr<Sink> sink) : sink_(std::move(sink)) {}

 private:
  std::shared_ptr<Sink> sink_;  // shared by the copies
};

// A handler of any of the forms above. Cheap to copy. Copies share the callable, which is called through a const
// reference, by several threads at once.
class Handler {
 public:
  Handler() = default;
  Handler(std::nullptr_t) {}
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, Handler>)
  Handler(F&& function) {
    using Function = std::decay_t<F>;
    static_assert(detail::HandlerOf<Function, Json>,
                  "a handler is a const callable of one of four forms: "
                  "(const Json& arguments) -> ToolOutcome; "
                  "(const Json& arguments, const ToolContext& context) -> ToolOutcome; "
                  "(const Json& arguments, ToolCompletion done) -> void; "
                  "(const Json& arguments, const ToolContext& context, ToolCompletion done) -> void. "
                  "The arguments are a Json and nothing that a Json converts to; "
                  "return ok(value), failure(reason), ask_user(question) or halt(reason)");
    if constexpr (detail::HandlerOf<Function, Json>) {
      call_ = std::make_shared<const CallOf<Function>>(std::forward<F>(function));
    }
  }

  explicit operator bool() const { return call_ != nullptr; }
  // Calls the handler, which must not be empty. The handler's exceptions reach the caller.
  void operator()(const Json& arguments, const ToolContext& context, ToolCompletion done) const;

 private:
  class Call {
   public:
    virtual ~Call() = default;
    virtual void run(const Json& arguments, const ToolContext& context, ToolCompletion done) const = 0;
  };
  template <class F>
  class CallOf final : public Call {
   public:
    explicit CallOf(F function) : function_(std::move(function)) {}
    void run(const Json& arguments, const ToolContext& context, ToolCompletion done) const override {
      detail::call_handler<const Json&>(function_, arguments, context, std::move(done));
    }

   private:
    F function_;
  };

  std::shared_ptr<const Call> call_;  // shared with runs, which may outlive the program's tools
};

}  // namespace allm
