#include "allm/collector.hpp"

#include <utility>

#include "tools/halt.hpp"

namespace allm {
namespace {

Error cancelled() {
  return Error(StreamError{.reason = StreamError::Reason::cancelled}, "the stream was dropped before its end");
}

}  // namespace

StreamCollector::StreamCollector() = default;
StreamCollector::StreamCollector(Thread seed) : seed_(std::move(seed)) {}

void StreamCollector::start_message() {
  message_started_ = true;
  text_.clear();
  calls_.clear();
  call_index_.clear();
  completed_.reset();
  finish_reason_.reset();
  error_.reset();
  tools_.clear();
}

ToolCall& StreamCollector::call(const std::string& id) {
  if (!message_started_) start_message();
  const auto [entry, added] = call_index_.try_emplace(id, calls_.size());
  if (added) calls_.push_back({.id = id, .raw_arguments = std::string()});
  return calls_[entry->second];
}

StreamCollector::ToolOrder* StreamCollector::unanswered(const std::string& id) {
  for (ToolOrder& tool : tools_) {
    if (tool.id == id && !tool.message) return &tool;
  }
  // Answered without having been started: a call that was not run.
  tools_.push_back({.id = id});
  return &tools_.back();
}

void StreamCollector::apply(const Event& event) {
  switch (event.tag()) {
    case EventTag::message_started:
      start_message();
      break;
    case EventTag::text_delta:
      if (!message_started_) start_message();
      text_ += event.get_if<TextDelta>()->delta;
      break;
    case EventTag::text_completed:
      if (!message_started_) start_message();
      text_ = event.get_if<TextCompleted>()->text;
      break;
    case EventTag::tool_call_started: {
      const auto& started = *event.get_if<ToolCallStarted>();
      ToolCall& target = call(started.id);
      if (target.name.empty()) target.name = started.name;
      break;
    }
    case EventTag::tool_call_delta: {
      const auto& delta = *event.get_if<ToolCallDelta>();
      call(delta.id).raw_arguments->append(delta.arguments_delta);
      break;
    }
    case EventTag::tool_call_completed: {
      ToolCall completed = event.get_if<ToolCallCompleted>()->call;
      if (!completed.raw_arguments) completed.raw_arguments.emplace();
      call(completed.id) = std::move(completed);
      break;
    }
    case EventTag::message_completed:
      if (!message_started_) start_message();
      completed_ = *event.get_if<MessageCompleted>();
      if (completed_->finish_reason) finish_reason_ = completed_->finish_reason;
      break;
    case EventTag::raw_chunk:
      break;
    case EventTag::error:
      error_ = event.get_if<ErrorEvent>()->error;
      if (message_started_) finish_reason_ = FinishReason::error;
      break;
    case EventTag::tool_execution_started:
      tools_.push_back({.id = event.get_if<ToolExecutionStarted>()->id});
      break;
    case EventTag::tool_execution_completed:
      break;
    case EventTag::tool_result_encoded: {
      const auto& encoded = *event.get_if<ToolResultEncoded>();
      unanswered(encoded.id)->message = tool_result(encoded.id, encoded.content);
      break;
    }
    case EventTag::ask_user_requested: {
      const auto& asked = *event.get_if<AskUserRequested>();
      ToolOrder* tool = unanswered(asked.tool_call_id);
      tool->message = tool_result(asked.tool_call_id, std::string(kAwaitingUser));
      tool->halt = halt_metadata(asked);
      break;
    }
    case EventTag::tool_halt: {
      const auto& halt = *event.get_if<ToolHalt>();
      ToolOrder* tool = unanswered(halt.tool_call_id);
      tool->message = tool_result(halt.tool_call_id, halt.content);
      tool->halt = halt_metadata(halt);
      break;
    }
    case EventTag::step_completed:
      steps_.push_back(event.get_if<StepCompleted>()->step);
      message_started_ = false;
      error_.reset();
      break;
    case EventTag::chat_completed:
      chat_ = event.get_if<ChatCompleted>()->result;
      break;
  }
}

Response StreamCollector::build_response() && {
  Response response;
  response.tool_calls = std::move(calls_);
  response.finish_reason = finish_reason_;
  response.error = std::move(error_);
  if (completed_) {
    response.id = std::move(completed_->id);
    response.request_id = std::move(completed_->request_id);
    response.model = std::move(completed_->model);
    response.raw_finish_reason = std::move(completed_->raw_finish_reason);
    response.message = std::move(completed_->message);
    response.metadata = std::move(completed_->metadata);
    if (completed_->usage) response.usage = *std::move(completed_->usage);
  } else {
    response.message = assistant(text_);
  }
  response.output_text = std::move(text_);
  return response;
}

Result<Response> StreamCollector::response() && {
  if (message_started_) return std::move(*this).build_response();
  return std::unexpected(error_.value_or(cancelled()));
}

Result<Response> StreamCollector::response() const& { return StreamCollector(*this).response(); }

Result<StepResult> StreamCollector::step_result() const {
  if (!steps_.empty()) return *steps_.back();
  return std::unexpected(error_.value_or(cancelled()));
}

Result<ChatResult> StreamCollector::chat_result() const {
  if (chat_) return *chat_;
  if (failed()) return std::unexpected(*error_);
  ChatResult result;
  result.halted_reason = error_ ? halted::error : halted::cancelled;
  result.error = error_;
  if (seed_) result.thread = *seed_;
  for (const auto& step : steps_) {
    result.usage += step->response.usage;
    result.steps.push_back(*step);
  }
  if (!steps_.empty()) {
    result.thread = steps_.back()->thread;
    result.final_response = steps_.back()->response;
  } else if (message_started_) {
    result.final_response = StreamCollector(*this).build_response();
  }
  return result;
}

Result<ToolBatch> StreamCollector::tool_batch() const {
  if (error_) return std::unexpected(*error_);
  ToolBatch batch;
  for (const ToolOrder& tool : tools_) {
    if (!tool.message) return std::unexpected(cancelled());
    batch.messages.push_back(*tool.message);
    if (!batch.halt) batch.halt = tool.halt;
  }
  return batch;
}

}  // namespace allm
