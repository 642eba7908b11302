// The collector folds events into results. A program that applies every event of a run to a collector gets the result
// that the folded function (generate, step or chat) would have returned.
#pragma once

#include <memory>
#include <vector>

#include "allm/event.hpp"
#include "allm/tool_runner.hpp"

namespace allm {

// One thread at a time. A moved-from collector can only be assigned to or destroyed.
class StreamCollector {
 public:
  StreamCollector();
  // `seed` is the thread that the run started from. It is the thread of the result if the run is cancelled in its first
  // step.
  explicit StreamCollector(Thread seed);
  StreamCollector(const StreamCollector& other);
  StreamCollector(StreamCollector&& other) noexcept;
  StreamCollector& operator=(const StreamCollector& other);
  StreamCollector& operator=(StreamCollector&& other) noexcept;
  ~StreamCollector();

  void apply(const Event& event);
  void apply(Event&& event);  // the same; moves from the event

  // The response of the current message. If no message has begun, fails with the error of the run, or with StreamError
  // `cancelled` if there was no error.
  Result<Response> response() const&;
  Result<Response> response() &&;  // the same; moves from the collector
  // The last finished step. If no step has finished, fails with the error of the run, or with StreamError `cancelled`.
  Result<StepResult> step_result() const;
  // The run's result. If the first step failed, fails with its error. If the run was not read to its end, returns the
  // finished steps with halted_reason "cancelled", or "error" after an ErrorEvent.
  Result<ChatResult> chat_result() const;
  // The result of run_tool_calls: messages in the order in which the calls were started. Fails with the error of the
  // batch, or with StreamError `cancelled` if a call has no result yet.
  Result<ToolBatch> tool_batch() const;
  // The tool messages of the current step or batch that are known so far, in the same order.
  std::vector<Message> tool_messages() const;

  bool saw_chat_completed() const;
  // Whether the run failed without a finished step: there was an ErrorEvent and no StepCompleted, and none can follow.
  // An ErrorEvent inside a message does not count, because the StepCompleted of its step follows.
  bool failed() const;
  // Whether a message is being collected: one has begun and its step is not completed.
  bool in_message() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace allm
