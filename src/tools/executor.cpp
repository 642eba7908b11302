#include "allm/executor.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "tools/guarded.hpp"

namespace allm {
namespace {

// The answer to execute_and_wait.
class AwaitedAnswer {
 public:
  bool give(ToolOutcome outcome) {
    const std::lock_guard lock(mutex_);
    if (outcome_) return false;
    outcome_ = std::move(outcome);
    there_.notify_all();
    return true;
  }
  ToolOutcome wait() {
    std::unique_lock lock(mutex_);
    there_.wait(lock, [this] { return outcome_.has_value(); });
    return *std::move(outcome_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable there_;
  std::optional<ToolOutcome> outcome_;
};

// Owned only by the copies of the completion: the destruction of the last copy means that there will be no answer.
class AnswerSink : public ToolCompletion::Sink {
 public:
  AnswerSink(std::shared_ptr<AwaitedAnswer> answer, const ToolContext& context)
      : answer_(std::move(answer)), context_(context) {}
  AnswerSink(const AnswerSink&) = delete;
  AnswerSink& operator=(const AnswerSink&) = delete;
  ~AnswerSink() override { answer_->give(ToolFailure{no_answer_error(context_.tool_call())}); }
  bool complete(ToolOutcome outcome) override { return answer_->give(std::move(outcome)); }

 private:
  const std::shared_ptr<AwaitedAnswer> answer_;  // shared with the function that waits for it
  const ToolContext context_;
};

}  // namespace

DefaultToolExecutor::DefaultToolExecutor(Handlers handlers) : handlers_(std::move(handlers)) {}

void DefaultToolExecutor::execute(const Tool& tool, const Json& arguments, const ToolContext& context,
                                  ToolCompletion done) {
  const Handler* handler = tool.handler ? &tool.handler : nullptr;
  if (handler == nullptr) {
    const auto named = handlers_.find(tool.name);
    if (named != handlers_.end() && named->second) handler = &named->second;
  }
  if (handler == nullptr) {
    done(ToolFailure{no_handler_error(context.tool_call())});
    return;
  }
  run_guarded(context.tool_call(), done, [&] { (*handler)(arguments, context, done); });
}

ToolOutcome execute_and_wait(ToolExecutor& executor, const Tool& tool, const Json& arguments,
                             const ToolContext& context) {
  const auto answer = std::make_shared<AwaitedAnswer>();
  {
    const ToolCompletion done(std::make_shared<AnswerSink>(answer, context));
    run_guarded(context.tool_call(), done, [&] { executor.execute(tool, arguments, context, done); });
  }
  return answer->wait();
}

}  // namespace allm
