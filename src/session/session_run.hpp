// A run of a session, opened with a journal. For the session operations and for the runner of stored sessions.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "allm/session_ops.hpp"

#include "engine/run_journal.hpp"

namespace allm {

enum class SessionOperation : std::uint8_t { start, reply, continue_run, step, approve };

struct SessionRun {
  SessionOperation operation = SessionOperation::start;
  Request request = {};                      // its messages are appended to the session's thread
  std::vector<CallDecision> decisions = {};  // for `approve`
};

// Whether the operation is allowed in the session's status.
Status check_session_run(const Session& session, const SessionRun& run);

struct OpenedSessionRun {
  EventStream events;
  SessionReducer reducer;  // folds the events into the new session
};
// An operation that is not allowed becomes a stream with its error, without the journal.
OpenedSessionRun open_session_run(const Engine& engine, Session session, SessionRun run, const CallOptions& options,
                                  std::shared_ptr<RunJournal> journal = nullptr);

}  // namespace allm
