// SessionRunner: runs sessions of a store so that a crash at any moment loses nothing that was reported.
//
//   allm::SessionRunner runner(engine, store);
//   auto turn = runner.reply(id, "What is the weather?");
//   if (!turn) …                      // after a crash: runner.resume(id)
//
// While a run goes on, each fact is written to the log of its session (the journal) and committed before anyone is told
// about it: a complete response of the model before its MessageCompleted, a tool call before it is started, its outcome
// before ToolExecutionCompleted and before the model gets it, the new session before ChatCompleted. resume() runs an
// interrupted run again from its beginning, with what is recorded: the model is not asked again for a recorded
// response, and a call with a recorded outcome is not run again. After the last fact the run goes on as usual. A call
// that was started and has no outcome is interrupted; Tool::on_interrupted decides. docs/durability.md has the promises
// in a table.
//
// Callbacks and options are not recorded. resume() gets the options again, which should be those of the interrupted
// run. Callbacks such as prepare_step, halt_when and on_tool_error are called again; the gate is not asked again about
// calls that it has decided on. A run_timeout begins again. A tool that runs an agent is one call: the steps of the
// agent are not recorded.
//
// A runner holds the lease of a session while it runs it, and renews it at a third of its duration. When somebody else
// has taken the session, the run ends with StoreError `fenced`: nothing more is written, and no further tool or model
// call is started, also if the process was stopped for a while. While the store is unavailable, a run waits for it as
// long as a lease lasts.
//
// Epochs: a session that waits for an answer (a question, manual calls, an approval) is identified by its version. An
// answer names the version that it answers as its epoch. Of several answers to one epoch, one is accepted; the others,
// and answers to older epochs, fail with StoreError `conflict`. A call without an epoch is for the session as it was
// when the call began: `conflict`, if somebody else changed it before the run began.
//
// All functions are safe to call from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allm/session_ops.hpp"
#include "allm/store.hpp"
#include "allm/work_queue.hpp"

namespace allm {

struct RunRequest;

struct RunnerOptions {
  // How long after a crash nobody else can run the session, and how long a run waits for a store that is unavailable.
  // Long enough for a few heartbeats that come late.
  std::chrono::milliseconds lease = std::chrono::seconds(30);
  // Whether the events of runs are written to the log (kind "event"), for programs that follow a session. Text that
  // comes in many deltas is joined. When a run is resumed, an event {"type": "run_resumed"} follows, and then all
  // events of the run again.
  bool log_events = false;
};

// What a run is to do. One of the members is set.
//
//   {"start": true}                                run the thread as it is
//   {"continue": true}                             the same; also after all pending calls were answered
//   {"message": "text"}                            add a user message, or answer a pending question
//   {"results": [{"tool_call_id": …, "result": …, "is_error": …}]}
//                                                  answer pending calls; if none is pending then, run the loop
//   {"decisions": [{"tool_call_id": …, "decision": "allow" | "deny" | "suspend", "arguments": …, "reason": …}]}
//                                                  decide on suspended calls, as session_approve does
//
// "message" can also be a whole message (docs/session-format.md), and "answer" is another name for it. Each form may
// have "epoch".
struct SessionOrder {
  enum class Kind : std::uint8_t { start, continue_run, message, results, decisions };
  Kind kind = Kind::start;
  std::optional<Message> message = std::nullopt;
  std::vector<SubmittedResult> results = {};
  std::vector<CallDecision> decisions = {};
  // The version of the session that is answered. Default: the version that the session has when the function is called,
  // or when a job is claimed; then nothing prevents that somebody else has answered the question before.
  std::optional<std::int64_t> epoch = std::nullopt;
};
Json session_order_to_json(const SessionOrder& order);
// Fails with ValidationError `invalid_request`.
Result<SessionOrder> session_order_from_json(const Json& json);

// The session after a run. If it waits for an answer, `version` is the epoch to name.
struct StoredTurn {
  Session session;
  std::int64_t version = 0;
  ChatResult result;  // of the whole run, including the steps before a crash
};

// A run as a stream of events. Movable, single pass, one thread at a time. Polling never blocks. If it is dropped
// before its end, the run is interrupted and can be resumed; to end it in an orderly way, cancel it (CallOptions).
class StoredStream : public PulledStream<StoredStream> {
 public:
  Poll poll(const Waker& waker) { return events_.poll(waker); }
  void drop() { events_.drop(); }
  // Reads the remaining events and returns what the blocking function returns. Blocks.
  Result<StoredTurn> finish();

 private:
  friend class SessionRunner;
  struct State;
  StoredStream(EventStream events, std::shared_ptr<State> state);
  EventStream events_;
  std::shared_ptr<State> state_;  // shared with the source of the events, which writes the result there
};

// Copies share everything. The destructor of the last copy and the last stream waits until the writers have ended.
class SessionRunner {
 public:
  // `store` is shared with the program.
  SessionRunner(Engine engine, std::shared_ptr<SessionStore> store, RunnerOptions options = {});

  // Each runs the session with this id and returns when the run has ended and is committed. They fail as the session
  // operations of the same name do (allm/session_ops.hpp), and with StoreError: `leased` if somebody else runs the
  // session, `conflict` if the epoch is over, if the session has changed since the call began or if an interrupted run
  // has to be resumed first, `fenced`, and the errors of the store. If the run fails in its first step, the session is
  // as before and the error is returned.
  Result<StoredTurn> start(const std::string& id, const CallOptions& options = default_options()) const;
  Result<StoredTurn> reply(const std::string& id, Content reply, std::optional<std::int64_t> epoch = std::nullopt,
                           const CallOptions& options = default_options()) const;
  Result<StoredTurn> continue_run(const std::string& id, const CallOptions& options = default_options()) const;
  // Answers pending calls. While calls are pending, no model is called.
  Result<StoredTurn> submit(const std::string& id, std::int64_t epoch, std::vector<SubmittedResult> results,
                            const CallOptions& options = default_options()) const;
  Result<StoredTurn> approve(const std::string& id, std::int64_t epoch, std::vector<CallDecision> decisions,
                             const CallOptions& options = default_options()) const;
  // Continues the run that a crash or a dropped stream has interrupted. Fails with SessionError
  // `invalid_status_for_operation` if there is none.
  Result<StoredTurn> resume(const std::string& id, const CallOptions& options = default_options()) const;

  // The same as streams, which return at once.
  StoredStream stream(const std::string& id, SessionOrder order, const CallOptions& options = default_options()) const;
  StoredStream stream_resume(const std::string& id, const CallOptions& options = default_options()) const;

  // Runs a job of a work queue with the job's lease; the job ends in the same commit as the run. If a worker that had
  // the job before has died, the run is resumed. A run that something else has left interrupted is resumed before. If
  // the order is refused (an old epoch, a status that does not allow it), the job ends, too, and the error is returned.
  Result<StoredTurn> run_job(const Job& job, const CallOptions& options = default_options()) const;

 private:
  class Impl;
  friend class SessionWorker;
  Result<StoredTurn> run_job(const Job& job, std::chrono::nanoseconds lease_end, const CallOptions& options) const;
  StoredStream open(RunRequest request, const CallOptions& options) const;
  Result<StoredTurn> give_up(const Job& job, const CallOptions& options) const;
  std::shared_ptr<Impl> impl_;  // shared with the streams
};

// Whether the session has a run that was interrupted, or that goes on now.
bool has_open_run(const Session& session);

}  // namespace allm
