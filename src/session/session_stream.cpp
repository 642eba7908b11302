#include <utility>

#include "allm/session_ops.hpp"

#include "runtime/pulled_stream.hpp"
#include "session/projection.hpp"

namespace allm {

SessionReducer::SessionReducer(Session before, Session seed, Kind kind)
    : before_(std::move(before)), seed_(std::move(seed)), kind_(kind), collector_(seed_.thread) {}

void SessionReducer::apply(const Event& event) { collector_.apply(event); }

Session SessionReducer::session() const {
  if (kind_ == Kind::step) {
    if (const Result<StepResult> result = collector_.step_result()) return after_step(seed_, *result);
  } else if (const Result<ChatResult> result = collector_.chat_result(); result && collector_.saw_chat_completed()) {
    return after_chat(seed_, *result);
  }
  if (collector_.failed()) return before_;
  // Not read to its end: the new message and the finished steps stay.
  Session left = seed_;
  left.status = SessionStatus::idle;
  left.pending_tool_calls.clear();
  if (const Result<StepResult> last = collector_.step_result()) left.thread = last->thread;
  return left;
}

Result<SessionTurn> SessionReducer::turn() const {
  Result<ChatResult> result = collector_.chat_result();
  if (!result) return std::unexpected(result.error());
  return SessionTurn{session(), *std::move(result)};
}

Result<SessionStep> SessionReducer::step() const {
  Result<StepResult> result = collector_.step_result();
  if (!result) return std::unexpected(result.error());
  return SessionStep{session(), *std::move(result)};
}

SessionStream::SessionStream(EventStream events, SessionReducer reducer)
    : events_(std::move(events)), reducer_(std::move(reducer)) {}

template class PulledStream<SessionStream>;

Poll SessionStream::poll(const Waker& waker) {
  Poll polled = events_.poll(waker);
  if (polled.has_event()) reducer_.apply(polled.event());
  return polled;
}

Result<SessionTurn> SessionStream::finish() {
  while (next()) {
  }
  return reducer_.turn();
}

Result<SessionStep> SessionStream::finish_step() {
  while (next()) {
  }
  return reducer_.step();
}

}  // namespace allm
