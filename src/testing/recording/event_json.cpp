#include "testing/recording/event_json.hpp"

#include <optional>
#include <string>
#include <utility>

#include "allm/serialize.hpp"

#include "testing/recording/member_reader.hpp"

namespace allm {
namespace {

template <class T>
void put(Json& json, const char* name, const std::optional<T>& value) {
  if (value) json[name] = *value;
}

// The members of each kind of event; null for a kind that a model must not produce.
struct Writer {
  Json operator()(const MessageStarted& event) const { return {{"message", to_json_value(event.message)}}; }
  Json operator()(const TextDelta& event) const {
    Json json = Json::object();
    put(json, "id", event.id);
    json["delta"] = event.delta;
    return json;
  }
  Json operator()(const TextCompleted& event) const {
    Json json = Json::object();
    put(json, "id", event.id);
    json["text"] = event.text;
    return json;
  }
  Json operator()(const ReasoningDelta& event) const { return {{"delta", event.delta}}; }
  Json operator()(const ReasoningCompleted& event) const { return {{"text", event.text}}; }
  Json operator()(const ToolCallStarted& event) const { return {{"id", event.id}, {"name", event.name}}; }
  Json operator()(const ToolCallDelta& event) const {
    return {{"id", event.id}, {"arguments_delta", event.arguments_delta}};
  }
  Json operator()(const ToolCallCompleted& event) const { return {{"call", to_json_value(event.call)}}; }
  Json operator()(const MessageCompleted& event) const {
    Json json = {{"message", to_json_value(event.message)}};
    if (event.finish_reason) json["finish_reason"] = to_string(*event.finish_reason);
    if (event.usage) json["usage"] = to_json_value(*event.usage);
    put(json, "request_id", event.request_id);
    put(json, "id", event.id);
    put(json, "model", event.model);
    put(json, "raw_finish_reason", event.raw_finish_reason);
    put(json, "reasoning", event.reasoning);
    json["metadata"] = event.metadata;
    return json;
  }
  Json operator()(const RawChunk& event) const {
    Json json = Json::object();
    json["chunk"] = event.chunk;
    return json;
  }
  Json operator()(const ErrorEvent& event) const { return {{"error", to_json_value(event.error)}}; }
  Json operator()(const ToolExecutionStarted&) const { return nullptr; }
  Json operator()(const ToolExecutionCompleted&) const { return nullptr; }
  Json operator()(const ToolResultEncoded&) const { return nullptr; }
  Json operator()(const AskUserRequested&) const { return nullptr; }
  Json operator()(const ToolHalt&) const { return nullptr; }
  Json operator()(const StepCompleted&) const { return nullptr; }
  Json operator()(const ChatCompleted&) const { return nullptr; }
};

bool read(MemberReader& reader, MessageStarted& out) {
  std::optional<Message> message;
  if (!reader.value("message", message)) return false;
  out.message = *std::move(message);
  return true;
}
bool read(MemberReader& reader, TextDelta& out) {
  return reader.optional_text("id", out.id) && reader.text("delta", out.delta);
}
bool read(MemberReader& reader, TextCompleted& out) {
  return reader.optional_text("id", out.id) && reader.text("text", out.text);
}
bool read(MemberReader& reader, ReasoningDelta& out) { return reader.text("delta", out.delta); }
bool read(MemberReader& reader, ReasoningCompleted& out) { return reader.text("text", out.text); }
bool read(MemberReader& reader, ToolCallStarted& out) {
  return reader.text("id", out.id) && reader.text("name", out.name);
}
bool read(MemberReader& reader, ToolCallDelta& out) {
  return reader.text("id", out.id) && reader.text("arguments_delta", out.arguments_delta);
}
bool read(MemberReader& reader, ToolCallCompleted& out) {
  std::optional<ToolCall> call;
  if (!reader.value("call", call)) return false;
  out.call = *std::move(call);
  return true;
}
bool read(MemberReader& reader, std::optional<FinishReason>& out) {
  std::optional<std::string> word;
  if (!reader.optional_text("finish_reason", word)) return false;
  if (!word) return true;
  out = finish_reason_from_string(*word);
  return out || reader.fail("finish_reason", "atom_decode_failed",
                            "must be stop, length, tool_calls, content_filter, error or other");
}
bool read(MemberReader& reader, MessageCompleted& out) {
  std::optional<Message> message;
  if (!reader.value("message", message)) return false;
  out.message = *std::move(message);
  return read(reader, out.finish_reason) && reader.optional_value("usage", out.usage) &&
         reader.optional_text("request_id", out.request_id) && reader.optional_text("id", out.id) &&
         reader.optional_text("model", out.model) && reader.optional_text("raw_finish_reason", out.raw_finish_reason) &&
         reader.optional_text("reasoning", out.reasoning) && reader.object("metadata", out.metadata);
}
bool read(MemberReader& reader, RawChunk& out) { return reader.json("chunk", out.chunk); }

template <class T>
std::optional<Event> read_as(MemberReader& reader) {
  T event;
  if (!read(reader, event)) return std::nullopt;
  return Event(std::move(event));
}
template <>
std::optional<Event> read_as<ErrorEvent>(MemberReader& reader) {
  std::optional<Error> error;
  if (!reader.value("error", error)) return std::nullopt;
  return Event(ErrorEvent{*std::move(error)});
}

template <class... Kinds>
std::optional<Event> read_one_of(MemberReader& reader, std::string_view type) {
  std::optional<Event> event;
  const auto is_kind = [type](int tag) { return type == to_string(static_cast<EventTag>(tag)); };
  const bool known = ((is_kind(detail::kTagOf<Kinds>) && (event = read_as<Kinds>(reader), true)) || ...);
  if (!known) reader.fail("type", "unknown_type", "is not a kind of event that a model gives");
  return event;
}

}  // namespace

Result<Json> event_to_json(const Event& event) {
  const Json members = event.visit(Writer{});
  if (members.is_null()) {
    return std::unexpected(Error(AdapterError{.reason = AdapterError::Reason::malformed_response},
                                 "the adapter's stream produced an event that a model must not produce: " +
                                     std::string(to_string(event.tag()))));
  }
  Json json = {{"type", to_string(event.tag())}};
  json.update(members);
  return json;
}

Result<Event> event_from_json(const Json& json) {
  MemberReader reader(json);
  std::string type;
  std::optional<Event> event;
  if (reader.text("type", type)) {
    event = read_one_of<MessageStarted, TextDelta, TextCompleted, ReasoningDelta, ReasoningCompleted, ToolCallStarted,
                        ToolCallDelta, ToolCallCompleted, MessageCompleted, RawChunk, ErrorEvent>(reader, type);
  }
  if (std::optional<Error> error = reader.finish()) return std::unexpected(*std::move(error));
  return *std::move(event);
}

}  // namespace allm
