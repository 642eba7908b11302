#include "chat/tool_turn.hpp"

#include <utility>

#include "data/tool_errors.hpp"
#include "lanes/lanes.hpp"

namespace allm {

ToolTurn::ToolTurn(std::shared_ptr<const Run> run, std::span<const ToolCall> calls, SortedCalls sorted, SpanId span)
    : run_(std::move(run)),
      calls_(calls),
      is_pending_(std::move(sorted.is_pending)),
      pending_(std::move(sorted.pending)) {
  batch_.emplace(run_, std::move(sorted.runnable), lane_calls(), std::move(sorted.decisions), span);
}

Poll ToolTurn::poll(const Waker& waker) {
  if (batch_) {
    Poll polled = batch_->poll(waker);
    if (!polled.is_end()) return polled;
    finish();
  }
  if (next_ < not_run_.size()) return std::move(not_run_[next_++]);
  return Poll::end();
}

void ToolTurn::finish() {
  messages_ = batch_->take_messages();
  const std::optional<StepEnd> halt = batch_->halt();
  batch_.reset();
  if (halt) {
    end_ = halt;
    answer_pending("another call ended the turn");
  } else if (run_->cancel_level() >= CancelSignal::Level::after_tools) {
    end_ = ended::Cancelled{};
    answer_pending("the run was cancelled");
  } else if (!pending_.empty()) {
    end_ = ended::Manual{.calls = std::move(pending_)};
  }
}

void ToolTurn::answer_pending(const std::string& why) {
  is_over_ = true;
  std::vector<Message> all;
  all.reserve(calls_.size());
  auto message = messages_.begin();
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if (!is_pending_[i]) {
      all.push_back(std::move(*message++));
      continue;
    }
    std::string content = failure_content(*run_, ToolFailure{not_run_error(calls_[i], why)});
    not_run_.emplace_back(ToolResultEncoded{.id = calls_[i].id, .content = content, .is_error = true});
    all.push_back(failed_result(calls_[i].id, std::move(content)));
  }
  messages_ = std::move(all);
}

}  // namespace allm
