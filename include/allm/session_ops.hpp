// Operations on sessions. Each operation accepts a session and returns a new one; the caller's session does not change.
// Operations that run a model block, except for those that return a stream. All are safe to call from any thread. The
// table shows which operations are allowed in which status. An operation that is not allowed fails with SessionError
// `invalid_status_for_operation`, or with `session_in_error_state` if the status is error.
//
//   status          start, step   reply   continue                approve, submit   recover
//   idle            yes           yes     yes                     no                no
//   completed       yes           yes     yes                     no                no
//   awaiting_user   no            yes     with a user message     no                no
//   awaiting_tools  no            no      see below               yes               no
//   error           no            no      no                      no                yes
//
// In status awaiting_tools, continue is allowed without a message if `pending_tool_calls` is empty.
//
// CallOptions::context and CallOptions::session_id default to those of the session.
//
// start, continue and step also accept a request: its messages are added to the session's thread, and its settings
// (model, tools, response format, …) apply to this operation only. The settings are not saved in the session. A request
// does not change the table; for continue, the first message of the request counts.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allm/approve.hpp"
#include "allm/chat.hpp"
#include "allm/session.hpp"

namespace allm {

// The new session, and the result of the run or of the step.
struct SessionTurn {
  Session session;
  ChatResult result;
};
struct SessionStep {
  Session session;
  StepResult result;
};

// Runs the loop on the session's thread as it is.
Result<SessionTurn> session_start(const Engine& engine, Session session,
                                  const CallOptions& options = default_options());
Result<SessionTurn> session_start(const Engine& engine, Session session, Request request, const CallOptions& options);
// Adds a user message and runs the loop. If a question is pending, the message is the answer.
Result<SessionTurn> session_reply(const Engine& engine, Session session, Content reply,
                                  const CallOptions& options = default_options());
// Adds the message, if there is one, and runs the loop.
Result<SessionTurn> session_continue(const Engine& engine, Session session,
                                     std::optional<Message> message = std::nullopt,
                                     const CallOptions& options = default_options());
Result<SessionTurn> session_continue(const Engine& engine, Session session, Request request,
                                     const CallOptions& options = default_options());
// Runs one step.
Result<SessionStep> session_step(const Engine& engine, Session session, const CallOptions& options = default_options());
Result<SessionStep> session_step(const Engine& engine, Session session, Request request, const CallOptions& options);

// Decides on pending calls that the approval gate suspended: runs the allowed ones, answers the denied ones and goes on
// with the loop, as `approve` does for threads (allm/approve.hpp has the rules). Handlers get the session's context and
// id. While calls are still pending, no model is called and the session stays awaiting_tools. If a model call fails
// after calls have run, the session is in error and keeps their results, so that nothing runs twice.
Result<SessionTurn> session_approve(const Engine& engine, Session session, std::vector<CallDecision> decisions,
                                    const CallOptions& options = default_options());

// Returns a session in status error to status idle, as it was after its last finished step. A message that the model
// did not finish is removed; a step in which a tool failed is kept. Does not call a model. Fails with SessionError
// `invalid_status_for_operation` if the status is not error.
Result<Session> session_recover(Session session);

struct SubmittedResult {
  std::string tool_call_id;
  Json result;
  bool is_error = false;  // the call failed; providers with a field for it are told
};
// Answer pending calls without calling a model. `encoder` writes each value as the content of a tool message; null:
// JsonToolResultEncoder. It is used only during the call. The status becomes idle when no call is pending any more. If
// `results` is empty, the session is returned unchanged. Fail with SessionError `unknown_tool_call_id` if an id is not
// pending, and with ToolError `encoding_failed` if a value cannot be written.
Result<Session> submit_tool_result(Session session, const std::string& tool_call_id, const Json& result,
                                   ToolResultEncoder* encoder = nullptr);
Result<Session> submit_tool_results(Session session, std::span<const SubmittedResult> results,
                                    ToolResultEncoder* encoder = nullptr);

// Folds the events of a run into a session, for programs that read an EventStream themselves. One thread at a time.
class SessionReducer {
 public:
  enum class Kind : std::uint8_t { chat, step, approval };
  // `before` is the session before the operation; session() returns it if the run fails in its first step. `seed` is
  // the session with the new message.
  SessionReducer(Session before, Session seed, Kind kind);

