#include "data/tool_errors.hpp"

#include <utility>

namespace allm {

Error tool_error(std::string tool_name, std::string tool_call_id, ToolError::Reason reason, std::string message,
                 Json metadata) {
  return Error(ToolError{.reason = reason, .tool_name = std::move(tool_name), .tool_call_id = std::move(tool_call_id)},
               std::move(message), std::move(metadata));
}

Error tool_error(const ToolCall& call, ToolError::Reason reason, std::string message, Json metadata) {
  return tool_error(call.name, call.id, reason, std::move(message), std::move(metadata));
}

Error invalid_arguments_error(const ToolCall& call, const std::string& problem, Json metadata) {
  return tool_error(call, ToolError::Reason::invalid_arguments,
                    "invalid arguments for tool '" + call.name + "': " + problem, std::move(metadata));
}

Error not_run_error(const ToolCall& call, const std::string& why) {
  return tool_error(call, ToolError::Reason::not_run, "tool '" + call.name + "' was not run: " + why);
}

Error overloaded_error(const ToolCall& call, std::size_t overdue) {
  return tool_error(call, ToolError::Reason::overloaded,
                    "tool '" + call.name + "' was not run: " + std::to_string(overdue) +
                        " earlier calls are past their deadlines and still running");
}

Error no_thread_error(const ToolCall& call) {
  return tool_error(call, ToolError::Reason::overloaded,
                    "tool '" + call.name + "' was not run: the system refuses a thread for it");
}

Error no_handler_error(const ToolCall& call) {
  return tool_error(call, ToolError::Reason::not_found, "tool '" + call.name + "' has no handler");
}

Error interrupted_error(const ToolCall& call) {
  return tool_error(call, ToolError::Reason::interrupted,
                    "tool '" + call.name +
                        "' was interrupted: the program that ran it ended before it answered. The call may have had "
                        "effects.");
}

Error no_answer_error(const ToolCall& call) {
  return tool_error(call, ToolError::Reason::invalid_return,
                    "the handler of tool '" + call.name + "' ended without an answer");
}

Error handler_raised_error(const ToolCall& call) {
  std::string what = " something that is no std::exception";
  try {
    throw;
  } catch (const std::exception& exception) {
    what = std::string(": ") + exception.what();
  } catch (...) {  // NOLINT(bugprone-empty-catch): `what` says it already
  }
  return tool_error(call, ToolError::Reason::handler_raised, "the handler of tool '" + call.name + "' threw" + what)
      .with_cause(std::current_exception());
}

Error invalid_question_error(const ToolCall& call) {
  return tool_error(call, ToolError::Reason::invalid_return,
                    "the handler of tool '" + call.name +
                        "' asked a question that is not valid UTF-8 text, or whose options are not an object that JSON "
                        "can represent");
}

Error unwritable_result_error(const ToolCall& call, const std::string& problem) {
  return tool_error(call, ToolError::Reason::encoding_failed,
                    "the result of tool '" + call.name + "' cannot be written: " + problem);
}

Message failed_result(std::string tool_call_id, Content content) {
  Message message = tool_result(std::move(tool_call_id), std::move(content));
  message.metadata["is_error"] = true;
  return message;
}

bool is_failed_result(const Message& message) {
  const auto mark = message.metadata.find("is_error");
  return mark != message.metadata.end() && *mark == true;
}

}  // namespace allm
