// Options of a call. Every function that runs a model or tools takes the same ones; those that do
// not apply to it are ignored. What is left out comes from the request, then from EngineOptions::defaults,
// then from EngineOptions::params, then it is the default given here.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "allm/approval.hpp"
#include "allm/event.hpp"
#include "allm/executor.hpp"
#include "allm/keys.hpp"
#include "allm/model.hpp"
#include "allm/prepare_step.hpp"
#include "allm/request.hpp"
#include "allm/tool.hpp"

namespace allm {

// What to do when a tool call fails: tell the model and go on, or end the run with halted_reason
// "tool_error" once the other calls of the turn have finished.
enum class ToolErrorAction : std::uint8_t { tell_model, halt };

// The decision of a policy function. A default-made one is no decision: the run halts, and the
// failure becomes ToolError `invalid_return`.
class ToolErrorDecision {
 public:
  ToolErrorDecision() = default;
  // Goes on with `value` as if the tool had succeeded with it.
  static ToolErrorDecision continue_with(Json value);
  // Tells the model about the failure and goes on, as ToolErrorAction::tell_model does.
  static ToolErrorDecision tell_model();
  static ToolErrorDecision halt();

  enum class Kind : std::uint8_t { none, continue_with, tell_model, halt };
  Kind kind() const { return kind_; }
  const Json& value() const { return value_; }

 private:
  Kind kind_ = Kind::none;
  Json value_ = null_json();
};

// Called once per failure, on the consumer's thread. If it throws, the run halts.
using ToolErrorFunction = std::function<ToolErrorDecision(const ToolCall&, const ToolFailure&)>;
using OnToolError = std::variant<ToolErrorAction, ToolErrorFunction>;

// What to do when the model calls a tool that does not exist: fail the step, or tell the model
// (through the error policy) and go on.
enum class OnUnknownTool : std::uint8_t { error, report };

// Tokens that end a run when they are asked to stop, from any thread. They can be asked one after the other, from mild
// to strict. The thread that is left is always valid, and can be continued. If one was asked before the run began, the
// model is not called. Where there is no loop to end, a model call fails with StreamError `cancelled`; a step that is
// cancelled during its tools is completed, with metadata {"halted_reason": "cancelled"}.
struct Cancellation {
  // At once: a model call is dropped and leaves nothing in the thread; tools that run are killed (in the thread lane:
  // asked to stop and left to themselves) and answered as `cancelled`, those that do not run yet as `not_run`.
  std::stop_token now = {};
  // As soon as no tool runs: as `now`, but that tools which run are waited for, with their results.
  std::stop_token after_tools = {};
  // When the step is over: the model's message and its tools.
  std::stop_token after_step = {};
};

struct CallOptions {
  // --- The model ---
  std::optional<ModelRef> model = std::nullopt;
  std::optional<double> temperature = std::nullopt;
  std::optional<std::int64_t> max_tokens = std::nullopt;
  std::optional<ResponseFormat> response_format = std::nullopt;
  std::optional<ToolChoice> tool_choice = std::nullopt;
  std::optional<PromptCache> prompt_cache = std::nullopt;
  // Added to those of the request and the engine; one of the same name replaces theirs.
  std::vector<Tool> tools = {};
  // Further settings for the provider, by its own names; merged with those of the request and the engine. A name that
  // is one of allm's own options, or nearly one, is an error that says which was meant.
  Json params = empty_object();
  // Instead of the one that the adapter would find.
  ApiKey api_key = {};

