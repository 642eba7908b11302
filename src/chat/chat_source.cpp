#include "chat/chat_source.hpp"

#include <string>
#include <utility>

namespace allm {
namespace {

// A halt's facts without the reason, which has a place of its own.
Json without_reason(Json metadata) {
  metadata.erase("halted_reason");
  return metadata;
}

bool runs_more(const StepResult& step) {
  return step.response.finish_reason == FinishReason::tool_calls && !step.response.tool_calls.empty();
}

}  // namespace

ChatSource::ChatSource(std::shared_ptr<const Run> run, Thread thread)
    : run_(std::move(run)), call_(*run_, {}), result_(std::make_shared<ChatResult>()) {
  result_->thread = thread;
  begin_step(std::move(thread), 0);
}

void ChatSource::begin_step(Thread thread, std::size_t checked_messages) {
  step_.emplace(run_, call_, std::move(thread), checked_messages, StepSource::Place::in_loop, result_.get());
}

Poll ChatSource::poll(const Waker& waker) { return step_ ? poll_step(waker) : finish_run(); }

Poll ChatSource::poll_step(const Waker& waker) {
  Poll polled = step_->poll(waker);
  while (polled.is_end()) {
    if (!step_done()) {
      step_.reset();
      polled = finish_run();
      break;
    }
    polled = step_->poll(waker);
  }
  return polled;
}

Poll ChatSource::finish_run() {
  if (!result_ || failure_) return Poll::end();
  return ChatCompleted{std::exchange(result_, nullptr)};
}

bool ChatSource::step_done() {
  if (run_->side_usage) result_->usage += run_->side_usage->take();
  if (const auto& end = step_->withdrawn()) {
    finish(*end);
    return false;
  }
  if (const auto& error = step_->failure()) {
    if (result_->steps.empty()) {
      failure_ = error;
    } else {
      result_->error = error;
      finish(halted::error);
    }
    return false;
  }
  const std::size_t checked = result_->thread.messages.size();
  result_->steps.push_back(step_->take_result());
  const StepResult& step = result_->steps.back();
  result_->thread.messages = step.thread.messages;
  result_->usage += step.response.usage;
  if (run_->ledger) run_->ledger->add_usage(step.response.usage);
  if (halts(step)) return false;
  begin_step(step.thread, checked);
  return true;
}

bool ChatSource::halts(const StepResult& step) {
  const auto index = static_cast<std::int64_t>(result_->steps.size()) - 1;
  if (const auto reason = step.metadata.find("halted_reason"); reason != step.metadata.end()) {
    if (*reason == halted::ask_user) {
      finish_asking(step);
    } else {
      result_->metadata = without_reason(step.metadata);
      finish(reason->get_ref<const std::string&>());
    }
    return true;
  }
  if (!step.manual_tool_calls.empty() || step.metadata.contains("mode")) {
    result_->manual_tool_calls = step.manual_tool_calls;
    result_->metadata["manual_turn_index"] = index;
    finish(halted::manual_tool_calls);
    return true;
  }
  if (step.response.finish_reason == FinishReason::error) {
    result_->error = step.response.error;
    finish(halted::error);
    return true;
  }
  if (!runs_more(step)) {
    finish(halted::completed);
    return true;
  }
  if (const std::optional<RunEnd> end = run_->ended()) {
    finish(*end);
    return true;
  }
  if (run_->options.halt_when && run_->options.halt_when(step)) {
    result_->metadata["halt_when_step_index"] = index;
    finish(halted::halt_when);
    return true;
  }
  if (index + 1 >= run_->max_turns) {
    result_->metadata["max_turns"] = run_->max_turns;
    finish(halted::max_turns);
    return true;
  }
  return false;
}

void ChatSource::finish_asking(const StepResult& step) {
  result_->metadata = without_reason(step.metadata);
  result_->pending_question = result_->metadata["pending_question"].get<std::string>();
  result_->pending_tool_call_id = result_->metadata["pending_tool_call_id"].get<std::string>();
  Message question = assistant(*result_->pending_question);
  question.metadata = {{"ask_user", true}, {"tool_call_id", *result_->pending_tool_call_id}};
  result_->thread.messages.push_back(std::move(question));
  finish(halted::ask_user);
}

void ChatSource::finish(std::string_view reason) {
  result_->halted_reason = reason;
  if (!result_->steps.empty()) result_->final_response = result_->steps.back().response;
}

void ChatSource::finish(const RunEnd& end) {
  result_->metadata = end.metadata;
  finish(end.reason);
}

}  // namespace allm
