#include "chat/approve_source.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "allm/validate.hpp"

#include "data/pairing.hpp"
#include "lanes/lanes.hpp"
#include "tools/tool_check.hpp"
#include "tools/unknown_tool.hpp"

namespace allm {
namespace {

Error invalid_decision(std::size_t index, std::string reason, std::string message) {
  return validation_error(ValidationError::Reason::invalid_option,
                          {std::string("decisions"), static_cast<std::int64_t>(index)}, std::move(reason),
                          std::move(message));
}

RunEnd as_run_end(const StepEnd& end) {
  return std::visit([](const auto& value) -> RunEnd { return value; }, end);
}

}  // namespace

ApproveSource::ApproveSource(std::shared_ptr<const Run> run, Thread thread, std::vector<PendingToolCall> pending,
                             std::vector<CallDecision> decisions)
    : run_(std::move(run)),
      thread_(std::move(thread)),
      pending_(std::move(pending)),
      decisions_(std::move(decisions)),
      calls_(pending_.begin(), pending_.end()) {
  // The first of equal ids counts.
  for (const PendingToolCall& call : pending_) pending_by_id_.try_emplace(call.id, &call);
  for (const CallDecision& decision : decisions_) decisions_by_id_.try_emplace(decision.tool_call_id, &decision);
}

Poll ApproveSource::poll(const Waker& waker) {
  if (state_ == State::begin) {
    if (Status begun = begin(); !begun) {
      state_ = State::done;
      failure_ = begun.error();
      return ErrorEvent{begun.error()};
    }
  }
  if (state_ == State::done) return Poll::end();
  Poll polled = tools_->poll(waker);
  if (polled.is_end()) finish();
  return polled;
}

const PendingToolCall* ApproveSource::find_pending(const std::string& id) const {
  const auto found = pending_by_id_.find(id);
  return found != pending_by_id_.end() ? found->second : nullptr;
}

const CallDecision* ApproveSource::find_decision(const std::string& id) const {
  const auto found = decisions_by_id_.find(id);
  return found != decisions_by_id_.end() ? found->second : nullptr;
}

Status ApproveSource::check_decision(std::size_t index, const Ids& unanswered) const {
  const CallDecision& decision = decisions_[index];
  const std::string& id = decision.tool_call_id;
  const PendingToolCall* call = find_pending(id);
  if (call == nullptr || !unanswered.contains(id)) {
    return std::unexpected(Error(SessionError{SessionError::Reason::unknown_tool_call_id},
                                 "no call '" + id + "' is pending", {{"tool_call_id", id}}));
  }
  if (find_decision(id) != &decision) {
    return std::unexpected(invalid_decision(index, "duplicate", "there are two decisions on call '" + id + "'"));
  }
  if (call->kind == PendingKind::manual && decision.approval.kind() == Approval::Kind::allow) {
    return std::unexpected(invalid_decision(index, "manual_tool_call",
                                            "call '" + id + "' of tool '" + call->name +
                                                "' is manual and cannot be run: submit its result with "
                                                "submit_tool_result"));
  }
  if (const auto message = arguments_error(decision.approval)) {
    return std::unexpected(
        invalid_decision(index, "invalid_arguments", "the decision on call '" + id + "' is wrong: " + *message));
  }
  return {};
}

Status ApproveSource::check() const {
  const Ids unanswered = unanswered_calls(thread_.messages);
  for (std::size_t i = 0; i < decisions_.size(); ++i) {
    if (Status valid = check_decision(i, unanswered); !valid) return valid;
  }
  if (Status valid = validate(thread_); !valid) return valid;
  if (Status paired = check_pairs(thread_.messages, 0, ValidationError::Reason::invalid_thread); !paired) return paired;
  return check_tools(*run_, lane_calls());
}

Status ApproveSource::begin() {
  if (Status valid = check(); !valid) return valid;
  std::vector<Approval> approvals;
  approvals.reserve(calls_.size());
  for (const ToolCall& call : calls_) {
    const CallDecision* decision = find_decision(call.id);
    approvals.push_back(decision != nullptr ? decision->approval : Approval::suspend());
  }
  SortedCalls sorted = sort_calls(*run_, calls_, approvals);
  if (run_->on_unknown_tool == OnUnknownTool::error) {
    if (auto unknown = find_unknown_tool(sorted.runnable, *run_->tools)) return std::unexpected(*std::move(unknown));
  }
  // A manual call without a decision stays manual.
  for (PendingToolCall& call : sorted.pending) {
    if (find_pending(call.id)->kind == PendingKind::manual) call.kind = PendingKind::manual;
  }
  tools_.emplace(run_, calls_, std::move(sorted));
  state_ = State::tools;
  return {};
}

void ApproveSource::finish() {
  state_ = State::done;
  for (Message& message : tools_->take_messages()) thread_.messages.push_back(std::move(message));
  if (const auto& end = tools_->end()) {
    end_ = as_run_end(*end);
  } else {
    end_ = run_->ended();
  }
  tools_.reset();
}

}  // namespace allm
