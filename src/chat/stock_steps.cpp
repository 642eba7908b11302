#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allm/steps.hpp"

#include "chat/call_pairs.hpp"

namespace allm {
namespace {

// --- keep_last ---

// The last user message below `end`, if the messages from `end` on do not begin with one.
std::optional<std::size_t> task_before(const MessageList& messages, std::size_t end) {
  std::size_t first = end;
  while (first < messages.size() && messages[first].role == Role::system) ++first;
  if (first < messages.size() && messages[first].role == Role::user) return std::nullopt;
  for (std::size_t i = end; i-- > 0;) {
    if (messages[i].role == Role::user) return i;
  }
  return std::nullopt;
}

StepPlan plan_to_keep(const MessageList& messages, std::size_t count) {
  const std::size_t cut = clean_cut(messages, messages.size() - std::min(messages.size(), count));
  if (cut == 0) return {};
  const std::optional<std::size_t> task = task_before(messages, cut);
  std::vector<Message> kept;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (i >= cut || i == task || messages[i].role == Role::system) kept.push_back(messages[i]);
  }
  return {.messages = MessageList(std::move(kept))};
}

// --- drop_old_tool_results ---

std::string note_for(std::size_t bytes) { return "[old result of " + std::to_string(bytes) + " bytes left out]"; }

std::size_t seen_by_model(const MessageList& messages) {
  std::size_t end = messages.size();
  while (end > 0 && messages[end - 1].role != Role::assistant) --end;
  return end;
}

StepPlan plan_to_drop(const MessageList& messages, std::size_t limit) {
  // Results below this index are dropped; found by counting from the newest result.
  std::size_t too_old = 0;
  std::size_t sum = 0;
  for (std::size_t i = messages.size(); i-- > 0 && too_old == 0;) {
    if (messages[i].role != Role::tool) continue;
    sum += content_bytes(messages[i].content);
    if (sum > limit) too_old = i + 1;
  }
  too_old = std::min(too_old, seen_by_model(messages));
  if (too_old == 0) return {};
  std::vector<Message> view(messages.begin(), messages.end());
  for (std::size_t i = 0; i < too_old; ++i) {
    if (view[i].role != Role::tool) continue;
    const std::size_t bytes = content_bytes(view[i].content);
    std::string note = note_for(bytes);
    if (note.size() < bytes) view[i].content = std::move(note);
  }
  return {.messages = MessageList(std::move(view))};
}

// --- then ---

template <class T>
void take(std::optional<T>& target, std::optional<T>& newer) {
  if (newer) target = std::move(newer);
}

StepPlan merged(StepPlan first, StepPlan second) {
  take(first.messages, second.messages);
  take(first.tools, second.tools);
  take(first.model, second.model);
  take(first.temperature, second.temperature);
  take(first.max_tokens, second.max_tokens);
  take(first.response_format, second.response_format);
  take(first.tool_choice, second.tool_choice);
  take(first.prompt_cache, second.prompt_cache);
  if (first.params.is_object() && second.params.is_object()) {
    for (const auto& [name, value] : second.params.items()) first.params[name] = value;
  } else {
    first.params = std::move(second.params);
  }
  first.usage += second.usage;
  return first;
}

// Waits for the first hook's plan, then calls the second hook. Owns the messages that the second hook sees.
class ThenPlan : public PendingPlan {
 public:
  ThenPlan(const StepView& step, PlannedStep first, const PrepareStep& second)
      : second_(second),
        engine_(step.engine),
        thread_(step.thread),
        usage_(step.usage),
        index_(step.index),
        options_(call_options_for(step)),
        planned_(std::move(first)) {}

  std::optional<Result<StepPlan>> poll(const Waker& waker) override {
    std::optional<Result<StepPlan>> plan = planned_.poll(waker);
    if (!plan || !*plan) return plan;
    if (done_first_) return merged(std::move(first_), **std::move(plan));
    done_first_ = true;
    first_ = **std::move(plan);
    if (first_.messages) thread_.messages = *first_.messages;
    planned_ = second_(view());
    return poll(waker);
  }

 private:
  StepView view() const {
    return {.engine = engine_,
            .thread = thread_,
            .usage = usage_,
            .index = index_,
            .cancel = &options_.cancel,
            .time_left = options_.run_timeout,
            .request_id = options_.request_id ? &*options_.request_id : nullptr,
            .session_id = options_.session_id ? &*options_.session_id : nullptr,
            .traceparent = options_.traceparent,
            .budget = options_.budget};
  }

  PrepareStep second_;
  Engine engine_;
  Thread thread_;
  Usage usage_;
  std::size_t index_;
  CallOptions options_;
  PlannedStep planned_;  // the first hook's, then the second's
  StepPlan first_;
  bool done_first_ = false;
};

}  // namespace

PrepareStep keep_last(std::size_t count) {
  return [count](const StepView& step) { return plan_to_keep(step.thread.messages, count); };
}

PrepareStep drop_old_tool_results(std::size_t bytes) {
  return [bytes](const StepView& step) { return plan_to_drop(step.thread.messages, bytes); };
}

PrepareStep then(PrepareStep first, PrepareStep second) {
  if (!first) return second;
  if (!second) return first;
  return [first = std::move(first), second = std::move(second)](const StepView& step) {
    return std::make_unique<ThenPlan>(step, first(step), second);
  };
}

CallOptions call_options_for(const StepView& step) {
  CallOptions options;
  options.run_timeout = step.time_left;
  if (step.cancel != nullptr) options.cancel = *step.cancel;
  if (step.request_id != nullptr) options.request_id = *step.request_id;
  if (step.session_id != nullptr) options.session_id = *step.session_id;
  options.traceparent = step.traceparent;
  options.budget = step.budget;
  return options;
}

}  // namespace allm
