// Equality of every value, compiled once: defaulted in the headers it would cost every user's build.
#include "allm/error.hpp"
#include "allm/event.hpp"
#include "allm/message.hpp"
#include "allm/model.hpp"
#include "allm/request.hpp"
#include "allm/response.hpp"
#include "allm/result.hpp"
#include "allm/session.hpp"
#include "allm/thread.hpp"
#include "allm/tool.hpp"

namespace allm {

bool FieldError::operator==(const FieldError&) const = default;
bool MessageStarted::operator==(const MessageStarted&) const = default;
bool TextDelta::operator==(const TextDelta&) const = default;
bool TextCompleted::operator==(const TextCompleted&) const = default;
bool ReasoningDelta::operator==(const ReasoningDelta&) const = default;
bool ReasoningCompleted::operator==(const ReasoningCompleted&) const = default;
bool ToolCallStarted::operator==(const ToolCallStarted&) const = default;
bool ToolCallDelta::operator==(const ToolCallDelta&) const = default;
bool ToolCallCompleted::operator==(const ToolCallCompleted&) const = default;
bool MessageCompleted::operator==(const MessageCompleted&) const = default;
bool RawChunk::operator==(const RawChunk&) const = default;
bool ErrorEvent::operator==(const ErrorEvent&) const = default;
bool ToolExecutionStarted::operator==(const ToolExecutionStarted&) const = default;
bool ToolExecutionCompleted::operator==(const ToolExecutionCompleted&) const = default;
bool ToolResultEncoded::operator==(const ToolResultEncoded&) const = default;
bool AskUserRequested::operator==(const AskUserRequested&) const = default;
bool ToolHalt::operator==(const ToolHalt&) const = default;
bool MediaBytes::operator==(const MediaBytes&) const = default;
bool MediaBase64::operator==(const MediaBase64&) const = default;
bool MediaUrl::operator==(const MediaUrl&) const = default;
bool MediaPath::operator==(const MediaPath&) const = default;
bool MediaId::operator==(const MediaId&) const = default;
bool Image::operator==(const Image&) const = default;
bool File::operator==(const File&) const = default;
bool Audio::operator==(const Audio&) const = default;
bool TextPart::operator==(const TextPart&) const = default;
bool ImagePart::operator==(const ImagePart&) const = default;
bool FilePart::operator==(const FilePart&) const = default;
bool AudioPart::operator==(const AudioPart&) const = default;
bool UnknownPart::operator==(const UnknownPart&) const = default;
bool ToolCall::operator==(const ToolCall&) const = default;
bool PendingToolCall::operator==(const PendingToolCall&) const = default;
bool Message::operator==(const Message&) const = default;
bool ModelRef::operator==(const ModelRef&) const = default;
bool ResponseFormat::operator==(const ResponseFormat&) const = default;
bool ToolChoice::operator==(const ToolChoice&) const = default;
bool PromptCache::operator==(const PromptCache&) const = default;
bool Request::operator==(const Request&) const = default;
bool Usage::operator==(const Usage&) const = default;
bool Response::operator==(const Response&) const = default;
bool ended::AskUser::operator==(const AskUser&) const = default;
bool ended::Halted::operator==(const Halted&) const = default;
bool ended::ToolError::operator==(const ToolError&) const = default;
bool ended::Manual::operator==(const Manual&) const = default;
bool ended::Limit::operator==(const Limit&) const = default;
bool ended::Failed::operator==(const Failed&) const = default;
bool StepResult::operator==(const StepResult&) const = default;
bool ChatResult::operator==(const ChatResult&) const = default;
bool Session::operator==(const Session&) const = default;
bool Thread::operator==(const Thread&) const = default;
bool ToolOk::operator==(const ToolOk&) const = default;
bool ToolFailure::operator==(const ToolFailure&) const = default;
bool AskUser::operator==(const AskUser&) const = default;
bool Halt::operator==(const Halt&) const = default;

}  // namespace allm
