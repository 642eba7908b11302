// CallOptions: the options of one run. Every function that runs a model or tools accepts them and ignores those that do
// not apply to it. An option that is not set comes from the request, then from EngineOptions::defaults, then from
// EngineOptions::params, then from the default given here.
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

class BudgetLedger;

// What to do if a tool call fails. tell_model: report the failure to the model and go on. halt: end the run with
// halted_reason "tool_error" after the other calls of the step have finished.
enum class ToolErrorAction : std::uint8_t { tell_model, halt };

// The decision of a ToolErrorFunction. A default-constructed decision is invalid: the run halts, and the failure
// becomes ToolError `invalid_return`.
class ToolErrorDecision {
 public:
  ToolErrorDecision() = default;
  // Goes on as if the tool had returned `value`.
  static ToolErrorDecision continue_with(Json value);
  // Reports the failure to the model and goes on, as ToolErrorAction::tell_model does.
  static ToolErrorDecision tell_model();
  static ToolErrorDecision halt();

  enum class Kind : std::uint8_t { none, continue_with, tell_model, halt };
  Kind kind() const { return kind_; }
  const Json& value() const { return value_; }

 private:
  Kind kind_ = Kind::none;
  Json value_ = null_json();
};

// Called once for each failed call, on the consumer's thread. If the function throws, the run halts.
using ToolErrorFunction = std::function<ToolErrorDecision(const ToolCall&, const ToolFailure&)>;
using OnToolError = std::variant<ToolErrorAction, ToolErrorFunction>;

// What to do if the model calls a tool that does not exist. error: the step fails with EngineError `unknown_tool`.
// report: the call is a failed tool call, to which `on_tool_error` applies.
enum class OnUnknownTool : std::uint8_t { error, report };

// Stop tokens that end a run. Stop may be requested from any thread. A program may first request stop on a mild token
// (after_step) and later on a stricter one (after_tools, now). The thread of the result is always valid and can be
// continued. If stop was requested before the run begins, the model is not called. Outside the loop (generate, step) a
// cancelled model call fails with StreamError `cancelled`. A step that is cancelled during its tool calls is completed,
// and its end is ended::Cancelled.
struct Cancellation {
  // Ends the run at once. A model call is dropped and adds nothing to the conversation. Tool calls that run are
  // answered as `cancelled`: their processes are killed, or their handlers are asked to stop and not waited for. Tool
  // calls that have not started are answered as `not_run`.
  std::stop_token now = {};
  // Ends the run as `now` does, but waits for the tool calls that run, and keeps their results.
  std::stop_token after_tools = {};
  // Ends the run after the current step: after the model's message and its tool calls.
  std::stop_token after_step = {};
};

struct CallOptions {
  // --- The model ---
  std::optional<ModelRef> model = std::nullopt;
  std::optional<double> temperature = std::nullopt;
  std::optional<std::int64_t> max_tokens = std::nullopt;
  std::optional<ResponseFormat> response_format = std::nullopt;
  // A choice that forces a call (`required`, or the name of a tool) applies to the first step of the run; later steps
  // use `auto`, because a model that must always call a tool can never answer. See repeat_tool_choice.
  std::optional<ToolChoice> tool_choice = std::nullopt;
  // Whether a forced tool_choice applies to every step of the run. Default: false. The run then ends only by a limit,
  // by halt_when or by a tool.
  std::optional<bool> repeat_tool_choice = std::nullopt;
  std::optional<PromptCache> prompt_cache = std::nullopt;
  // Whether the provider is asked for a stream; see Request::stream. Default: true. A request with `stream` true leaves
  // the decision to the engine.
  std::optional<bool> stream = std::nullopt;
  // Added to the tools of the request and the engine; a tool here replaces one of the same name.
  std::vector<Tool> tools = {};
  // Further settings for the provider, by its own names. They are merged with those of the request and the engine. If a
  // name is that of an option of allm, or nearly, the run fails with an error that names the option.
  Json params = empty_object();
  // Used instead of the key that the adapter has or finds. Default: the adapter's key (allm/providers.hpp).
  ApiKey api_key = {};

