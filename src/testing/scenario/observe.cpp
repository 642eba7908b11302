#include "testing/scenario/observe.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "allm/serialize.hpp"

#include "data/end_codec.hpp"
#include "testing/scenario/or_null.hpp"

namespace allm::scenario {
namespace {

template <class Range>
Json observe_all(const Range& range) {
  Json all = Json::array();
  for (const auto& element : range) all.push_back(observe(element));
  return all;
}

Json observe_path(const Path& path) {
  Json steps = Json::array();
  for (const PathStep& step : path) {
    std::visit([&steps](const auto& value) { steps.push_back(value); }, step);
  }
  return steps;
}

// The observation of a serialised error, call or message; nullopt if `value` is anything else.
std::optional<Json> observe_tagged(const Json& value) {
  const auto tag = value.find("__type__");
  if (tag == value.end() || !tag->is_string() || !value.contains("data")) return std::nullopt;
  const std::string_view name = tag->get_ref<const std::string&>();
  if (name.starts_with("ALLM.Error.")) {
    if (const auto error = from_json_value<Error>(value)) return observe(*error);
  } else if (name == "ALLM.ToolCall") {
    if (const auto call = from_json_value<ToolCall>(value)) return observe(*call);
  } else if (name == "ALLM.Message") {
    if (const auto message = from_json_value<Message>(value)) return observe(*message);
  }
  return std::nullopt;
}

// Parts in the form that messages_from_json reads; bytes are shown by their size.
struct PartObserver {
  Json operator()(const TextPart& part) const { return {{"type", "text"}, {"text", part.text}}; }
  Json operator()(const ImagePart& part) const {
    Json json = {{"type", "image"}};
    json.update(std::visit(*this, part.image.source));
    if (part.image.mime_type) json["mime_type"] = *part.image.mime_type;
    json["detail"] = to_string(part.detail);
    return json;
  }
  Json operator()(const FilePart& part) const {
    Json json = {{"type", "file"}};
    json.update(std::visit(*this, part.file.source));
    if (part.file.mime_type) json["mime_type"] = *part.file.mime_type;
    if (part.file.name) json["name"] = *part.file.name;
    return json;
  }
  Json operator()(const AudioPart& part) const {
    Json json = {{"type", "audio"}};
    json.update(std::visit(*this, part.audio.source));
    if (part.audio.mime_type) json["mime_type"] = *part.audio.mime_type;
    return json;
  }
  Json operator()(const UnknownPart& part) const { return part.value; }

