// The collector folds events into results. It is what the folded functions use themselves, so a
// program that shows events and then wants the result gets exactly what `chat` would have returned.
#pragma once

#include <memory>

#include "allm/event.hpp"
#include "allm/tool_runner.hpp"

namespace allm {

// One thread at a time. A moved-from collector can only be assigned to or destroyed.
class StreamCollector {
 public:
  StreamCollector();
  // `seed` is the thread that the run started from: what a cancelled run leaves behind.
  explicit StreamCollector(Thread seed);
  StreamCollector(const StreamCollector& other);
  StreamCollector(StreamCollector&& other) noexcept;
  StreamCollector& operator=(const StreamCollector& other);
  StreamCollector& operator=(StreamCollector&& other) noexcept;
  ~StreamCollector();

  void apply(const Event& event);
  void apply(Event&& event);  // the same, taking what it keeps from the event

  // The response of the message being collected. Fails with the error that came before any message.
  Result<Response> response() const&;
  Result<Response> response() &&;  // the same, giving up what was collected
  // The last finished step. Fails with the error that kept it from finishing, or with StreamError
  // `cancelled`.
  Result<StepResult> step_result() const;
  // The run's result. A run whose first step failed gives that error; one that was not read to its
  // end gives a result with halted_reason "cancelled" and the steps that were finished.
  Result<ChatResult> chat_result() const;
  // The result of a tool batch: messages in the order in which the calls were started.
  Result<ToolBatch> tool_batch() const;

  bool saw_chat_completed() const;
  // Whether the run failed at once: an error came, and no step was or can be finished. An error
  // within a message is the message's, and its step is still to come.
  bool failed() const;
  // Whether a message is being collected: one has begun and its step is not completed.
  bool in_message() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace allm
