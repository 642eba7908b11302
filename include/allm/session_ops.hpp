// Operations on sessions. Each accepts a session and returns a new one; the caller's session does not change. Those
// that run a model block, except the streams. Safe to call from any thread. An operation that does not fit the
// session's status fails with SessionError `invalid_status_for_operation`, or `session_in_error_state` if it is in
// error.
//
//   from            start   reply   continue(message)      step   approve, submit
//   idle            yes     yes     yes                    yes    no
//   completed       yes     yes     yes                    yes    no
//   awaiting_user   no      yes     with a user message    no     no
//   awaiting_tools  no      no      no message, none left  no     yes
//   error           only session_recover
//
// Options: context and session_id default to the session's own.
//
// start, continue and step also accept a request: its messages are added to the session's thread, and its settings
// (model, tools, response format, …) apply to this operation only. They are not saved in the session. start and step
// are allowed in the same statuses as without a request; continue is allowed if it would accept the first message of
// the request.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allm/approve.hpp"
#include "allm/chat.hpp"
#include "allm/session.hpp"

namespace allm {

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
// Adds a user message (an answer, if a question is pending) and runs the loop.
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

// Makes a session in error idle again, as it was after its last finished step: removes a model's message that was
// interrupted, keeps a step in which a tool failed. Fails with SessionError `invalid_status_for_operation` if the
// session is not in error.
Result<Session> session_recover(Session session);

struct SubmittedResult {
  std::string tool_call_id;
  Json result;
};
// Answers pending calls; the values are written like tool results. All ids must be pending, else the error is
// `unknown_tool_call_id` and nothing changes. The session is idle when no call is pending any more. If `results` is
// empty, the session is returned unchanged.
Result<Session> submit_tool_result(Session session, const std::string& tool_call_id, const Json& result,
                                   ToolResultEncoder* encoder = nullptr);
Result<Session> submit_tool_results(Session session, std::span<const SubmittedResult> results,
                                    ToolResultEncoder* encoder = nullptr);

// Folds the events of a run into a session. One thread at a time.
class SessionReducer {
 public:
  enum class Kind : std::uint8_t { chat, step, approval };
  // `before` is the session before the operation, which stays if the run fails; `seed` is the session with the new
  // message.
  SessionReducer(Session before, Session seed, Kind kind);

  void apply(const Event& event);
  // The session so far. If the run is over, it follows from the result. If the run failed in its first step, it is
  // `before`. Otherwise it is the seed with every finished step, in status idle. An approval also keeps the results of
  // approved calls; calls without a result are still pending.
  Session session() const;
  // The run's result: turn() for Kind::chat and Kind::approval, step() for Kind::step. Fails with the error of a run
  // that failed in its first step.
  Result<SessionTurn> turn() const;
  Result<SessionStep> step() const;

 private:
  Session unfinished_approval() const;

  Session before_;
  Session seed_;
  Kind kind_;
  StreamCollector collector_;
  StreamCollector approved_;   // the results of approved calls
  bool is_approving_ = false;  // until the first event that is not about approved calls
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
  // Reads the remaining events and returns what the folded form returns. Blocks.
  Result<SessionTurn> finish();
  // The same for session_stream_step.
  Result<SessionStep> finish_step();

 private:
  EventStream events_;
  SessionReducer reducer_;
};

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

// With a request and no options. Templates, so that a third argument in braces is always the options.
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
