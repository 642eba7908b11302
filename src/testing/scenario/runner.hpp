// Runs the operations of one scenario with one engine and one current session, and returns the observations. One thread
// at a time; blocks while an operation runs.
#pragma once

#include "allm/engine.hpp"
#include "allm/options.hpp"
#include "allm/session.hpp"
#include "allm/stream.hpp"

#include "testing/scenario/scenario.hpp"

namespace allm::scenario {

class Runner {
 public:
  // The scenario must outlive the runner.
  explicit Runner(const Scenario& scenario);

  // Returns the observation: {"ok": …}, {"error": …} or {"raised": …}, with "events" for a stream.
  Json run(const Operation& operation);

 private:
  // What the functions below need in addition to the members of their own operation.
  struct Call {
    const Operation& operation;
    CallOptions options;
  };

  Json run(const ModelOperation& what, const Call& call);
  Json run(const ToolsOperation& what, const Call& call);
  Json run(const SessionStartOperation& what, const Call& call);
  Json run(const SessionReplyOperation& what, const Call& call);
  Json run(const SessionContinueOperation& what, const Call& call);
  Json run(const SessionStepOperation& what, const Call& call);
  Json run(const SessionRecoverOperation& what, const Call& call);
  Json run(const SubmitOperation& what, const Call& call);
  Json run(const SessionRoundtripOperation& what, const Call& call);
  Json run(const AppendMessagesOperation& what, const Call& call);

  // The observation of a call that failed before anything ran.
  Json refused(const Operation& operation, const Error& error);
  template <class T>
  Json finished(const Result<T>& result);
  template <class Folded>
  Json session_finished(const Result<Folded>& result);
  Json session_changed(Result<Session> session);

  // Reads a stream to its end, or drops it after the number of events in `operation.take`.
  template <class Stream, class OnEvent>
  void read(Stream stream, const Operation& operation, OnEvent on_event);
  template <class Finish>
  Json run_session_stream(SessionStream stream, const Operation& operation, Finish finish);

  void remember(const StepResult& step) { thread_ = step.thread; }
  void remember(const ChatResult& chat) { thread_ = chat.thread; }

  const Scenario& scenario_;
  Engine engine_;
  Thread thread_;    // of the last step or chat
  Session session_;  // the current one
  Json events_;      // of the current stream
};

}  // namespace allm::scenario
