// The JSON form of every data type, described once. Readers and writers are visitors of these
// descriptions.
//
// A description offers its fields to a visitor in alphabetical order, which is the order of the
// text; each call returns whether to go on. The kinds of field:
//   required(name, member)             its absence is an error
//   field(name, member)                its absence leaves the default
//   nullable(name, member)             so does null
//   otherwise(name, member, compute)   its absence is filled by `compute()`
//   unless_default(name, member, d)    only written when it differs from `d`
//   object(name, json), any(name, json)
//   metadata(json, typed...)           the member `metadata`, some of whose members are typed fields
//   fixed(name, value)                 always written so, ignored when read
//   version(name)
//   unknown(json), ignored(), closed() last: further members are kept, dropped or an error
#pragma once

#include <chrono>
#include <concepts>
#include <string_view>
#include <type_traits>

#include "allm/request.hpp"
#include "allm/response.hpp"
#include "allm/result.hpp"
#include "allm/session.hpp"
#include "allm/tool.hpp"

#include "data/overloaded.hpp"

namespace allm::codec {

template <class T>
inline constexpr std::string_view kTag = {};
template <>
inline constexpr std::string_view kTag<Message> = "ALLM.Message";
template <>
inline constexpr std::string_view kTag<TextPart> = "ALLM.TextPart";
template <>
inline constexpr std::string_view kTag<ImagePart> = "ALLM.ImagePart";
template <>
inline constexpr std::string_view kTag<Image> = "ALLM.Image";
template <>
inline constexpr std::string_view kTag<FilePart> = "ALLM.FilePart";
template <>
inline constexpr std::string_view kTag<File> = "ALLM.File";
template <>
inline constexpr std::string_view kTag<AudioPart> = "ALLM.AudioPart";
template <>
inline constexpr std::string_view kTag<Audio> = "ALLM.Audio";
template <>
inline constexpr std::string_view kTag<ToolCall> = "ALLM.ToolCall";
template <>
inline constexpr std::string_view kTag<PendingToolCall> = "ALLM.ToolCall";
template <>
inline constexpr std::string_view kTag<Tool> = "ALLM.Tool";
template <>
inline constexpr std::string_view kTag<Request> = "ALLM.Request";
template <>
inline constexpr std::string_view kTag<Response> = "ALLM.Response";
template <>
inline constexpr std::string_view kTag<Usage> = "ALLM.Usage";
template <>
inline constexpr std::string_view kTag<Thread> = "ALLM.Thread";
template <>
inline constexpr std::string_view kTag<Session> = "ALLM.Session";
template <>
inline constexpr std::string_view kTag<StepResult> = "ALLM.StepResult";
template <>
inline constexpr std::string_view kTag<ChatResult> = "ALLM.ChatResult";
template <>
inline constexpr std::string_view kTag<ModelRef> = "ALLM.ModelRef";
template <>
inline constexpr std::string_view kTag<EngineError> = "ALLM.Error.EngineError";
template <>
inline constexpr std::string_view kTag<AdapterError> = "ALLM.Error.AdapterError";
template <>
inline constexpr std::string_view kTag<StreamError> = "ALLM.Error.StreamError";
template <>
inline constexpr std::string_view kTag<ValidationError> = "ALLM.Error.ValidationError";
template <>
inline constexpr std::string_view kTag<ToolError> = "ALLM.Error.ToolError";
template <>
inline constexpr std::string_view kTag<SessionError> = "ALLM.Error.SessionError";
template <>
inline constexpr std::string_view kTag<StoreError> = "ALLM.Error.StoreError";

template <class M, class T>
concept Is = std::same_as<std::remove_const_t<M>, T>;

// A field that is stored in a member of `metadata`, unless it is empty. A member that cannot be read
// as the type stays in `metadata`.
template <class M>
struct Typed {
  std::string_view name;
  M& member;
};
template <class M>
Typed(std::string_view, M&) -> Typed<M>;

template <class V>
bool fields(V& v, Is<Message> auto& m) {
  return v.required("content", m.content) && v.metadata(m.metadata, Typed("tool_calls", m.tool_calls)) &&
         v.field("name", m.name) && v.required("role", m.role) && v.field("tool_call_id", m.tool_call_id) &&
         v.unknown(m.unknown_fields);
}

template <class V>
bool fields(V& v, Is<TextPart> auto& m) {
  return v.metadata(m.metadata) && v.required("text", m.text) && v.unknown(m.unknown_fields);
}

template <class V>
bool fields(V& v, Is<ImagePart> auto& m) {
  return v.field("detail", m.detail) && v.required("image", m.image) && v.metadata(m.metadata) &&
         v.unknown(m.unknown_fields);
}

template <class V>
bool fields(V& v, Is<Image> auto& m) {
  return v.field("height", m.height) && v.metadata(m.metadata) && v.field("mime_type", m.mime_type) &&
         v.field("prompt", m.prompt) && v.field("revised_prompt", m.revised_prompt) && v.required("source", m.source) &&
         v.field("width", m.width) && v.unknown(m.unknown_fields);
}

template <class V>
bool fields(V& v, Is<FilePart> auto& m) {
  return v.required("file", m.file) && v.metadata(m.metadata) && v.unknown(m.unknown_fields);
}

template <class V>
bool fields(V& v, Is<File> auto& m) {
  return v.metadata(m.metadata) && v.field("mime_type", m.mime_type) && v.field("name", m.name) &&
         v.required("source", m.source) && v.unknown(m.unknown_fields);
}

template <class V>
bool fields(V& v, Is<AudioPart> auto& m) {
  return v.required("audio", m.audio) && v.metadata(m.metadata) && v.unknown(m.unknown_fields);
}

template <class V>
bool fields(V& v, Is<Audio> auto& m) {
  return v.metadata(m.metadata) && v.field("mime_type", m.mime_type) && v.required("source", m.source) &&
         v.unknown(m.unknown_fields);
}

template <class V>
bool fields(V& v, Is<ToolCall> auto& m) {
  return v.object("arguments", m.arguments) && v.required("id", m.id) && v.metadata(m.metadata) &&
         v.required("name", m.name) && v.field("raw_arguments", m.raw_arguments) && v.unknown(m.unknown_fields);
}

template <class V>
bool fields(V& v, Is<PendingToolCall> auto& m) {
  return v.object("arguments", m.arguments) && v.required("id", m.id) && v.metadata(m.metadata) &&
         v.required("name", m.name) && v.unless_default("pending", m.kind, PendingKind::manual) &&
         v.field("raw_arguments", m.raw_arguments) && v.unknown(m.unknown_fields);
}

template <class V>
bool fields(V& v, Is<Tool> auto& m) {
  return v.field("compact", m.compact) && v.field("description", m.description) && v.fixed("handler", nullptr) &&
         v.field("manual", m.manual) && v.metadata(m.metadata) && v.required("name", m.name) &&
         v.object("schema", m.schema) && v.field("summary", m.summary) &&
         v.unless_default("timeout_ms", m.timeout, std::optional<std::chrono::milliseconds>()) &&
         v.unless_default("validate_arguments", m.validate_arguments, true) && v.unknown(m.unknown_fields);
}

template <class V>
bool fields(V& v, Is<Request> auto& m) {
  return v.field("max_tokens", m.max_tokens) && v.field("messages", m.messages) && v.metadata(m.metadata) &&
         v.field("model", m.model) && v.object("options", m.options) && v.field("prompt_cache", m.prompt_cache) &&
         v.field("response_format", m.response_format) && v.field("stream", m.stream) &&
         v.field("structured_finalize", m.structured_finalize) && v.field("temperature", m.temperature) &&
         v.field("tool_choice", m.tool_choice) && v.field("tools", m.tools) && v.unknown(m.unknown_fields);
}

template <class V>
bool fields(V& v, Is<Response> auto& m) {
  return v.field("finish_reason", m.finish_reason) && v.field("id", m.id) && v.field("message", m.message) &&
         v.metadata(m.metadata, Typed("error", m.error)) && v.field("model", m.model) &&
         v.field("output_text", m.output_text) && v.any("raw", m.raw) &&
         v.field("raw_finish_reason", m.raw_finish_reason) &&
         v.unless_default("reasoning", m.reasoning, std::optional<std::string>()) &&
         v.field("request_id", m.request_id) && v.field("tool_calls", m.tool_calls) && v.field("usage", m.usage) &&
         v.unknown(m.unknown_fields);
}

template <class V>
bool fields(V& v, Is<Usage> auto& m) {
  return v.field("cache_write_input_tokens", m.cache_write_input_tokens) &&
         v.field("cached_input_tokens", m.cached_input_tokens) && v.object("extra", m.extra) &&
         v.field("input_cost", m.input_cost) && v.field("input_tokens", m.input_tokens) &&
         v.field("output_cost", m.output_cost) && v.field("output_tokens", m.output_tokens) &&
         v.field("reasoning_tokens", m.reasoning_tokens) && v.object("tool_usage", m.tool_usage) &&
         v.field("total_cost", m.total_cost) && v.field("total_tokens", m.total_tokens) && v.unknown(m.unknown_fields);
}

template <class V>
bool fields(V& v, Is<Thread> auto& m) {
  return v.field("messages", m.messages) && v.metadata(m.metadata) && v.unknown(m.unknown_fields);
}

template <class V>
bool fields(V& v, Is<Session> auto& m) {
  return v.object("context", m.context) && v.version("format_version") && v.field("id", m.id) &&
         v.metadata(m.metadata) && v.field("pending_question", m.pending_question) &&
         v.field("pending_tool_call_id", m.pending_tool_call_id) &&
         v.field("pending_tool_calls", m.pending_tool_calls) && v.field("status", m.status) &&
         v.field("thread", m.thread) && v.unknown(m.unknown_fields);
}

// Results without their end, which JSON has in `metadata` and, of a run, in `fields`: end_codec.hpp. All are const when
// a result is written; `metadata` is then that with the facts of the end.
template <class Step, class Value>
struct StepParts {
  Step& step;
  Value& metadata;
};

template <class V, class Step, class Value>
bool fields(V& v, const StepParts<Step, Value>& m) {
  return v.field("done?", m.step.done) && v.metadata(m.metadata) && v.nullable("response", m.step.response) &&
         v.nullable("thread", m.step.thread) && v.field("tool_results", m.step.tool_results) &&
         v.unknown(m.step.unknown_fields);
}
inline Usage total_usage(const std::vector<StepResult>& steps) {
  Usage total;
  for (const StepResult& step : steps) total += step.response.usage;
  return total;
}

template <class Chat, class Value, class Fields>
struct ChatParts {
  Chat& chat;
  Value& metadata;
  Fields& end;
};

template <class V, class Chat, class Value, class Fields>
bool fields(V& v, const ChatParts<Chat, Value, Fields>& m) {
  return v.field("final_response", m.chat.final_response) && v.nullable("halted_reason", m.end.halted_reason) &&
         v.metadata(m.metadata) && v.field("pending_question", m.end.pending_question) &&
         v.field("pending_tool_call_id", m.end.pending_tool_call_id) && v.field("steps", m.chat.steps) &&
         v.nullable("thread", m.chat.thread) &&
         v.otherwise("usage", m.chat.usage, [&m] { return total_usage(m.chat.steps); }) &&
         v.unknown(m.chat.unknown_fields);
}

template <class V>
bool fields(V& v, Is<ModelRef> auto& m) {
  return v.any("capabilities", m.capabilities) && v.required("id", m.id) && v.any("limits", m.limits) &&
         v.metadata(m.metadata) && v.any("pricing", m.pricing) && v.field("provider", m.provider) &&
         v.unless_default("refuses", m.refuses, null_json()) && v.unknown(m.unknown_fields);
}

template <class V>
bool fields(V& v, Is<PromptCache> auto& m) {
  return v.required("key", m.key) && v.required("retention", m.retention) && v.closed();
}

// The source of an image, a file or audio. Text is const when it is written.
template <class Text>
struct SourceParts {
  Text& type;
  Text& value;
};

template <class V, class Text>
bool fields(V& v, SourceParts<Text>& m) {
  return v.required("type", m.type) && v.required("value", m.value) && v.ignored();
}

// An error taken apart. Kind, Text and Value are const when it is written.
template <class Kind, class Text, class Value>
struct ErrorParts {
  Kind& detail;
  Text& message;
  Value& metadata;
  Value& cause;
};

template <class V, class Kind, class Text, class Value>
bool fields(V& v, ErrorParts<Kind, Text, Value>& m) {
  const auto common = [&] { return v.nullable("message", m.message) && v.metadata(m.metadata); };
  bool more = v.fixed("__exception__", true) && v.any("cause", m.cause);
  if constexpr (Is<Kind, EngineError>) {
    more = more && common() && v.field("provider", m.detail.provider) && v.required("reason", m.detail.reason);
  } else if constexpr (Is<Kind, AdapterError>) {
    more = more && common() && v.field("provider", m.detail.provider) && v.required("reason", m.detail.reason) &&
           v.field("request_id", m.detail.request_id) && v.field("retry_after_ms", m.detail.retry_after_ms) &&
           v.field("status", m.detail.status);
  } else if constexpr (Is<Kind, StreamError>) {
    more = more && v.field("event_index", m.detail.event_index) && common() && v.field("provider", m.detail.provider) &&
           v.required("reason", m.detail.reason);
  } else if constexpr (Is<Kind, ValidationError>) {
    more = more && v.field("errors", m.detail.errors) && common() && v.required("reason", m.detail.reason);
  } else if constexpr (Is<Kind, ToolError>) {
    more = more && common() && v.required("reason", m.detail.reason) &&
           v.field("tool_call_id", m.detail.tool_call_id) && v.field("tool_name", m.detail.tool_name);
  } else if constexpr (Is<Kind, StoreError>) {
    more = more && common() && v.required("reason", m.detail.reason) && v.field("session_id", m.detail.session_id);
  } else {
    static_assert(Is<Kind, SessionError>);
    more = more && common() && v.fixed("provider", nullptr) && v.required("reason", m.detail.reason);
  }
  return more && v.ignored();
}

}  // namespace allm::codec
