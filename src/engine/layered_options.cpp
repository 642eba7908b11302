#include "engine/layered_options.hpp"

#include <algorithm>
#include <utility>

namespace allm {
namespace {

template <class T>
bool is_set(const T& value) {
  return static_cast<bool>(value);
}
bool is_set(const std::stop_token& token) { return token.stop_possible(); }
bool is_set(const ApiKey& key) { return !key.empty(); }

// Moves from `lower` if it is not const.
template <class T, class Lower>
void fill(T& value, Lower& lower) {
  if (!is_set(value) && is_set(lower)) value = std::move(lower);
}

void merge_tools(std::vector<Tool>& tools, std::vector<Tool> lower) {
  if (lower.empty()) return;
  for (Tool& tool : tools) {
    const auto same = std::ranges::find(lower, tool.name, &Tool::name);
    if (same != lower.end()) {
      *same = std::move(tool);
    } else {
      lower.push_back(std::move(tool));
    }
  }
  tools = std::move(lower);
}

// Params that are not an object are kept, so that the check of options reports them.
template <class Lower>
void merge_params(Json& params, Lower& lower) {
  if (!params.is_object() || (lower.is_object() && lower.empty())) return;
  Json merged = std::move(lower);
  if (merged.is_object()) merged.update(params);
  params = std::move(merged);
}

// The first context that is not empty is used. A context that is not an object is kept, so that the check of options
// reports it.
template <class Lower>
void merge_context(std::optional<Json>& context, Lower& lower) {
  if (!context || (context->is_object() && context->empty())) context = std::move(lower);
}

template <class Lower>
void fill_from(CallOptions& options, Lower& lower) {
  // Names every option: a new option does not compile until it is added here.
  auto& [model, temperature, max_tokens, response_format, tool_choice, repeat_tool_choice, prompt_cache, streamed,
         tools, params, api_key, mode, max_turns, run_timeout, max_total_tokens, max_cost, max_tool_calls,
         max_repeated_failures, strict_limits, shrink_max_tokens_to, budget, cancel, halt_when, prepare_step,
         structured_finalize, structured_finalize_nudge, tool_timeout, max_concurrency, on_tool_error, on_unknown_tool,
         approve, tool_executor, tool_result_encoder, on_tool_progress, emit_text_deltas, emit_tool_deltas,
         emit_reasoning, include_raw_chunks, on_event, context, session_id, request_id, traceparent] = lower;
  fill(options.model, model);
  fill(options.temperature, temperature);
  fill(options.max_tokens, max_tokens);
  fill(options.response_format, response_format);
  fill(options.tool_choice, tool_choice);
  fill(options.repeat_tool_choice, repeat_tool_choice);
  fill(options.prompt_cache, prompt_cache);
  fill(options.stream, streamed);
  merge_tools(options.tools, std::move(tools));
  merge_params(options.params, params);
  fill(options.api_key, api_key);
  fill(options.mode, mode);
  fill(options.max_turns, max_turns);
  fill(options.run_timeout, run_timeout);
  fill(options.max_total_tokens, max_total_tokens);
  fill(options.max_cost, max_cost);
  fill(options.max_tool_calls, max_tool_calls);
  fill(options.max_repeated_failures, max_repeated_failures);
  fill(options.strict_limits, strict_limits);
  fill(options.shrink_max_tokens_to, shrink_max_tokens_to);
  fill(options.budget, budget);
  fill(options.cancel.now, cancel.now);
  fill(options.cancel.after_tools, cancel.after_tools);
  fill(options.cancel.after_step, cancel.after_step);
  fill(options.halt_when, halt_when);
  fill(options.prepare_step, prepare_step);
  fill(options.structured_finalize, structured_finalize);
  fill(options.structured_finalize_nudge, structured_finalize_nudge);
  fill(options.tool_timeout, tool_timeout);
  fill(options.max_concurrency, max_concurrency);
  fill(options.on_tool_error, on_tool_error);
  fill(options.on_unknown_tool, on_unknown_tool);
  fill(options.approve, approve);
  fill(options.tool_executor, tool_executor);
  fill(options.tool_result_encoder, tool_result_encoder);
  fill(options.on_tool_progress, on_tool_progress);
  fill(options.emit_text_deltas, emit_text_deltas);
  fill(options.emit_tool_deltas, emit_tool_deltas);
  fill(options.emit_reasoning, emit_reasoning);
  fill(options.include_raw_chunks, include_raw_chunks);
  fill(options.on_event, on_event);
  merge_context(options.context, context);
  fill(options.session_id, session_id);
  fill(options.request_id, request_id);
  fill(options.traceparent, traceparent);
}

}  // namespace

void fill_options(CallOptions& options, const CallOptions& lower) { fill_from(options, lower); }
void fill_options(CallOptions& options, CallOptions&& lower) { fill_from(options, lower); }

CallOptions take_settings(Request& request) {
  CallOptions options;
  options.model = request.model;  // copied, not moved: providers and recordings read it in the request
  options.temperature = std::exchange(request.temperature, std::nullopt);
  options.max_tokens = std::exchange(request.max_tokens, std::nullopt);
  options.response_format = std::exchange(request.response_format, std::nullopt);
  options.tool_choice = std::exchange(request.tool_choice, std::nullopt);
  options.prompt_cache = std::exchange(request.prompt_cache, std::nullopt);
  if (!std::exchange(request.stream, true)) options.stream = false;
  options.tools = std::exchange(request.tools, {});
  options.params = std::exchange(request.options, Json::object());
  if (std::exchange(request.structured_finalize, false)) options.structured_finalize = true;
  return options;
}

}  // namespace allm
