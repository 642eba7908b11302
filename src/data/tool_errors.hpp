// ToolErrors: all of them are made here, so that each names its tool and its call and one failure has one message,
// whichever lane it happens in. Pure functions; safe to call from any thread.
#pragma once

#include <cstddef>
#include <exception>
#include <string>

#include "allm/error.hpp"
#include "allm/json.hpp"
#include "allm/message.hpp"

namespace allm {

Error tool_error(std::string tool_name, std::string tool_call_id, ToolError::Reason reason, std::string message,
                 Json metadata = empty_object());
Error tool_error(const ToolCall& call, ToolError::Reason reason, std::string message, Json metadata = empty_object());

// `problem` says what is wrong with the arguments, for the model to correct.
Error invalid_arguments_error(const ToolCall& call, const std::string& problem, Json metadata = empty_object());
Error not_run_error(const ToolCall& call, const std::string& why);
// `overdue`: how many handlers are past their deadlines and still run.
Error overloaded_error(const ToolCall& call, std::size_t overdue);
// The call was not run because no thread could be started.
Error no_thread_error(const ToolCall& call);
Error no_handler_error(const ToolCall& call);
// The process that ran the call has died; see OnInterrupted.
Error interrupted_error(const ToolCall& call);
// The last completion of the call was dropped.
Error no_answer_error(const ToolCall& call);
// Of the exception that is being handled, which becomes the error's cause().
Error handler_raised_error(const ToolCall& call);
// The handler asked a question that is not a text, or whose options are not a JSON object.
Error invalid_question_error(const ToolCall& call);
Error unwritable_result_error(const ToolCall& call, const std::string& problem);

// A tool message that says that the call failed. It has the mark `is_error` in its metadata, which is saved with a
// session and sent to providers that have a field for it.
Message failed_result(std::string tool_call_id, Content content);
bool is_failed_result(const Message& message);

}  // namespace allm