  Json operator()(const MediaBytes& source) const { return {{"bytes", source.bytes.size()}}; }
  Json operator()(const MediaBase64& source) const { return {{"base64", source.text}}; }
  Json operator()(const MediaUrl& source) const { return {{"url", source.url}}; }
  Json operator()(const MediaPath& source) const { return {{"file", source.path}}; }
  Json operator()(const MediaId& source) const { return {{"file_id", source.id}}; }
};

Json with_manual_calls(Json metadata, const std::vector<PendingToolCall>& calls) {
  if (!calls.empty()) metadata["manual_tool_calls"] = observe_all(calls);
  return metadata;
}

// The observation of a step without its messages.
Json observe_summary(const StepResult& step) {
  Json json = {{"finish_reason", or_null(step.response.finish_reason)},
               {"output_text", or_null(step.response.text())},
               {"tool_calls", observe(std::span(step.response.tool_calls))},
               {"tool_results", observe(std::span(step.tool_results))},
               {"done", step.done},
               {"usage", observe(step.response.usage)}};
  json["metadata"] = with_manual_calls(observe_value(codec::with_metadata(codec::end_facts(step.end), step.metadata)),
                                       step.manual_tool_calls());
  return json;
}

}  // namespace

Json observe_content(const Content& content) {
  if (const auto* text = std::get_if<std::string>(&content)) return *text;
  Json parts = Json::array();
  for (const Part& part : std::get<std::vector<Part>>(content)) parts.push_back(std::visit(PartObserver{}, part));
  return parts;
}

Json observe_value(const Json& value) {
  if (value.is_array()) {
    Json all = Json::array();
    for (const Json& element : value) all.push_back(observe_value(element));
    return all;
  }
  if (!value.is_object()) return value;
  if (std::optional<Json> tagged = observe_tagged(value)) return *std::move(tagged);
  Json all = Json::object();
  for (const auto& [key, element] : value.items()) all[key] = observe_value(element);
  return all;
}

Json observe(const Message& message) {
  Json json = {{"role", to_string(message.role)}, {"content", observe_content(message.content)}};
  if (message.tool_call_id) json["tool_call_id"] = *message.tool_call_id;
  if (message.name) json["name"] = *message.name;
  Json metadata = observe_value(message.metadata);
  if (!message.tool_calls.empty()) metadata["tool_calls"] = observe(std::span(message.tool_calls));
  if (!metadata.empty()) json["metadata"] = std::move(metadata);
  return json;
}

Json observe(const MessageList& messages) { return observe_all(messages); }
Json observe(std::span<const Message> messages) { return observe_all(messages); }

Json observe(const ToolCall& call) {
  Json json = {{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}};
  json["raw_arguments"] = or_null(call.raw_arguments);
  return json;
}

Json observe(std::span<const ToolCall> calls) { return observe_all(calls); }
Json observe(std::span<const PendingToolCall> calls) { return observe_all(calls); }

Json observe(const Usage& usage) {
  Json json = {{"input_tokens", or_null(usage.input_tokens)},
               {"output_tokens", or_null(usage.output_tokens)},
               {"cached_input_tokens", or_null(usage.cached_input_tokens)},
               {"cache_write_input_tokens", or_null(usage.cache_write_input_tokens)},
               {"reasoning_tokens", or_null(usage.reasoning_tokens)},
               {"total_tokens", or_null(usage.total_tokens)},
               {"input_cost", or_null(usage.input_cost)},
               {"output_cost", or_null(usage.output_cost)},
               {"total_cost", or_null(usage.total_cost)},
               {"tool_usage", usage.tool_usage},
               {"extra", usage.extra}};
  return json;
}

Json observe(const Error& error) {
  Json json = {{"type", error.kind()}, {"reason", error.reason()}, {"message", error.message()}};
  if (!error.metadata().empty()) json["metadata"] = observe_value(error.metadata());
  if (const auto* validation = error.get_if<ValidationError>()) {
    Json& errors = json["errors"] = Json::array();
    for (const FieldError& field : validation->errors) {
      errors.push_back(Json::array({observe_path(field.path), field.reason}));
    }
  }
  return json;
}

Json observe(const Response& response) {
  Json json = {{"output_text", or_null(response.text())},
               {"finish_reason", or_null(response.finish_reason)},
               {"tool_calls", observe(std::span(response.tool_calls))},
               {"usage", observe(response.usage)}};
  if (response.reasoning) json["reasoning"] = *response.reasoning;
  if (response.error) json["error"] = observe(*response.error);
  return json;
}

Json observe(const StepResult& step) {
  Json json = observe_summary(step);
  json["messages"] = observe(step.thread.messages);
  return json;
}

Json observe(const ChatResult& chat) {
  const auto& final = chat.final_response;
  Json json = {{"halted_reason", chat.halted_reason()},
               {"output_text", final ? or_null(final->text()) : Json(nullptr)},
               {"finish_reason", final ? or_null(final->finish_reason) : Json(nullptr)},
               {"messages", observe(chat.thread.messages)}};
  Json& steps = json["steps"] = Json::array();
  for (const StepResult& step : chat.steps) steps.push_back(observe_summary(step));
  const codec::EndFields end = codec::end_fields(chat.end);
  json["pending_question"] = or_null(end.pending_question);
  json["pending_tool_call_id"] = or_null(end.pending_tool_call_id);
  json["usage"] = observe(chat.usage);
  Json metadata = with_manual_calls(observe_value(codec::with_metadata(codec::end_facts(chat.end), chat.metadata)),
                                    chat.manual_tool_calls());
  if (const Error* error = chat.error()) metadata["error"] = observe(*error);
  json["metadata"] = std::move(metadata);
  return json;
}

Json observe(const ToolBatch& batch) {
  return {{"messages", observe(std::span(batch.messages))},
          {"halt", batch.halt ? observe_value(codec::end_facts(*batch.halt)) : Json(nullptr)}};
}

Json observe(const Session& session, Json result) {
  Json json = {{"status", to_string(session.status)},
               {"pending_question", or_null(session.pending_question)},
               {"pending_tool_call_id", or_null(session.pending_tool_call_id)},
               {"pending_tool_calls", observe_all(session.pending_tool_calls)},
               {"messages", observe(session.thread.messages)}};
  json["result"] = std::move(result);
  return json;
}

}  // namespace allm::scenario
