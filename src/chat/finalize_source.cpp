#include "chat/finalize_source.hpp"

#include <iterator>
#include <utility>

#include "allm/serialize.hpp"

namespace allm {
namespace {

ChatResult merge(const ChatResult& first, ChatResult second) {
  std::vector<StepResult> steps = first.steps;
  steps.insert(steps.end(), std::make_move_iterator(second.steps.begin()), std::make_move_iterator(second.steps.end()));
  second.steps = std::move(steps);
  Usage usage = first.usage;
  usage += second.usage;
  second.usage = std::move(usage);
  return second;
}

// Whether an answer can be added to the conversation of the first pass.
bool may_finalize(const RunEnd& end) {
  return std::holds_alternative<ended::Completed>(end) || std::holds_alternative<ended::MaxTurns>(end) ||
         std::holds_alternative<ended::HaltWhen>(end);
}

}  // namespace

FinalizeSource::FinalizeSource(std::shared_ptr<const Run> run, Thread thread, std::unique_ptr<ApproveSource> approval)
    : run_(std::move(run)),
      pass_(std::make_unique<ChatSource>(tool_pass(*run_), std::move(thread), std::move(approval))) {}

Poll FinalizeSource::poll(const Waker& waker) {
  while (!done_) {
    Poll polled = pass_->poll(waker);
    if (polled.is_pending()) return polled;
    if (polled.is_end()) {
      if (!first_) {
        done_ = true;
        return polled;
      }
      return complete(*first_,
                      {{"pass_1_halted", first_->halted_reason()}, {"pass_2_error", to_json_value(*pass_->failure())}});
    }
    const auto* completed = polled.event().get_if<ChatCompleted>();
    if (completed == nullptr) return polled;
    if (first_) return second_pass_done(*completed->result);
    if (auto ended = first_pass_done(completed->result)) return *std::move(ended);
  }
  return Poll::end();
}

std::optional<Poll> FinalizeSource::first_pass_done(const std::shared_ptr<const ChatResult>& result) {
  if (!may_finalize(result->end)) return complete(*result, {{"pass_1_halted", result->halted_reason()}});
  // The second pass is one more step, so the limits are checked again.
  if (std::optional<RunEnd> end = run_->ended()) {
    ChatResult ended = *result;
    ended.end = *std::move(end);
    return complete(std::move(ended), {{"pass_1_halted", result->halted_reason()}});
  }
  first_ = result;
  Thread thread = result->thread;
  if (!run_->nudge.empty()) thread.messages.push_back(user(run_->nudge));
  pass_ = std::make_unique<ChatSource>(finalize_pass(*run_), std::move(thread));
  return std::nullopt;
}

Poll FinalizeSource::second_pass_done(const ChatResult& result) {
  const Json note = {{"pass_1_halted", first_->halted_reason()}};
  if (!result.steps.empty()) return complete(merge(*first_, result), note);
  // The second pass ended without an answer: the result is that of the first pass.
  ChatResult ended = *first_;
  ended.end = result.end;
  return complete(std::move(ended), note);
}

Poll FinalizeSource::complete(ChatResult result, Json note) {
  done_ = true;
  const std::optional<Response>& response = first_ ? first_->final_response : result.final_response;
  if (response) note["pass_1_response"] = to_json_value(*response);
  result.metadata["structured_finalize"] = std::move(note);
  return ChatCompleted{std::make_shared<ChatResult>(std::move(result))};
}

}  // namespace allm
