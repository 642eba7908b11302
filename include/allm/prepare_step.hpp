// prepare_step: a hook that chooses the input of the model for one step of a run. The stored thread does not change.
//
//   options.prepare_step = [](const allm::StepView& step) -> allm::PlannedStep {
//     return allm::StepPlan{.model = step.index == 0 ? "large-model" : "small-model"};
//   };
//
// allm/steps.hpp has ready-made hooks.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allm/model.hpp"
#include "allm/request.hpp"
#include "allm/response.hpp"
#include "allm/stream.hpp"
#include "allm/thread.hpp"
#include "allm/tool.hpp"

namespace allm {

class BudgetLedger;
class Engine;
struct Cancellation;

// The input of the hook. References and pointers are valid during the call only; a hook that answers later must copy
// what it needs.
struct StepView {
  const Engine& engine;
  const Thread& thread;   // the stored thread; for the second hook of then(): with the messages of the first
  const Usage& usage;     // of the run so far
  std::size_t index = 0;  // of the step in its run, from 0
  // The next six describe the run, for model calls that the hook makes itself; call_options_for (allm/steps.hpp) makes
  // options from them. They are null or nullopt if the run has none.
  const Cancellation* cancel = nullptr;
  std::optional<std::chrono::milliseconds> time_left = std::nullopt;
  const std::string* request_id = nullptr;
  const std::string* session_id = nullptr;
  std::optional<std::string> traceparent = std::nullopt;  // of the step's span
  std::shared_ptr<BudgetLedger> budget = nullptr;         // what the run's model calls reserve in
};

// The changes for this step. A field that is not set changes nothing.
struct StepPlan {
  // Sent to the model instead of the thread's messages. A call and its result must stay together: if a tool message has
  // no call, or a call lacks the result that the thread has, the step fails with ValidationError `invalid_request`.
  std::optional<MessageList> messages = std::nullopt;
  // The tools of this step, instead of those of the run: for the model, and for the calls that it makes in this step.
  std::optional<std::vector<Tool>> tools = std::nullopt;
  std::optional<ModelRef> model = std::nullopt;
  std::optional<double> temperature = std::nullopt;
  std::optional<std::int64_t> max_tokens = std::nullopt;
  std::optional<ResponseFormat> response_format = std::nullopt;
  std::optional<ToolChoice> tool_choice = std::nullopt;
  std::optional<PromptCache> prompt_cache = std::nullopt;
  Json params = empty_object();  // further settings for the provider, added to the run's
  // Tokens and costs of making the plan. They count in the run's usage and limits.
  Usage usage = {};
};

// A plan that is not ready yet. The stream of the run owns it and polls it; the destructor cancels its work.
class PendingPlan {
 public:
  virtual ~PendingPlan() = default;
  // Returns the plan or an error. If neither is ready, returns nullopt, and the plan calls `waker` when the stream
  // should poll again. Must not block. Called by one thread at a time.
  virtual std::optional<Result<StepPlan>> poll(const Waker& waker) = 0;
};

// The hook's answer: a plan, an error, or a plan that comes later. A default-constructed answer changes nothing.
class PlannedStep {
 public:
  PlannedStep() : plan_(Result<StepPlan>(StepPlan{})) {}
  PlannedStep(StepPlan plan) : plan_(Result<StepPlan>(std::move(plan))) {}
  PlannedStep(Result<StepPlan> plan) : plan_(std::move(plan)) {}
  PlannedStep(std::unexpected<Error> error) : plan_(Result<StepPlan>(std::move(error))) {}
  template <std::derived_from<PendingPlan> T>
  PlannedStep(std::unique_ptr<T> pending) : plan_(std::unique_ptr<PendingPlan>(std::move(pending))) {}

  // As PendingPlan::poll. Moves the plan out: after a result, do not poll again.
  std::optional<Result<StepPlan>> poll(const Waker& waker);

 private:
  std::variant<Result<StepPlan>, std::unique_ptr<PendingPlan>> plan_;
};

// Called on the consumer's thread before the model call of each step, also in the second pass of structured_finalize.
// An error ends the step before its message: in the first step it is the run's error, later the run ends with
// halted_reason "error". Exceptions reach the consumer. Runs on several threads may call one hook at the same time.
using PrepareStep = std::function<PlannedStep(const StepView&)>;

}  // namespace allm
