// Tools: what a model may call.
//
//   auto weather = allm::tool({
//       .name = "weather",
//       .description = "Current weather of a city.",
//       .schema = {{"type", "object"}, {"properties", {{"city", {{"type", "string"}}}}}},
//       .handler = [](const Json& arguments) { return allm::ok({{"temperature", 21}}); },
//   });
//
// A handler is any callable of one of these forms, told apart at compile time:
//   (const Json& arguments)                               → ToolOutcome
//   (const Json& arguments, const ToolContext& context)   → ToolOutcome
//   (const Json& arguments, ToolCompletion done)          answers later
//   (const Json& arguments, const ToolContext& context, ToolCompletion done)
// Handlers run on threads of the runtime, several at once: what they share they must protect; or in processes of their
// own, see `lane`. The last two
// forms return at once and call `done` when the answer is there, from any thread, so that a
// thousand tools that wait cost no threads.
#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "allm/lane.hpp"
#include "allm/message.hpp"

namespace allm {

class Engine;

// What a handler answers.
struct ToolOk {
  Json value = null_json();
  // The answer as text, images, documents and audio. If there are any, `value` is ignored.
  std::vector<Part> parts = {};
  bool operator==(const ToolOk&) const;
};
// A failure: a value that the handler reported, or an Error of kind ToolError made by the runtime.
struct ToolFailure {
  std::variant<Json, Error> reason;
  bool reported() const;
  bool operator==(const ToolFailure&) const;
};
// Ends the run with a question for the user. `options` is an object of the program's own design.
struct AskUser {
  std::string question = {};
  Json options = empty_object();
  bool operator==(const AskUser&) const;
};
// Ends the run with a reason of the handler's own. Reserved reasons are refused; see
// is_reserved_halt_reason.
struct Halt {
  std::string reason = {};
  Json result = null_json();
  bool operator==(const Halt&) const;
};
using ToolOutcome = std::variant<ToolOk, ToolFailure, AskUser, Halt>;

namespace detail {
template <class P>
concept ContentPart = std::same_as<P, TextPart> || std::same_as<P, ImagePart> || std::same_as<P, FilePart> ||
                      std::same_as<P, AudioPart> || std::same_as<P, Part>;
}  // namespace detail

ToolOutcome ok(Json value);
// An answer in parts: ok(TextPart{"The chart:"}, ImagePart{image}). With media among them, the tool message has these
// parts as its content; texts alone are joined by newlines. Encoders are not asked.
template <detail::ContentPart First, detail::ContentPart... Rest>
ToolOutcome ok(First first, Rest... rest) {
  ToolOk outcome;
  outcome.parts.emplace_back(std::move(first));
  (outcome.parts.emplace_back(std::move(rest)), ...);
  return outcome;
}
template <std::same_as<std::vector<Part>> Parts>
ToolOutcome ok(Parts parts) {
  ToolOk outcome;
  outcome.parts = std::move(parts);
  return outcome;
}
ToolOutcome failure(Json reason);
ToolOutcome ask_user(std::string question, Json options = empty_object());
ToolOutcome halt(std::string reason, Json result = null_json());

// Reasons that only the runtime may give: ask_user, max_turns, halt_when, tool_error, cancelled,
// completed, error, manual_tool_calls, run_timeout, max_total_tokens, max_cost, max_tool_calls,
// max_repeated_failures.
bool is_reserved_halt_reason(std::string_view reason);

// What a handler is told about its call. What it shows stays valid while the handler may still answer,
// even after its deadline; a handler that answers later keeps a copy of it, not the reference. Safe to
// use from any thread.
class ToolContext {
 public:
  // The program's own data: the first non-empty of call option, session and engine.
  const Json& context() const;
  const std::optional<std::string>& session_id() const;
  const std::string& request_id() const;
  const ToolCall& tool_call() const;
  // The engine that runs the call, for handlers that call a model themselves.
  const Engine& engine() const;
  // The call's span as the text of a W3C traceparent header, for what the handler calls: other services, or runs of its
  // own (CallOptions::traceparent). Without telemetry it is the traceparent that the run was given, if any.
  std::optional<std::string> traceparent() const;
  // Asked to stop at the deadline, and when the run is dropped.
  std::stop_token stop_token() const;
  std::chrono::steady_clock::time_point deadline() const;
  // Tells the program how far the call has come: telemetry sees it at once, the option
  // `on_tool_progress` when the stream is next polled. Only the newest reports are kept for a
  // consumer that does not poll. Ignored once the call is over.
  void report_progress(Json progress) const;

