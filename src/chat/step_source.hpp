// One step: a model call, then the tools it asks for.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "allm/collector.hpp"
#include "allm/stream.hpp"

#include "chat/prepared_call.hpp"
#include "chat/step_preparation.hpp"
#include "chat/tool_turn.hpp"
#include "engine/model_call.hpp"
#include "engine/run.hpp"

namespace allm {

// Produces the events of the step and, if it can be finished, StepCompleted. A step that fails produces an ErrorEvent
// as its last event and is not part of the conversation. A step of a loop whose model call is ended by the run's
// deadline or a cancellation is withdrawn: it ends without an error and is not part of the conversation either. One
// thread at a time.
class StepSource : public EventSource {
 public:
  enum class Place : std::uint8_t { alone, in_loop };
  // `call` and `so_far` must outlive the step. Messages below `checked_messages` were validated before. `so_far` is the
  // result of the previous steps, null for a single step.
  StepSource(std::shared_ptr<const Run> run, PreparedCall& call, Thread thread, std::size_t checked_messages,
             Place place, const ChatResult* so_far = nullptr);
  Poll poll(const Waker& waker) override;

  // Only after the end: the result, or why there is none. take_result() moves the result, or copies it if a consumer
  // still holds the StepCompleted event.
  StepResult take_result();
  const std::optional<Error>& failure() const { return failure_; }
  const std::optional<RunEnd>& withdrawn() const { return withdrawn_; }

 private:
  enum class State : std::uint8_t { begin, preparing, model, tools, completed, done };

  Poll begin();
  Poll fail(Error error);
  Status check_call() const;
  void begin_model();
  // Waits for the hook's plan; nullopt once the model call can begin.
  std::optional<Poll> poll_preparation(const Waker& waker);
  // Applies the plan to the step's model call.
  Status apply(StepPlan plan);
  // Counts the usage of the plan; returns whether a limit of the run ends the step before its model call.
  bool is_over_budget(const Usage& spent);
  // Handles an error of the model call.
  Poll model_failed(Poll polled);
  Poll advance(const Waker& waker);
  Poll poll_model(const Waker& waker);
  std::optional<Poll> poll_tools(const Waker& waker);
  // Takes the model's message and ends its call; returns an error if there is no message.
  std::optional<Error> take_message();
  // Decides what follows the message; returns an error if the step cannot continue.
  std::optional<Error> message_done();
  void begin_tools();
  void tools_done();
  Poll complete();
  void append_assistant(bool with_calls);

  std::shared_ptr<const Run> run_;
  PreparedCall* call_;  // the constructor's, or `planned_call_`
  std::size_t checked_messages_;
  const ChatResult* so_far_;
  State state_ = State::begin;
  Span span_;
  StreamCollector collector_;
  std::unique_ptr<StepPreparation> preparation_;
  std::unique_ptr<PreparedCall> planned_call_;  // if the plan changes settings
  std::optional<ModelCall> model_;
  std::unique_ptr<ToolTurn> tools_;
  std::shared_ptr<StepResult> step_;
  std::optional<Error> failure_;
  std::optional<RunEnd> withdrawn_;
  const Place place_;
};

}  // namespace allm