  void apply(const Event& event);
  // The session after the events so far. After the last event of a run, it is the session that the blocking operation
  // would return. If the run failed in its first step, it is `before`. Otherwise it is the seed with every finished
  // step, in status idle; if the last finished step left calls pending or asked the user, the session awaits them. For
  // Kind::approval it also has the results of approved calls; calls without a result, and those that asked the user,
  // are still pending.
  Session session() const;
  // The run's result: turn() for Kind::chat and Kind::approval, step() for Kind::step. Both fail with the error of a
  // run that failed in its first step. If the run is not over, turn() returns the finished steps with the end
  // ended::Cancelled (ended::Failed after an ErrorEvent), and step() fails with StreamError `cancelled`.
  Result<SessionTurn> turn() const;
  Result<SessionStep> step() const;

 private:
  Session unfinished_approval() const;
  Session after_last_step(Session left) const;

  Session before_;
  Session seed_;
  Kind kind_;
  StreamCollector collector_;
  StreamCollector approved_;                   // the results of approved calls
  std::set<std::string, std::less<>> asking_;  // approved calls that asked the user
  bool is_approving_ = false;                  // until the first event that is not about approved calls
};

// A session operation as a stream of events. Movable, single pass, one thread at a time. After drop(), session() has
// the new message and every finished step.
class SessionStream : public PulledStream<SessionStream> {
 public:
  SessionStream(EventStream events, SessionReducer reducer);

  Poll poll(const Waker& waker);
  void drop() { events_.drop(); }

  // The session after the events read so far.
  Session session() const { return reducer_.session(); }
  // Reads the remaining events and returns what the blocking operation returns. Blocks. Not for session_stream_step.
  Result<SessionTurn> finish();
  // The same for the stream of session_stream_step.
  Result<SessionStep> finish_step();

 private:
  EventStream events_;
  SessionReducer reducer_;
};

// The operations above as streams. They return at once.
SessionStream session_stream_start(const Engine& engine, Session session,
                                   const CallOptions& options = default_options());
SessionStream session_stream_start(const Engine& engine, Session session, Request request, const CallOptions& options);
SessionStream session_stream_reply(const Engine& engine, Session session, Content reply,
                                   const CallOptions& options = default_options());
SessionStream session_stream_continue(const Engine& engine, Session session,
                                      std::optional<Message> message = std::nullopt,
                                      const CallOptions& options = default_options());
SessionStream session_stream_continue(const Engine& engine, Session session, Request request,
                                      const CallOptions& options = default_options());
// If the stream is dropped, session() has the results that were read. A call that was running is still pending, but its
// handler may already have had effects.
SessionStream session_stream_approve(const Engine& engine, Session session, std::vector<CallDecision> decisions,
                                     const CallOptions& options = default_options());
SessionStream session_stream_step(const Engine& engine, Session session,
                                  const CallOptions& options = default_options());
SessionStream session_stream_step(const Engine& engine, Session session, Request request, const CallOptions& options);

// The operations with a request and without options. They are templates so that a third argument in braces always means
// the options.
template <std::same_as<Request> R>
Result<SessionTurn> session_start(const Engine& engine, Session session, R request) {
  return session_start(engine, std::move(session), std::move(request), default_options());
}
template <std::same_as<Request> R>
Result<SessionStep> session_step(const Engine& engine, Session session, R request) {
  return session_step(engine, std::move(session), std::move(request), default_options());
}
template <std::same_as<Request> R>
SessionStream session_stream_start(const Engine& engine, Session session, R request) {
  return session_stream_start(engine, std::move(session), std::move(request), default_options());
}
template <std::same_as<Request> R>
SessionStream session_stream_step(const Engine& engine, Session session, R request) {
  return session_stream_step(engine, std::move(session), std::move(request), default_options());
}

}  // namespace allm
