#include "lanes/lane_call.hpp"

#include "data/tool_errors.hpp"
#include "tools/tool_context_state.hpp"

namespace allm {

LaneCall::LaneCall(std::shared_ptr<Loop> loop, const ToolContext& context, ToolCompletion done,
                   const ToolLimits& tool_limits)
    : limits(tool_limits),
      tool_name(context.tool_call().name),
      tool_call_id(context.tool_call().id),
      idempotency_key(context.idempotency_key()),
      stop_token(context.stop_token()),
      caller_(Caller{context, std::move(done)}),
      loop_(std::move(loop)),
      journal_(ToolContextAccess::state(context).run->journal) {}

bool LaneCall::may_start() const { return !journal_ || journal_->may_start(); }

void LaneCall::progress(Json report) {
  std::optional<ToolContext> context;
  {
    const std::lock_guard lock(mutex_);
    if (caller_) context = caller_->context;
  }
  if (context) context->report_progress(std::move(report));
}

void LaneCall::await(bool waiter_drives) {
  const std::lock_guard lock(mutex_);
  if (over_) return;
  if (awaited_) {
    awaited_->set_waiter_drives(waiter_drives);
  } else {
    awaited_.emplace(loop_, waiter_drives);
  }
}

bool LaneCall::answer(ToolOutcome outcome) {
  std::optional<Caller> caller;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    std::swap(caller, caller_);
    awaited_.reset();
  }
  return caller && caller->done(std::move(outcome));
}

void LaneCall::abandon() {
  std::optional<Caller> caller;
  const std::lock_guard lock(mutex_);
  over_ = true;
  std::swap(caller, caller_);
  awaited_.reset();
}

void LaneCall::fail(ToolError::Reason reason, std::string message, Json metadata) {
  answer(ToolFailure{tool_error(tool_name, tool_call_id, reason, std::move(message), std::move(metadata))});
}

ToolOutcome LaneCall::end_failure(const char* what, const JobEnd& end) const {
  Json metadata = Json::object();
  if (end.status) metadata["status"] = *end.status;
  if (end.signal) metadata["signal"] = signal_name(*end.signal);
  if (!end.error_output.empty()) metadata["stderr"] = end.error_output;
  std::string message = std::string("the ") + what + " of tool '" + tool_name + "' " + describe(end);
  if (!end.error_output.empty()) message += "; the end of its error output:\n" + end.error_output;
  return ToolFailure{
      tool_error(tool_name, tool_call_id, ToolError::Reason::handler_exit, std::move(message), std::move(metadata))};
}

}  // namespace allm