  // --- The loop ---
  // manual: the loop runs no tool; every call becomes pending and the program answers it. Default: automatic.
  std::optional<Mode> mode = std::nullopt;
  // The maximum number of model calls. Default 8: enough for most agents, and a limit on the costs of an agent that
  // does not finish.
  std::optional<std::int64_t> max_turns = std::nullopt;
  // Time limit of the whole run, from the call on: model calls, waits between attempts and tool calls. When it is
  // reached, a model call is dropped, tool calls that still run time out, and the run ends with halted_reason
  // "run_timeout". Outside the loop (generate, step) a model call fails with AdapterError `timeout`. Default: no limit.
  std::optional<std::chrono::milliseconds> run_timeout = std::nullopt;
  // The next four options are limits of the whole run. A run that reaches one ends with the option's name as
  // halted_reason. They are checked after each step that another step would follow, so the tool calls of the step that
  // reaches a limit have run. max_total_tokens and max_cost are also kept before each model call: its worst case is
  // reserved, and a call that does not fit is not sent (docs/run-control.md). Default: no limits.
  std::optional<std::int64_t> max_total_tokens = std::nullopt;  // input and output, of all model calls
  // In the currency of the model's prices. A model call of unknown cost ends the run as well.
  std::optional<double> max_cost = std::nullopt;
  // Tool calls that are run. Further calls are answered as `not_run`, and the run ends.
  std::optional<std::int64_t> max_tool_calls = std::nullopt;
  // How many times in a row the same call (same name, same arguments) may fail in the same way.
  std::optional<std::int64_t> max_repeated_failures = std::nullopt;
  // Whether max_total_tokens and max_cost must hold in any case. False: a model call whose worst case is not known (the
  // model has no prices, or neither max_tokens nor an output limit in the catalogue) is sent, and the limits are
  // checked after it. True: the run fails with ValidationError `invalid_option` instead. Default: false.
  std::optional<bool> strict_limits = std::nullopt;
  // If it is set, a model call that does not fit into max_total_tokens, max_cost or `budget` is sent with a smaller
  // max_tokens that fits, but not with less than this many. At least 1; answers shorter than a few hundred tokens are
  // rarely useful. Default: the call is not sent.
  std::optional<std::int64_t> shrink_max_tokens_to = std::nullopt;
  // A budget that this run shares with others (allm/budget.hpp). A call whose worst case is not known is never sent.
  // Applies to every function that calls a model. Default: none.
  std::shared_ptr<BudgetLedger> budget = nullptr;
  // Ends the run from outside, with halted_reason "cancelled".
  Cancellation cancel = {};
  // Called after each step that another step would follow. If it returns true, the run ends. Called on the consumer's
  // thread; its exceptions reach the consumer.
  std::function<bool(const StepResult&)> halt_when = nullptr;
  // Chooses the input of the model in a step: other messages than the whole thread, other tools, another model. Called
  // before the model call of each step, on the consumer's thread; its exceptions reach the consumer. Default: the whole
  // thread.
  PrepareStep prepare_step = nullptr;
  // True: the loop runs without `response_format`, then the model is asked once more for the final answer in that
  // format. For models that cannot use tools and a schema in one call. Default: false.
  std::optional<bool> structured_finalize = std::nullopt;
  // The user message with which structured_finalize asks for the final answer. If it is empty, no message is added.
  // Default: "Give your final answer now, in the requested format."
  std::optional<std::string> structured_finalize_nudge = std::nullopt;

  // --- Tools ---
  // Time limit of one tool call. Default 30 s.
  std::optional<std::chrono::milliseconds> tool_timeout = std::nullopt;
  // The maximum number of calls of a step that run at the same time. Default: 8 or twice the number of cores, whichever
  // is more, because handlers mostly wait.
  std::optional<std::int64_t> max_concurrency = std::nullopt;
  std::optional<OnToolError> on_tool_error = std::nullopt;      // default: tell_model
  std::optional<OnUnknownTool> on_unknown_tool = std::nullopt;  // default: error
  // The approval gate, called before any call of a step runs. Default: EngineOptions::approve. If there is no gate,
  // every call is allowed.
  ApprovalGate approve = nullptr;
  std::shared_ptr<ToolExecutor> tool_executor = nullptr;             // default: the engine's
  std::shared_ptr<ToolResultEncoder> tool_result_encoder = nullptr;  // default: the engine's
  // Receives the progress that handlers report, on the consumer's thread; its exceptions reach the consumer.
  std::function<void(const ToolCall&, const Json&)> on_tool_progress = nullptr;

  // --- Events ---
  // Filters: whether the consumer gets these events. Default: true for the first three, false for raw chunks.
  std::optional<bool> emit_text_deltas = std::nullopt;
  std::optional<bool> emit_tool_deltas = std::nullopt;
  // ReasoningDelta and ReasoningCompleted. Response::reasoning has the text in any case.
  std::optional<bool> emit_reasoning = std::nullopt;
  std::optional<bool> include_raw_chunks = std::nullopt;
  // Called with every event, also with those that the filters above drop, before the consumer gets it. Called on the
  // consumer's thread; its exceptions reach the consumer.
  std::function<void(const Event&)> on_event = nullptr;

  // --- Context and ids ---
  std::optional<Json> context = std::nullopt;  // a JSON object that handlers get as ToolContext::context()
  std::optional<std::string> session_id = std::nullopt;
  std::optional<std::string> request_id = std::nullopt;  // default: 16 random bytes, base64url
  // The caller's span, in the form of a W3C traceparent header ("00-<trace id>-<span id>-01"): telemetry uses its trace
  // id, and the run's outermost span is its child. It is not sent to providers. Default: each run has a trace of its
  // own.
  std::optional<std::string> traceparent = std::nullopt;
};

// Returns options with nothing set, the default argument of many functions. It is used instead of `{}` so that files
// which include the declarations of these functions do not instantiate CallOptions.
const CallOptions& default_options();

// Reads options from a JSON object. The members have the names above, except `tool_timeout_ms` and `run_timeout_ms`.
// `params`, `tools`, `api_key`, stop tokens, callbacks and pointers have no JSON form. Fails with ValidationError
// `invalid_option` that names each option which is unknown or has an invalid value.
Result<CallOptions> call_options_from_json(const Json& json);

}  // namespace allm
