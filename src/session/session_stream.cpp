#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "allm/session_ops.hpp"

#include "chat/run_end.hpp"
#include "runtime/pulled_stream.hpp"
#include "session/projection.hpp"

namespace allm {
namespace {

bool is_about_execution(const Event& event) {
  return event.tag() >= EventTag::tool_execution_started && event.tag() <= EventTag::tool_halt;
}

}  // namespace

SessionReducer::SessionReducer(Session before, Session seed, Kind kind)
    : before_(std::move(before)),
      seed_(std::move(seed)),
      kind_(kind),
      collector_(seed_.thread),
      is_approving_(kind == Kind::approval) {}

void SessionReducer::apply(const Event& event) {
  if (is_approving_) is_approving_ = is_about_execution(event);
  if (is_approving_) approved_.apply(event);
  if (const auto* asked = is_approving_ ? event.get_if<AskUserRequested>() : nullptr)
    asking_.insert(asked->tool_call_id);
  collector_.apply(event);
}

Session SessionReducer::session() const {
  if (kind_ == Kind::step) {
    if (const Result<StepResult> result = collector_.step_result()) return after_step(seed_, *result);
  } else if (const Result<ChatResult> result = collector_.chat_result(); result && collector_.saw_chat_completed()) {
    return after_chat(seed_, *result);
  }
  if (kind_ == Kind::approval) return unfinished_approval();
  if (collector_.failed()) return before_;
  // If the stream was not read to its end, the new message and the finished steps are kept.
  Session left = seed_;
  left.status = SessionStatus::idle;
  left.pending_tool_calls.clear();
  return after_last_step(std::move(left));
}

// If the last step left calls to the program or asked the user, the run has ended, although its end was not read.
Session SessionReducer::after_last_step(Session left) const {
  Result<ChatResult> run = collector_.chat_result();
  if (!run || run->steps.empty()) return left;
  const StepResult& last = run->steps.back();
  if (std::holds_alternative<ended::Manual>(last.end) || std::holds_alternative<ended::AskUser>(last.end)) {
    end_run(*run, *end_after_step(last, static_cast<std::int64_t>(run->steps.size()) - 1));
    return after_chat(std::move(left), *run);
  }
  left.thread = last.thread;
  return left;
}

Session SessionReducer::unfinished_approval() const {
  const std::vector<Message> answers = approved_.tool_messages();
  if (answers.empty() && collector_.failed()) return before_;
  Session left = seed_;
  std::vector<PendingToolCall> unanswered;
  std::unordered_map<std::string_view, const Message*> by_id;
  for (const Message& message : answers) {
    if (message.tool_call_id) by_id.try_emplace(*message.tool_call_id, &message);
  }
  for (const PendingToolCall& call : seed_.pending_tool_calls) {
    const auto answer = by_id.find(call.id);
    // A call that asked the user has no answer yet: it asks again when it is approved again.
    if (!asking_.contains(call.id) && answer != by_id.end()) {
      left.thread.messages.push_back(*answer->second);
    } else {
      unanswered.push_back(call);
    }
  }
  left.pending_tool_calls = std::move(unanswered);
  if (left.pending_tool_calls.empty()) left.status = SessionStatus::idle;
  return after_last_step(std::move(left));
}

Result<SessionTurn> SessionReducer::turn() const {
  Result<ChatResult> result = collector_.chat_result();
  if (!result) return std::unexpected(result.error());
  SessionTurn turn{session(), *std::move(result)};
  if (!collector_.saw_chat_completed()) turn.result.thread = turn.session.thread;
  return turn;
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
