#include "chat/chat_source.hpp"

#include <utility>

#include "allm/serialize.hpp"

#include "chat/run_end.hpp"

namespace allm {
namespace {

// Lists calls of a message that did not end with `tool_calls`: they are neither run nor in the thread.
void note_dropped_calls(const Response& response, Json& metadata) {
  if (response.tool_calls.empty()) return;
  Json& dropped = metadata["dropped_tool_calls"] = Json::array();
  for (const ToolCall& call : response.tool_calls) dropped.push_back(to_json_value(call));
}

}  // namespace

ChatSource::ChatSource(std::shared_ptr<const Run> run, Thread thread, std::unique_ptr<ApproveSource> approval)
    : run_(std::move(run)), call_(*run_), approval_(std::move(approval)), result_(std::make_shared<ChatResult>()) {
  result_->thread = thread;
  if (!approval_) begin_step(std::move(thread), 0);
}

void ChatSource::begin_step(Thread thread, std::size_t checked_messages) {
  step_.emplace(run_, call_, std::move(thread), checked_messages, StepSource::Place::in_loop, result_.get());
}

Poll ChatSource::poll(const Waker& waker) {
  if (step_) return poll_step(waker);
  return approval_ ? poll_approval(waker) : finish_run();
}

Poll ChatSource::poll_approval(const Waker& waker) {
  Poll polled = approval_->poll(waker);
  if (!polled.is_end()) return polled;
  return approval_done() ? poll_step(waker) : finish_run();
}

bool ChatSource::approval_done() {
  const std::unique_ptr<ApproveSource> approval = std::exchange(approval_, nullptr);
  failure_ = approval->failure();
  if (failure_) return false;
  has_run_calls_ = true;
  result_->thread = approval->thread();
  if (const auto& end = approval->end()) {
    if (run_->side_usage) result_->usage += run_->side_usage->take();
    end_run(*result_, *end);
    return false;
  }
  begin_step(approval->thread(), 0);
  return true;
}

Poll ChatSource::poll_step(const Waker& waker) {
  Poll polled = step_->poll(waker);
  while (polled.is_end()) {
    if (!step_done()) {
      step_.reset();
      polled = finish_run();
      break;
    }
    polled = step_->poll(waker);
  }
  return polled;
}

Poll ChatSource::finish_run() {
  if (!result_ || failure_) return Poll::end();
  return ChatCompleted{std::exchange(result_, nullptr)};
}

bool ChatSource::step_done() {
  if (run_->side_usage) result_->usage += run_->side_usage->take();
  if (const auto& end = step_->withdrawn()) {
    end_run(*result_, *end);
    return false;
  }
  if (const auto& error = step_->failure()) {
    if (result_->steps.empty() && !has_run_calls_) {
      failure_ = error;
    } else {
      end_run(*result_, ended::Failed{error});
    }
    return false;
  }
  const std::size_t checked = result_->thread.messages.size();
  result_->steps.push_back(step_->take_result());
  const StepResult& step = result_->steps.back();
  result_->thread.messages = step.thread.messages;
  result_->usage += step.response.usage;
  if (run_->ledger) run_->ledger->add_usage(step.response.usage);
  if (!runs_more(step)) note_dropped_calls(step.response, result_->metadata);
  if (std::optional<RunEnd> end = end_after(step)) {
    end_run(*result_, *std::move(end));
    return false;
  }
  call_.release_tool_choice();
  begin_step(step.thread, checked);
  return true;
}

std::optional<RunEnd> ChatSource::end_after(const StepResult& step) const {
  const auto index = static_cast<std::int64_t>(result_->steps.size()) - 1;
  if (std::optional<RunEnd> end = end_after_step(step, index)) return end;
  if (std::optional<RunEnd> end = run_->ended()) return end;
  if (run_->options.halt_when && run_->options.halt_when(step)) return ended::HaltWhen{index};
  if (index + 1 >= run_->max_turns) return ended::MaxTurns{run_->max_turns};
  return std::nullopt;
}

}  // namespace allm
