// The collector folds events into results. It is what the folded functions use themselves, so a
// program that shows events and then wants the result gets exactly what `chat` would have returned.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "allm/event.hpp"
#include "allm/tool_runner.hpp"

namespace allm {

// One thread at a time.
class StreamCollector {
 public:
  StreamCollector();
  // `seed` is the thread that the run started from: what a cancelled run leaves behind.
  explicit StreamCollector(Thread seed);

  void apply(const Event& event);

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

  bool saw_chat_completed() const { return chat_ != nullptr; }
  // Whether the run failed at once: an error came, and no step was or can be finished. An error
  // within a message is the message's, and its step is still to come.
  bool failed() const {
    const bool broke_off = message_started_ && !completed_.has_value();
    return error_.has_value() && steps_.empty() && chat_ == nullptr && !broke_off;
  }
  // Whether a message is being collected: one has begun and its step is not completed.
  bool in_message() const { return message_started_; }

 private:
  struct ToolOrder {
    std::string id = {};
    std::optional<Message> message = std::nullopt;
    std::optional<Json> halt = std::nullopt;
  };
  void start_message();
  ToolCall& call(const std::string& id);
  ToolOrder* unanswered(const std::string& id);
  Response build_response() &&;

  std::optional<Thread> seed_;
  bool message_started_ = false;
  std::string text_;
  std::vector<ToolCall> calls_;
  std::unordered_map<std::string, std::size_t> call_index_;
  std::optional<MessageCompleted> completed_;
  std::optional<FinishReason> finish_reason_;
  std::optional<Error> error_;
  std::vector<ToolOrder> tools_;
  std::vector<std::shared_ptr<const StepResult>> steps_;
  std::shared_ptr<const ChatResult> chat_;
};

}  // namespace allm