  class Impl;
  explicit ToolContext(const Impl* impl) : impl_(impl) {}

 private:
  const Impl* impl_;
};

// Answers one tool call, from any thread. Copies answer the same call; the first answer counts.
// When the last copy goes without an answer the call fails with ToolError `invalid_return`.
class ToolCompletion {
 public:
  // Whether the answer was taken: not if the call is over, by an earlier answer, its deadline or
  // because the run was dropped.
  bool operator()(ToolOutcome outcome) const;

  class Sink {
   public:
    virtual ~Sink() = default;
    virtual bool complete(ToolOutcome outcome) = 0;
  };
  explicit ToolCompletion(std::shared_ptr<Sink> sink) : sink_(std::move(sink)) {}

 private:
  std::shared_ptr<Sink> sink_;
};

namespace detail {
template <class F>
concept PlainHandler = std::is_invocable_r_v<ToolOutcome, const F&, const Json&>;
template <class F>
concept ContextHandler = std::is_invocable_r_v<ToolOutcome, const F&, const Json&, const ToolContext&>;
template <class F>
concept LateHandler = std::is_invocable_v<const F&, const Json&, ToolCompletion> && !ContextHandler<F>;
template <class F>
concept LateContextHandler = std::is_invocable_v<const F&, const Json&, const ToolContext&, ToolCompletion>;
template <class F>
concept AnyHandler = PlainHandler<F> || ContextHandler<F> || LateHandler<F> || LateContextHandler<F>;
}  // namespace detail

// A handler of any of the forms above. Cheap to copy; copies share the callable, which is called
// through a const reference from several threads at once.
class Handler {
 public:
  Handler() = default;
  Handler(std::nullptr_t) {}
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, Handler> && detail::AnyHandler<std::decay_t<F>>)
  Handler(F&& function) : call_(std::make_shared<const CallOf<std::decay_t<F>>>(std::forward<F>(function))) {}

  explicit operator bool() const { return call_ != nullptr; }
  // Calls the handler. Its exceptions pass through.
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
      if constexpr (detail::PlainHandler<F>) {
        done(function_(arguments));
      } else if constexpr (detail::ContextHandler<F>) {
        done(function_(arguments, context));
      } else if constexpr (detail::LateHandler<F>) {
        function_(arguments, std::move(done));
      } else {
        function_(arguments, context, std::move(done));
      }
    }

   private:
    F function_;
  };

  std::shared_ptr<const Call> call_;
};

// A tool. What runs it (handler, lane, limits, command) does not survive JSON; two tools are equal if all else is.
struct Tool {
  std::string name = {};
  std::string description = {};
  // JSON Schema of the arguments, which are always an object.
  Json schema = empty_object();
  Handler handler = {};
  // Never run by the loop: its calls are handed to the program.
  bool manual = false;
  // Sent to the model in short form, with the full one on request through `tool_help`. Saves
  // input tokens where many tools are declared and few are used.
  bool compact = false;
  std::optional<std::string> summary = std::nullopt;  // the short form's text; default: first sentence
  // Check arguments against the schema before the handler sees them.
  bool validate_arguments = true;
  // How long a call may take; default: the run's `tool_timeout`.
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;
  // Where the handler runs. In a worker it is the one that run_as_worker_if_asked was given under this name.
  Lane lane = Lane::thread;
  // The program that is run instead of a handler.
  std::optional<Command> command = std::nullopt;
  // For workers and commands.
  ToolLimits limits = {};
  Json metadata = empty_object();
  Json unknown_fields = null_json();

  friend bool operator==(const Tool& a, const Tool& b);
};

// The same tool: reads well at the place where a tool is declared.
Tool tool(Tool declaration);

}  // namespace allm
