#include "engine/run.hpp"

#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/budget_chain.hpp"
#include "engine/engine_impl.hpp"
#include "engine/layered_options.hpp"
#include "engine/option_names.hpp"
#include "engine/request_id.hpp"
#include "runtime/deadline.hpp"
#include "runtime/runtime_impl.hpp"

namespace allm {
namespace {

constexpr std::string_view kDefaultNudge = "Give your final answer now, in the requested format.";

class OptionErrors {
 public:
  void add(const char* option, const char* message) { add({std::string(option)}, "invalid_value", message); }
  // Checks the provider settings of the call and its request.
  void check_params(const Json& params) {
    if (!params.is_object()) return add("params", "must be an object");
    for (const auto& [name, value] : params.items()) {
      if (const auto message = refuse_option_in_params(name)) add({"params", name}, "unknown_option", *message);
    }
  }
  void add_params(const ParamDefaults& params) {
    if (params.errors.empty()) return;
    errors_.insert(errors_.end(), params.errors.begin(), params.errors.end());
    message_ += (message_.empty() ? "" : "; ") + ("the engine's params: " + params.message);
  }
  bool empty() const { return errors_.empty(); }
  Error error() && {
    return Error(ValidationError{ValidationError::Reason::invalid_option, std::move(errors_)},
                 "invalid option: " + message_);
  }

 private:
  void add(Path path, const char* reason, const std::string& message) {
    message_ += (message_.empty() ? "" : "; ") + to_string(path) + " " + message;
    errors_.push_back({std::move(path), reason});
  }

