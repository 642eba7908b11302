#include "allm/collector.hpp"

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/tool_errors.hpp"
#include "tools/halt.hpp"

namespace allm {
namespace {

Error cancelled() {
  return Error(StreamError{.reason = StreamError::Reason::cancelled}, "the stream was dropped before its end");
}

}  // namespace

struct StreamCollector::State {
  struct ToolOrder {
    std::string id = {};
    std::optional<Json> rewritten_arguments = std::nullopt;
    std::optional<Message> message = std::nullopt;
    std::optional<StepEnd> halt = std::nullopt;
  };

  static Message message_of(const ToolOrder& tool);
  void start_message();
  void apply(const Event& event);
  void apply(Event&& event);
  void complete_call(ToolCall whole);
  void complete_message(MessageCompleted message);
  ToolCall& call(const std::string& id);
  void start_tool(ToolOrder tool);
  ToolOrder* unanswered(const std::string& id);
  Response build_response() &&;

  std::optional<Thread> seed = std::nullopt;
  bool message_started = false;
  std::string text = {};
  std::string reasoning = {};
  std::size_t reasoning_begin = 0;  // where the text of the next ReasoningCompleted begins
  std::vector<ToolCall> calls = {};
  std::unordered_map<std::string, std::size_t> call_index = {};
  std::optional<MessageCompleted> completed = std::nullopt;
  std::optional<FinishReason> finish_reason = std::nullopt;
  std::optional<Error> error = std::nullopt;
  std::vector<ToolOrder> tools = {};
  std::unordered_map<std::string, std::deque<std::size_t>> open_tools = {};  // started and not answered, by id
  std::vector<std::shared_ptr<const StepResult>> steps = {};
  std::shared_ptr<const ChatResult> chat = nullptr;
};

StreamCollector::StreamCollector() : state_(std::make_unique<State>()) {}
StreamCollector::StreamCollector(Thread seed) : StreamCollector() { state_->seed = std::move(seed); }
StreamCollector::StreamCollector(const StreamCollector& other) : state_(std::make_unique<State>(*other.state_)) {}
StreamCollector::StreamCollector(StreamCollector&& other) noexcept = default;
StreamCollector& StreamCollector::operator=(const StreamCollector& other) { return *this = StreamCollector(other); }
StreamCollector& StreamCollector::operator=(StreamCollector&& other) noexcept = default;
StreamCollector::~StreamCollector() = default;

Message StreamCollector::State::message_of(const ToolOrder& tool) {
  Message message = *tool.message;
  if (tool.rewritten_arguments) message.metadata["rewritten_arguments"] = *tool.rewritten_arguments;
  return message;
}

void StreamCollector::State::start_message() {
  message_started = true;
  text.clear();
  reasoning.clear();
  reasoning_begin = 0;
  calls.clear();
  call_index.clear();
  completed.reset();
  finish_reason.reset();
  error.reset();
  tools.clear();
  open_tools.clear();
}

ToolCall& StreamCollector::State::call(const std::string& id) {
  if (!message_started) start_message();
  const auto [entry, added] = call_index.try_emplace(id, calls.size());
  if (added) calls.push_back({.id = id, .raw_arguments = std::string()});
  return calls[entry->second];
}

StreamCollector::State::ToolOrder* StreamCollector::State::unanswered(const std::string& id) {
  const auto found = open_tools.find(id);
  if (found == open_tools.end() || found->second.empty()) {
    // An answer without a start: the call was not run.
    tools.push_back({.id = id});
    return &tools.back();
  }
  ToolOrder& tool = tools[found->second.front()];
  found->second.pop_front();
  return &tool;
}

void StreamCollector::State::start_tool(ToolOrder tool) {
  open_tools[tool.id].push_back(tools.size());
  tools.push_back(std::move(tool));
}

void StreamCollector::State::complete_call(ToolCall whole) {
  if (!whole.raw_arguments) whole.raw_arguments.emplace();
  call(whole.id) = std::move(whole);
}

void StreamCollector::State::complete_message(MessageCompleted message) {
  if (!message_started) start_message();
  completed = std::move(message);
  if (completed->finish_reason) finish_reason = completed->finish_reason;
}

void StreamCollector::State::apply(Event&& event) {
  if (auto* called = event.get_if<ToolCallCompleted>()) {
    complete_call(std::move(called->call));
  } else if (auto* message = event.get_if<MessageCompleted>()) {
    complete_message(std::move(*message));
  } else {
    apply(std::as_const(event));
  }
}

void StreamCollector::State::apply(const Event& event) {
  switch (event.tag()) {
    case EventTag::message_started:
      start_message();
      break;
    case EventTag::text_delta:
      if (!message_started) start_message();
      text += event.get_if<TextDelta>()->delta;
      break;
    case EventTag::text_completed:
      if (!message_started) start_message();
      text = event.get_if<TextCompleted>()->text;
      break;
    case EventTag::reasoning_delta:
      if (!message_started) start_message();
      reasoning += event.get_if<ReasoningDelta>()->delta;
      break;
    case EventTag::reasoning_completed:
      if (!message_started) start_message();
      reasoning.resize(reasoning_begin);
      reasoning += event.get_if<ReasoningCompleted>()->text;
      reasoning_begin = reasoning.size();
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
    case EventTag::tool_call_completed:
      complete_call(event.get_if<ToolCallCompleted>()->call);
      break;
    case EventTag::message_completed:
      complete_message(*event.get_if<MessageCompleted>());
      break;
    case EventTag::raw_chunk:
      break;
    case EventTag::error:
      error = event.get_if<ErrorEvent>()->error;
      if (message_started) finish_reason = FinishReason::error;
      break;
    case EventTag::tool_execution_started: {
      const auto& started = *event.get_if<ToolExecutionStarted>();
      ToolOrder tool{.id = started.id};
      if (started.rewritten) tool.rewritten_arguments = started.arguments;
      start_tool(std::move(tool));
      break;
    }
    case EventTag::tool_execution_completed:
      break;
    case EventTag::tool_result_encoded: {
      const auto& encoded = *event.get_if<ToolResultEncoded>();
      Content content = encoded.content;
      if (!encoded.parts.empty()) content = encoded.parts;
      unanswered(encoded.id)->message = encoded.is_error ? failed_result(encoded.id, std::move(content))
                                                         : tool_result(encoded.id, std::move(content));
      break;
    }
    case EventTag::ask_user_requested: {
      const auto& asked = *event.get_if<AskUserRequested>();
      ToolOrder* tool = unanswered(asked.tool_call_id);
      tool->message = tool_result(asked.tool_call_id, std::string(kAwaitingUser));
      tool->halt = step_end(asked);
      break;
    }
    case EventTag::tool_halt: {
      const auto& halt = *event.get_if<ToolHalt>();
      ToolOrder* tool = unanswered(halt.tool_call_id);
      const bool failed = halt.reason == halted::tool_error;
      tool->message =
          failed ? failed_result(halt.tool_call_id, halt.content) : tool_result(halt.tool_call_id, halt.content);
      tool->halt = step_end(halt);
      break;
    }
    case EventTag::step_completed:
      steps.push_back(event.get_if<StepCompleted>()->step);
      message_started = false;
      error.reset();
      break;
    case EventTag::chat_completed:
      chat = event.get_if<ChatCompleted>()->result;
      break;
  }
}

Response StreamCollector::State::build_response() && {
  Response response;
  response.tool_calls = std::move(calls);
  response.finish_reason = finish_reason;
  response.error = std::move(error);
  if (!reasoning.empty()) response.reasoning = std::move(reasoning);
  if (completed) {
    if (completed->reasoning) response.reasoning = std::move(completed->reasoning);
    response.id = std::move(completed->id);
    response.request_id = std::move(completed->request_id);
    response.model = std::move(completed->model);
    response.raw_finish_reason = std::move(completed->raw_finish_reason);
    response.message = std::move(completed->message);
    response.metadata = std::move(completed->metadata);
    if (completed->usage) response.usage = *std::move(completed->usage);
  } else {
    response.message = assistant(text);
  }
  response.output_text = std::move(text);
  return response;
}

void StreamCollector::apply(const Event& event) { state_->apply(event); }
void StreamCollector::apply(Event&& event) { state_->apply(std::move(event)); }

bool StreamCollector::saw_chat_completed() const { return state_->chat != nullptr; }

bool StreamCollector::failed() const {
  const bool broke_off = state_->message_started && !state_->completed.has_value();
  return state_->error.has_value() && state_->steps.empty() && state_->chat == nullptr && !broke_off;
}

bool StreamCollector::in_message() const { return state_->message_started; }

Result<Response> StreamCollector::response() && {
  if (state_->message_started) return std::move(*state_).build_response();
  return std::unexpected(state_->error.value_or(cancelled()));
}

Result<Response> StreamCollector::response() const& { return StreamCollector(*this).response(); }

Result<StepResult> StreamCollector::step_result() const {
  if (!state_->steps.empty()) return *state_->steps.back();
  return std::unexpected(state_->error.value_or(cancelled()));
}

Result<ChatResult> StreamCollector::chat_result() const {
  if (state_->chat) return *state_->chat;
  if (failed()) return std::unexpected(*state_->error);
  ChatResult result;
  if (state_->error) {
    result.end = ended::Failed{state_->error};
  } else {
    result.end = ended::Cancelled{};
  }
  if (state_->seed) result.thread = *state_->seed;
  for (const auto& step : state_->steps) {
    result.usage += step->response.usage;
    result.steps.push_back(*step);
  }
  if (!state_->steps.empty()) {
    result.thread = state_->steps.back()->thread;
    result.final_response = state_->steps.back()->response;
  } else if (state_->message_started) {
    result.final_response = State(*state_).build_response();
  }
  return result;
}

Result<ToolBatch> StreamCollector::tool_batch() const {
  if (state_->error) return std::unexpected(*state_->error);
  ToolBatch batch;
  for (const State::ToolOrder& tool : state_->tools) {
    if (!tool.message) return std::unexpected(cancelled());
    batch.messages.push_back(State::message_of(tool));
    if (!batch.halt) batch.halt = tool.halt;
  }
  return batch;
}

std::vector<Message> StreamCollector::tool_messages() const {
  std::vector<Message> messages;
  for (const State::ToolOrder& tool : state_->tools) {
    if (tool.message) messages.push_back(State::message_of(tool));
  }
  return messages;
}

}  // namespace allm
