#include "chat/step_source.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "data/tool_errors.hpp"
#include "lanes/lanes.hpp"
#include "tools/gate.hpp"
#include "tools/unknown_tool.hpp"

namespace allm {
namespace {

// The answer to a call that was pending when the turn ended.
std::string not_run_content(const Run& run, const ToolCall& call, const std::string& why) {
  return failure_content(run, ToolFailure{not_run_error(call, why)});
}

bool is_cancelled(const Run& run) { return run.cancel_level() >= CancelSignal::Level::after_tools; }

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
      case State::not_run:
        if (auto polled = poll_not_run()) return *std::move(polled);
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
  model_.reset();  // its spans end before the step's
  span_.fail(error);
  failure_ = error;
  return ErrorEvent{std::move(error)};
}

Poll StepSource::begin() {
  span_ = Span(run_, SpanKind::step, new_span(*run_));
  std::vector<FieldError> errors;
  check_messages(step_->thread.messages, checked_messages_, errors);
  if (!errors.empty()) return fail(validate(step_->thread).error());
  call_->set_messages(step_->thread.messages);
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
  // What a run's later turns add to the request was checked as part of the thread; the rest does not change.
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
  if (!*plan) return fail(plan->error());
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
    run_ = planned_run(*run_, std::move(plan));
    planned_call_ = std::make_unique<PreparedCall>(*run_);
    call_ = planned_call_.get();
  }
  call_->set_messages(std::move(messages));
  return call_->check(0);
}

Poll StepSource::poll_model(const Waker& waker) {
  Poll polled = model_->poll(waker);
  if (!run_->shows_messages) {
    while (polled.has_event() && polled.event().tag() != EventTag::error) {
      collector_.apply(polled.take());
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
  // The call itself failed, or nobody wants the step any more: the error is the step's.
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
  model_->came_to(step_->response);
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
  std::vector<Approval> decisions;
  // A run that is over asks nobody: its calls are not run in any case.
  if (run_->approve && !is_cancelled(*run_)) decisions = ask_gate(*run_, calls);
  std::vector<ToolCall> to_run;
  std::vector<Approval> of_these;
  ended::Manual manual;
  is_pending_.reserve(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const ToolCall& call = calls[i];
    const Tool* tool = run_->tools->find(call.name);
    const Approval decision = decisions.empty() || needs_no_approval(*run_, call) ? Approval::allow() : decisions[i];
    const bool is_manual = tool != nullptr && tool->manual && decision.kind() == Approval::Kind::allow;
    is_pending_.push_back(is_manual || decision.kind() == Approval::Kind::suspend);
    if (is_pending_.back()) {
      manual.calls.push_back({approved_call(call, decision), is_manual ? PendingKind::manual : PendingKind::suspended});
    } else {
      to_run.push_back(call);
      if (!decisions.empty()) of_these.push_back(decision);
    }
  }
  if (!manual.calls.empty()) step_->end = std::move(manual);
  if (!to_run.empty() || is_cancelled(*run_)) {
    batch_ =
        std::make_unique<ToolBatchSource>(run_, std::move(to_run), lane_calls(), std::move(of_these), span_.ids().id);
    state_ = State::tools;
  }
}

std::optional<Poll> StepSource::poll_tools(const Waker& waker) {
  Poll polled = batch_->poll(waker);
  if (!polled.is_end()) return polled;
  tools_done();
  return std::nullopt;
}

void StepSource::tools_done() {
  std::vector<Message> messages = batch_->take_messages();
  std::string why = "another call ended the turn";
  if (batch_->halt()) {
    step_->done = true;
    step_->end = *batch_->halt();
  } else if (is_cancelled(*run_)) {
    step_->done = true;
    step_->end = ended::Cancelled{};
    why = "the run was cancelled";
  }
  // A turn that was ended leaves nothing pending, so that the thread stays valid.
  const bool answer_pending = step_->done;
  auto message = messages.begin();
  for (std::size_t i = 0; i < is_pending_.size(); ++i) {
    const ToolCall& call = step_->response.tool_calls[i];
    if (!is_pending_[i]) {
      step_->tool_results.push_back(std::move(*message++));
    } else if (answer_pending) {
      step_->tool_results.push_back(tool_result(call.id, not_run_content(*run_, call, why)));
    }
  }
  for (const Message& result : step_->tool_results) step_->thread.messages.push_back(result);
  batch_.reset();
  state_ = answer_pending ? State::not_run : State::completed;
}

std::optional<Poll> StepSource::poll_not_run() {
  while (next_not_run_ < is_pending_.size()) {
    const std::size_t index = next_not_run_++;
    if (!is_pending_[index]) continue;
    const Message& message = step_->tool_results[index];
    return Event(ToolResultEncoded{*message.tool_call_id, message.text()});
  }
  state_ = State::completed;
  return std::nullopt;
}

Poll StepSource::complete() {
  state_ = State::done;
  span_.stop({.step = step_.get()});
  return StepCompleted{.step = step_, .mode = run_->mode};
}

StepResult StepSource::take_result() {
  // The count cannot rise again from one: this is the only holder.
  if (step_.use_count() == 1) return std::move(*step_);
  return *step_;
}

}  // namespace allm
