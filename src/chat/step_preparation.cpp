#include "chat/step_preparation.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace allm {
namespace {

using Count = std::map<std::string, std::int64_t, std::less<>>;

// Calls without a result and results without a call, by call id.
struct Unmatched {
  Count calls;
  Count results;
  std::map<std::string, std::size_t, std::less<>> last;  // index of the message with the call or the result
};

Unmatched unmatched_in(const MessageList& messages) {
  Unmatched found;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    for (const ToolCall& call : message.tool_calls) {
      ++found.calls[call.id];
      found.last[call.id] = i;
    }
    if (message.role != Role::tool || !message.tool_call_id) continue;
    const std::string& id = *message.tool_call_id;
    if (std::int64_t& open = found.calls[id]; open > 0) {
      --open;
    } else {
      ++found.results[id];
      found.last[id] = i;
    }
  }
  return found;
}

// An id that occurs more often in `view` than in `stored`; null if there is none.
const std::string* more_often(const Count& view, const Count& stored) {
  for (const auto& [id, count] : view) {
    const auto before = stored.find(id);
    if (count > (before == stored.end() ? 0 : before->second)) return &id;
  }
  return nullptr;
}

Error separated(const Unmatched& view, const std::string& id, const char* reason, const std::string& problem) {
  const auto index = static_cast<std::int64_t>(view.last.at(id));
  return validation_error(ValidationError::Reason::invalid_request, {std::string("messages"), index}, reason,
                          "prepare_step gave messages that cannot be sent: message " + std::to_string(index) + " " +
                              problem + " (call id '" + id + "'); keep a call and its results together");
}

template <class T>
void replace(std::optional<T>& setting, std::optional<T>& planned) {
  if (planned) setting = std::move(planned);
}

const Usage& no_usage() {
  static const auto* const none = new Usage();
  return *none;
}

const std::string* text_of(const std::optional<std::string>& text) { return text ? &*text : nullptr; }

}  // namespace

std::optional<Result<StepPlan>> PlannedStep::poll(const Waker& waker) {
  if (auto* plan = std::get_if<Result<StepPlan>>(&plan_)) return std::move(*plan);
  auto& pending = std::get<std::unique_ptr<PendingPlan>>(plan_);
  return pending ? pending->poll(waker) : StepPlan{};
}

StepPreparation::StepPreparation(std::shared_ptr<const Run> run, const Thread& thread, const ChatResult* so_far,
                                 SpanId span)
    : run_(std::move(run)) {
  if (is_over()) return;
  StepView view{.engine = run_->engine,
                .thread = thread,
                .usage = so_far != nullptr ? so_far->usage : no_usage(),
                .index = so_far != nullptr ? so_far->steps.size() : 0,
                .cancel = &run_->options.cancel,
                .request_id = &run_->request_id,
                .session_id = text_of(run_->options.session_id),
                .budget = run_->budget};
  if (run_->run_timeout) view.time_left = run_->time_left();
  TraceParent parent = run_->trace;
  if (span.is_set()) parent.span_id = span;
  if (parent.span_id.is_set()) view.traceparent = to_string(parent);
  planned_ = run_->options.prepare_step(view);
}

bool StepPreparation::is_over() const {
  return run_->cancel_level() != CancelSignal::Level::none || run_->is_overtime();
}

std::optional<Result<StepPlan>> StepPreparation::poll(const Waker& waker) {
  if (!planned_ || is_over()) return StepPlan{};
  std::optional<Result<StepPlan>> plan = planned_->poll(waker);
  if (plan) return plan;
  if (run_->run_timeout) {
    if (!overtime_) overtime_.emplace(*run_->engine.runtime(), run_->time_left());
    if (overtime_->poll(waker)) return StepPlan{};
  }
  if (run_->cancel && run_->cancel->watch(waker) != CancelSignal::Level::none) return StepPlan{};
  return std::nullopt;
}

bool changes_settings(const StepPlan& plan) {
  return plan.tools || plan.model || plan.temperature || plan.max_tokens || plan.response_format || plan.tool_choice ||
         plan.prompt_cache || !plan.params.empty();
}

std::shared_ptr<const Run> planned_run(const Run& run, StepPlan plan) {
  auto step = std::make_shared<Run>(run);
  CallOptions& options = step->options;
  if (plan.tools) step->tools = std::make_shared<const ToolSet>(*std::move(plan.tools), run.tools->cache());
  // A format of the plan is used even in the pass without a format.
  if (plan.response_format) step->ask_for_format = true;
  replace(options.model, plan.model);
  replace(options.temperature, plan.temperature);
  replace(options.max_tokens, plan.max_tokens);
  replace(options.response_format, plan.response_format);
  replace(options.tool_choice, plan.tool_choice);
  replace(options.prompt_cache, plan.prompt_cache);
  for (const auto& [name, value] : plan.params.items()) options.params[name] = value;
  return step;
}

Status check_view(const MessageList& stored, const MessageList& view) {
  const Unmatched before = unmatched_in(stored);
  const Unmatched after = unmatched_in(view);
  if (const std::string* id = more_often(after.results, before.results)) {
    return std::unexpected(separated(after, *id, "orphan_tool_message", "is a result without its call before it"));
  }
  if (const std::string* id = more_often(after.calls, before.calls)) {
    return std::unexpected(separated(after, *id, "unanswered_tool_call", "has a call without its result"));
  }
  return {};
}

}  // namespace allm
