#include "chat/journaled_source.hpp"

#include <utility>

namespace allm {

JournaledSource::JournaledSource(std::shared_ptr<RunJournal> journal, std::unique_ptr<EventSource> inner)
    : journal_(std::move(journal)), inner_(std::move(inner)) {}

Poll JournaledSource::poll(const Waker& waker) {
  if (done_) return Poll::end();
  journal_->watch(waker);
  if (std::optional<Error> error = journal_->failure()) {
    done_ = true;
    inner_.reset();
    held_.clear();
    return ErrorEvent{*std::move(error)};
  }
  while (true) {
    if (!held_.empty() && journal_->is_committed(held_.front().position)) {
      Event event = std::move(held_.front().event);
      held_.pop_front();
      return event;
    }
    if (!inner_ && held_.empty() && journal_->is_committed(journal_->last())) {
      done_ = true;
      return Poll::end();
    }
    if (!inner_ || held_.size() == kMaxHeld || !take_more(waker)) {
      journal_->flush();
      return Poll::pending();
    }
  }
}

bool JournaledSource::take_more(const Waker& waker) {
  Poll polled = inner_->poll(waker);
  if (polled.is_pending()) return false;
  if (polled.is_end()) {
    inner_.reset();
    journal_->note_end();
    return true;
  }
  journal_->note_event(polled.event());
  held_.push_back({polled.take(), journal_->last()});
  return true;
}

}  // namespace allm