  // --- The loop ---
  // manual: the loop runs no tool, it hands every call to the program. Default: automatic.
  std::optional<Mode> mode = std::nullopt;
  // Model calls at the most. Default 8: enough for most agents, and a bound on what one that goes
  // in circles costs.
  std::optional<std::int64_t> max_turns = std::nullopt;
  // For the whole run, from the call on: model calls, waits between tries and tools. A model call that is not over by
  // then is dropped, and tools that still run time out; the run ends with halted_reason "run_timeout". Where there is
  // no loop to end (generate, step), a model call fails with AdapterError `timeout`. Default: no limit.
  std::optional<std::chrono::milliseconds> run_timeout = std::nullopt;
  // Limits of the whole run, each with a halted reason of its name. They are looked at after each step that would be
  // followed by another; the tools of a step that exceeds one have run. Default: none.
  std::optional<std::int64_t> max_total_tokens = std::nullopt;  // input and output, of all model calls
  // In the currency of the model's prices. A call whose cost cannot be told ends the run as well.
  std::optional<double> max_cost = std::nullopt;
  // Tools that are run; calls beyond it are answered as not run, and the run ends.
  std::optional<std::int64_t> max_tool_calls = std::nullopt;
  // How often the same call, by name and arguments, may fail in the same way in a row.
  std::optional<std::int64_t> max_repeated_failures = std::nullopt;
  // Ends the run from outside, with halted_reason "cancelled".
  Cancellation cancel = {};
  // Asked after each step that would be followed by another; true ends the run. Called on the
  // consumer's thread; its exceptions reach the consumer.
  std::function<bool(const StepResult&)> halt_when = nullptr;
  // Decides what the model is sent in a step: another view of the thread, other tools, another model. Called before the
  // model call of each step, on the consumer's thread; its exceptions reach the consumer. Default: the whole thread.
  PrepareStep prepare_step = nullptr;
  // Ask once more for the final answer in `response_format`, after a loop without it: for models
  // that cannot use tools and a schema in one call.
  std::optional<bool> structured_finalize = std::nullopt;
  // The user message that asks for it; empty for none. Default: "Give your final answer now, in the
  // requested format."
  std::optional<std::string> structured_finalize_nudge = std::nullopt;

  // --- Tools ---
  // Per call. Default 30 s.
  std::optional<std::chrono::milliseconds> tool_timeout = std::nullopt;
  // Calls of a turn that run at once. Default: as many as there are, at most 8 or twice the cores,
  // whichever is more: handlers wait more than they compute.
  std::optional<std::int64_t> max_concurrency = std::nullopt;
  std::optional<OnToolError> on_tool_error = std::nullopt;      // default: tell_model
  std::optional<OnUnknownTool> on_unknown_tool = std::nullopt;  // default: error
  // Asked before any call of a turn is run; default: the engine's, and without one every call is allowed.
  ApprovalGate approve = nullptr;
  std::shared_ptr<ToolExecutor> tool_executor = nullptr;
  std::shared_ptr<ToolResultEncoder> tool_result_encoder = nullptr;
  // Progress that handlers report, on the consumer's thread; its exceptions reach the consumer.
  std::function<void(const ToolCall&, const Json&)> on_tool_progress = nullptr;

  // --- Events ---
  // Whether the consumer sees these events. Defaults: true, true, true, false.
  std::optional<bool> emit_text_deltas = std::nullopt;
  std::optional<bool> emit_tool_deltas = std::nullopt;
  // ReasoningDelta and ReasoningCompleted. Response::reasoning has the text in any case.
  std::optional<bool> emit_reasoning = std::nullopt;
  std::optional<bool> include_raw_chunks = std::nullopt;
  // Sees every event before filters and consumer, on the consumer's thread; its exceptions reach
  // the consumer.
  std::function<void(const Event&)> on_event = nullptr;

  // --- Who and what for ---
  std::optional<Json> context = std::nullopt;  // an object, for handlers
  std::optional<std::string> session_id = std::nullopt;
  std::optional<std::string> request_id = std::nullopt;  // default: 16 random bytes, base64url
  // The span of the caller that this run is a part of, in the form of a W3C traceparent header
  // ("00-<trace id>-<span id>-01"): telemetry uses its trace id, and the run's outermost span is its child. It is not
  // sent to providers. Default: each run has a trace of its own.
  std::optional<std::string> traceparent = std::nullopt;
};

// Options with nothing set: what functions use where none are given. A function rather than `{}` in
// their declarations, which would make every user's compiler instantiate all of the above.
const CallOptions& default_options();

// Options from their JSON form, by the names above (`tool_timeout` as `tool_timeout_ms`, and so on). Functions
// have none. Fails with ValidationError `invalid_option` naming the option that is unknown or has a
// value it cannot have.
Result<CallOptions> call_options_from_json(const Json& json);

}  // namespace allm