  std::vector<FieldError> errors_;
  std::string message_;
};

bool is_nonempty_object(const std::optional<Json>& context) {
  return context && context->is_object() && !context->empty();
}

const std::shared_ptr<const Json>& no_context() {
  static const auto* const empty = new std::shared_ptr<const Json>(std::make_shared<const Json>(Json::object()));
  return *empty;
}

}  // namespace

const std::string* Run::model_name() const {
  if (options.model) return &options.model->id;
  return engine.model() ? &engine.model()->id : nullptr;
}

std::chrono::milliseconds Run::time_left() const {
  using std::chrono::steady_clock;
  if (deadline == steady_clock::time_point::max()) return std::chrono::milliseconds::max();
  return std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
}

ended::Limit Run::overtime() const {
  return {.which = ended::Limit::Which::run_timeout, .value = std::int64_t{run_timeout->count()}};
}

std::optional<RunEnd> Run::ended() const {
  if (cancel_level() != CancelSignal::Level::none) return ended::Cancelled{};
  if (is_overtime()) return overtime();
  if (!ledger) return std::nullopt;
  if (std::optional<ended::Limit> limit = ledger->exceeded()) return *std::move(limit);
  return std::nullopt;
}

namespace {

RunLimits resolve_limits(const CallOptions& options, OptionErrors& errors) {
  const auto count = [&](const char* name, const std::optional<std::int64_t>& limit) {
    if (limit && *limit < 1) errors.add(name, "must be at least 1");
    return limit;
  };
  RunLimits limits;
  limits.max_total_tokens = count("max_total_tokens", options.max_total_tokens);
  limits.max_cost = options.max_cost;
  if (limits.max_cost && !(std::isfinite(*limits.max_cost) && *limits.max_cost > 0)) {
    errors.add("max_cost", "must be a finite number above 0");
  }
  limits.max_tool_calls = count("max_tool_calls", options.max_tool_calls);
  limits.max_repeated_failures = count("max_repeated_failures", options.max_repeated_failures);
  count("shrink_max_tokens_to", options.shrink_max_tokens_to);
  return limits;
}

TraceParent resolve_trace(const CallOptions& options, bool has_telemetry, OptionErrors& errors) {
  TraceParent trace;
  if (options.traceparent) {
    const Result<TraceParent> given = parse_traceparent(*options.traceparent);
    if (!given) {
      errors.add("traceparent", "is not a valid W3C traceparent");
    } else {
      trace = *given;
    }
  }
  if (has_telemetry && !trace.trace_id.is_set()) trace.trace_id = make_trace_id();
  return trace;
}

}  // namespace

Result<std::shared_ptr<Run>> resolve_run(const Engine& engine, CallOptions options,
                                         std::shared_ptr<const ToolSet> tools) {
  const EngineAccess::Impl& impl = EngineAccess::impl(engine);
  if (Status usable = RuntimeAccess::impl(*impl.runtime).start(); !usable) return std::unexpected(usable.error());
  auto run = std::make_shared<Run>();
  OptionErrors errors;
  errors.check_params(options.params);
  errors.add_params(*impl.params);
  fill_options(options, impl.params->options);

  run->mode = options.mode.value_or(Mode::automatic);
  run->max_turns = options.max_turns.value_or(8);
  if (run->max_turns < 1) errors.add("max_turns", "must be at least 1");
  run->tool_timeout = options.tool_timeout.value_or(run->tool_timeout);
  if (run->tool_timeout.count() < 1) errors.add("tool_timeout", "must be at least 1 ms");
  run->run_timeout = options.run_timeout;
  if (run->run_timeout) {
    if (run->run_timeout->count() < 1) errors.add("run_timeout", "must be at least 1 ms");
    run->deadline = deadline_after(*run->run_timeout);
  }
  run->limits = resolve_limits(options, errors);
  run->max_concurrency = options.max_concurrency;
  if (run->max_concurrency && *run->max_concurrency < 1) errors.add("max_concurrency", "must be at least 1");
  run->on_tool_error = options.on_tool_error.value_or(ToolErrorAction::tell_model);
  if (const auto* function = std::get_if<ToolErrorFunction>(&run->on_tool_error); function != nullptr && !*function) {
    errors.add("on_tool_error", "is an empty function");
  }
  run->on_unknown_tool = options.on_unknown_tool.value_or(OnUnknownTool::error);
  run->structured_finalize = options.structured_finalize.value_or(false);
  if (run->structured_finalize) run->nudge = options.structured_finalize_nudge.value_or(std::string(kDefaultNudge));
  if (options.context && !options.context->is_object()) errors.add("context", "must be an object");
  run->telemetry = impl.options.telemetry.get();
  run->trace = resolve_trace(options, run->telemetry != nullptr, errors);
  if (!errors.empty()) return std::unexpected(std::move(errors).error());

  run->engine = engine;
  if (!tools) tools = impl.tools;
  run->tools = options.tools.empty() ? std::move(tools) : tools->with(options.tools);
  run->executor = options.tool_executor ? options.tool_executor : impl.options.tool_executor;
  run->encoder = options.tool_result_encoder ? options.tool_result_encoder : impl.options.tool_result_encoder;
  run->approve = options.approve ? options.approve : impl.options.approve;
  if (run->limits.any()) run->ledger = std::make_shared<RunLedger>(run->limits);
  run->budget =
      joined(run_budget(run->limits.max_total_tokens, run->limits.max_cost, options.strict_limits.value_or(false)),
             options.budget);
  if (options.prepare_step || !run->tools->tools().empty()) run->side_usage = std::make_shared<SideUsage>();
  if (can_stop(options.cancel)) run->cancel = std::make_shared<CancelSignal>(options.cancel);
  run->can_end_early = run->run_timeout || run->cancel;
  run->request_id = options.request_id && !options.request_id->empty() ? *options.request_id : make_request_id();
  if (is_nonempty_object(options.context)) {
    run->context = std::make_shared<const Json>(*options.context);
  } else if (impl.options.context.is_object() && !impl.options.context.empty()) {
    // Points to the engine's own value and keeps the engine alive.
    run->context = std::shared_ptr<const Json>(EngineAccess::pointer(run->engine), &impl.options.context);
  } else {
    run->context = no_context();
  }
  options.tools.clear();
  run->options = std::move(options);
  return run;
}

void nest(Run& run, std::shared_ptr<const Run> parent) {
  run.depth = parent->depth + 1;
  run.side_usage = std::make_shared<SideUsage>(parent->side_usage);
  if (run.ledger || parent->ledger) run.ledger = std::make_shared<RunLedger>(run.limits, parent->ledger);
  run.budget = joined(run.budget, parent->budget);
  if (run.telemetry == nullptr) run.telemetry = parent->telemetry;
  run.parent = std::move(parent);
}

std::shared_ptr<const Run> finalize_pass(const Run& run) {
  auto pass = std::make_shared<Run>(run);
  pass->tools = std::make_shared<const ToolSet>(std::vector<Tool>());
  pass->options.tool_choice.reset();
  pass->max_turns = 1;
  pass->structured_finalize = false;
  return pass;
}

std::shared_ptr<const Run> tool_pass(const Run& run) {
  auto pass = std::make_shared<Run>(run);
  pass->ask_for_format = false;
  pass->structured_finalize = false;
  return pass;
}

}  // namespace allm
