#include "chat/step_source.hpp"

#include <string>
#include <utility>

#include "engine/over_budget.hpp"
#include "runtime/poll_budget.hpp"
#include "tools/gate.hpp"
#include "tools/unknown_tool.hpp"

namespace allm {
namespace {

using Reason = ValidationError::Reason;

}  // namespace

StepSource::StepSource(std::shared_ptr<const Run> run, PreparedCall& call, Thread thread, std::size_t checked_messages,
                       Place place, const ChatResult* so_far)
    : run_(std::move(run)),
      call_(&call),
      checked_messages_(checked_messages),
      so_far_(so_far),
      step_(std::make_shared<StepResult>()),
      place_(place) {
  step_->thread = std::move(thread);
}

Poll StepSource::poll(const Waker& waker) { return state_ == State::model ? poll_model(waker) : advance(waker); }

Poll StepSource::advance(const Waker& waker) {
  while (true) {
    switch (state_) {
      case State::begin: {
        Poll begun = begin();
        if (begun.has_event()) return begun;
        break;
      }
      case State::preparing:
        if (auto polled = poll_preparation(waker)) return *std::move(polled);
        break;
      case State::model:
        return poll_model(waker);
      case State::tools:
        if (auto polled = poll_tools(waker)) return *std::move(polled);
        break;
      case State::completed:
        return complete();
      case State::done:
        return Poll::end();
    }
  }
}

Poll StepSource::fail(Error error) {
  state_ = State::done;
  model_.reset();  // so that its spans end before the step's
  span_.fail(error);
  failure_ = error;
  return ErrorEvent{std::move(error)};
}

Poll StepSource::begin() {
  span_ = Span(run_, SpanKind::step, new_span(*run_));
  std::vector<FieldError> errors;
  check_messages(step_->thread.messages, checked_messages_, errors);
  if (!errors.empty()) return fail(validate(step_->thread).error());
  if (Status paired = call_->set_messages(step_->thread.messages, checked_messages_, Reason::invalid_thread); !paired) {
    return fail(paired.error());
  }
  if (run_->options.prepare_step) {
    preparation_ = std::make_unique<StepPreparation>(run_, step_->thread, so_far_, span_.ids().id);
    state_ = State::preparing;
    return Poll::pending();
  }
  if (Status valid = check_call(); !valid) return fail(valid.error());
  begin_model();
  return Poll::pending();
}

Status StepSource::check_call() const {
  // In later steps only the messages are new, and they were checked as part of the thread.
  return checked_messages_ == 0 ? call_->check(call_->messages().size()) : Status();
}

void StepSource::begin_model() {
  call_->set_span(span_.ids().id);
  model_.emplace(run_, call_->call(), span_.ids().id);
  state_ = State::model;
}

std::optional<Poll> StepSource::poll_preparation(const Waker& waker) {
  std::optional<Result<StepPlan>> plan = preparation_->poll(waker);
  if (!plan) return Poll::pending();
  preparation_.reset();
  if (!*plan) {
    if (place_ == Place::in_loop) withdrawn_ = limit_of(plan->error());
    if (!withdrawn_) return fail(plan->error());
    state_ = State::done;
    span_.fail(plan->error());
    return Poll::end();
  }
  if (is_over_budget((*plan)->usage)) {
    state_ = State::done;
    return Poll::end();
  }
  if (Status applied = apply(**std::move(plan)); !applied) return fail(applied.error());
  begin_model();
  return std::nullopt;
}

bool StepSource::is_over_budget(const Usage& spent) {
  if (spent == Usage{}) return false;
  run_->side_usage->add(spent);
  if (!run_->ledger) return false;
  run_->ledger->add_usage(spent);
  if (place_ == Place::in_loop) withdrawn_ = run_->ledger->exceeded();
  return withdrawn_.has_value();
}

Status StepSource::apply(StepPlan plan) {
  if (!plan.params.is_object()) {
    return std::unexpected(validation_error(ValidationError::Reason::invalid_option, {"params"}, "invalid_value",
                                            "prepare_step gave params that are not an object"));
  }
  const MessageList& stored = step_->thread.messages;
  MessageList messages = plan.messages.value_or(stored);
  if (plan.messages) {
    if (Status together = check_view(stored, messages); !together) return together;
  }
  if (!plan.messages && !changes_settings(plan)) return check_call();
  if (changes_settings(plan)) {
    const bool has_choice = plan.tool_choice.has_value();
    run_ = planned_run(*run_, std::move(plan));
    planned_call_ = std::make_unique<PreparedCall>(*run_);
    const bool is_first = so_far_ == nullptr || so_far_->steps.empty();
    if (!is_first && !has_choice) planned_call_->release_tool_choice();
    call_ = planned_call_.get();
  }
  const Status paired = call_->set_messages(std::move(messages), 0, Reason::invalid_request);
  return paired ? call_->check(0) : paired;
}

Poll StepSource::poll_model(const Waker& waker) {
  Poll polled = model_->poll(waker);
  if (!run_->shows_messages) {
    PollBudget budget;
    while (polled.has_event() && polled.event().tag() != EventTag::error) {
      collector_.apply(polled.take());
      if (!budget.spend(waker)) return Poll::pending();
      polled = model_->poll(waker);
    }
  }
  if (polled.has_event()) {
    collector_.apply(polled.event());
    if (polled.event().tag() == EventTag::error) polled = model_failed(std::move(polled));
  } else if (polled.is_end()) {
    std::optional<Error> error = take_message();
    if (!error) error = message_done();
    polled = error ? fail(*std::move(error)) : advance(waker);
  }
  return polled;
}

Poll StepSource::model_failed(Poll polled) {
  const Error error = polled.event().get_if<ErrorEvent>()->error;
  const std::optional<RunEnd>& ended = model_->ended();
  if (ended && place_ == Place::in_loop) {
    state_ = State::done;
    withdrawn_ = ended;
    model_.reset();
    span_.fail(error);
    return Poll::end();
  }
  // The call failed, or the run was cancelled: the step fails with the error.
  const bool is_cancelled = ended && std::holds_alternative<ended::Cancelled>(*ended);
  if (!collector_.in_message() || is_cancelled) return fail(error);
  return polled;
}

void StepSource::append_assistant(bool with_calls) {
  const Response& response = step_->response;
  Message message = assistant(*response.output_text);
  if (response.message) message.metadata = response.message->metadata;
  message.metadata["finish_reason"] = response.finish_reason ? Json(to_string(*response.finish_reason)) : Json(nullptr);
  if (with_calls) message.tool_calls = response.tool_calls;
  step_->thread.messages.push_back(std::move(message));
}

std::optional<Error> StepSource::take_message() {
  Result<Response> collected = std::move(collector_).response();
  if (!collected) return collected.error();
  step_->response = *std::move(collected);
  step_->response.request_id = run_->request_id;
  model_->report_result(step_->response);
  model_.reset();
  return std::nullopt;
}

std::optional<Error> StepSource::message_done() {
  const Response& response = step_->response;
  const bool runs_tools = response.finish_reason == FinishReason::tool_calls && !response.tool_calls.empty();
  state_ = State::completed;
  if (!runs_tools) {
    step_->done = true;
    append_assistant(false);
    if (response.finish_reason == FinishReason::error) step_->end = ended::Failed{response.error};
    return std::nullopt;
  }
  if (run_->mode == Mode::manual) {
    append_assistant(true);
    step_->end = ended::Manual{};
    return std::nullopt;
  }
  if (run_->on_unknown_tool == OnUnknownTool::error) {
    if (auto unknown = find_unknown_tool(response.tool_calls, *run_->tools)) return unknown;
  }
  append_assistant(true);
  begin_tools();
  return std::nullopt;
}

void StepSource::begin_tools() {
  const std::vector<ToolCall>& calls = step_->response.tool_calls;
  tools_ = std::make_unique<ToolTurn>(run_, calls, sort_calls(*run_, calls, ask_gate(*run_, calls)), span_.ids().id);
  state_ = State::tools;
}

std::optional<Poll> StepSource::poll_tools(const Waker& waker) {
  Poll polled = tools_->poll(waker);
  if (!polled.is_end()) return polled;
  tools_done();
  return std::nullopt;
}

void StepSource::tools_done() {
  step_->tool_results = tools_->take_messages();
  for (const Message& result : step_->tool_results) step_->thread.messages.push_back(result);
  step_->done = tools_->is_over();
  if (const auto& end = tools_->end()) step_->end = *end;
  tools_.reset();
  state_ = State::completed;
}

Poll StepSource::complete() {
  state_ = State::done;
  span_.stop({.step = step_.get()});
  return StepCompleted{.step = step_, .mode = run_->mode};
}

StepResult StepSource::take_result() {
  // This is the only owner, and no other thread can copy the pointer.
  if (step_.use_count() == 1) return std::move(*step_);
  return *step_;
}

}  // namespace allm
