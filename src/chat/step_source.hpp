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

// Gives the events of the step and, if it can be finished, StepCompleted. A step that cannot gives an
// ErrorEvent as its last event; it is then no part of the conversation. Neither is one of a loop whose model call the
// run ended by its deadline or a cancellation; that one just ends.
class StepSource : public EventSource {
 public:
  enum class Place : std::uint8_t { alone, in_loop };
  // `call` and `so_far` must outlive the step. Messages below `checked_messages` were validated before. `so_far` is the
  // result of the steps before, null for a step on its own.
  StepSource(std::shared_ptr<const Run> run, PreparedCall& call, Thread thread, std::size_t checked_messages,
             Place place, const ChatResult* so_far = nullptr);
  Poll poll(const Waker& waker) override;

  // After the end: the result, or why there is none. Taking it moves it, unless a consumer still
  // holds the event that showed it.
  StepResult take_result();
  const std::optional<Error>& failure() const { return failure_; }
  const std::optional<RunEnd>& withdrawn() const { return withdrawn_; }

 private:
  enum class State : std::uint8_t { begin, preparing, model, tools, completed, done };

  Poll begin();
  Poll fail(Error error);
  Status check_call() const;
  void begin_model();
  // Waits for the hook's plan; nothing once the model call is made.
  std::optional<Poll> poll_preparation(const Waker& waker);
  // Makes the step's call as the plan wants it.
  Status apply(StepPlan plan);
  // Counts what the plan cost; whether a limit of the run ends the step before its model call.
  bool is_over_budget(const Usage& spent);
  // The model call gave an error.
  Poll model_failed(Poll polled);
  Poll advance(const Waker& waker);
  Poll poll_model(const Waker& waker);
  std::optional<Poll> poll_tools(const Waker& waker);
  // Takes the model's message and is done with its call; an error if there is none.
  std::optional<Error> take_message();
  // Decides what follows the message; an error if the step cannot go on.
  std::optional<Error> message_done();
  void begin_tools();
  void tools_done();
  Poll complete();
  void append_assistant(bool with_calls);

  std::shared_ptr<const Run> run_;
  PreparedCall* call_;  // the run's, or `planned_call_`
  std::size_t checked_messages_;
  const ChatResult* so_far_;
  State state_ = State::begin;
  Span span_;
  StreamCollector collector_;
  std::unique_ptr<StepPreparation> preparation_;
  std::unique_ptr<PreparedCall> planned_call_;  // of a step whose settings differ from the run's
  std::optional<ModelCall> model_;
  std::unique_ptr<ToolTurn> tools_;
  std::shared_ptr<StepResult> step_;
  std::optional<Error> failure_;
  std::optional<RunEnd> withdrawn_;
  const Place place_;
};

}  // namespace allm
