// messages_from_json: conversations in the short form that people write.
#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "allm/serialize.hpp"
#include "allm/validate.hpp"

#include "data/immortal.hpp"
#include "data/names.hpp"
#include "data/path.hpp"
#include "data/validate.hpp"
#include "data/validation_errors.hpp"

namespace allm {

namespace {

using Errors = std::vector<FieldError>;

const Json& member(const Json& object, const char* key) {
  static const Json& null = immortal<Json>();
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

// Adds the errors of the JSON reader under the path of the message, with the reasons of validation.
void add_errors(const Error& error, const Path& prefix, Errors& errors) {
  const auto* validation = error.get_if<ValidationError>();
  if (validation == nullptr || validation->errors.empty()) {
    errors.push_back({prefix, "invalid_type"});
    return;
  }
  for (const FieldError& field : validation->errors) {
    // The reader's path for an error in the whole value is "json" or "format".
    const bool whole = field.path == Path{"json"} || field.path == Path{"format"};
    Path path = prefix;
    if (!whole) path.insert(path.end(), field.path.begin(), field.path.end());
    errors.push_back({std::move(path), field.reason == "missing" ? "required" : field.reason});
  }
}

template <class T>
std::optional<T> decoded(const Json& json, const Path& path, Errors& errors) {
  Result<T> value = from_json_value<T>(json);
  if (value.has_value()) return *std::move(value);
  add_errors(value.error(), path, errors);
  return std::nullopt;
}

bool has_tag(const Json& json, std::string_view tag) { return json.is_object() && member(json, "__type__") == tag; }

std::optional<std::string> text_or_null(const Json& object, const char* key, const Path& path, Errors& errors) {
  const Json& value = member(object, key);
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_null()) errors.push_back({extended(path, key), "invalid_type"});
  return std::nullopt;
}

Json object_or_empty(const Json& object, const char* key, const Path& path, Errors& errors) {
  const Json& value = member(object, key);
  if (value.is_object()) return value;
  if (!value.is_null()) errors.push_back({extended(path, key), "invalid_type"});
  return Json::object();
}

template <std::size_t N>
void refuse_others(const Json& object, const std::array<std::string_view, N>& known, const Path& path, Errors& errors) {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(known, key) == known.end()) errors.push_back({extended(path, key), "unknown_field"});
  }
}

Part plain_text(const Json& json, const Path& path, Errors& errors) {
  TextPart part;
  if (const Json& text = member(json, "text"); text.is_string()) {
    part.text = text.get<std::string>();
  } else {
    errors.push_back({extended(path, "text"), text.is_null() ? "required" : "invalid_type"});
  }
  part.metadata = object_or_empty(json, "metadata", path, errors);
  refuse_others(json, std::array<std::string_view, 3>{"type", "text", "metadata"}, path, errors);
  return part;
}

// Source and type of an image, a document or audio. `from_file` makes one of a path.
template <class Media>
Media plain_media(const Json& json, Media (*from_file)(std::string), const Path& path, Errors& errors) {
  Media media;
  const auto url = text_or_null(json, "url", path, errors);
  const auto base64 = text_or_null(json, "base64", path, errors);
  const auto file = text_or_null(json, "file", path, errors);
  std::optional<std::string> id;
  if constexpr (std::is_same_v<Media, File>) id = text_or_null(json, "file_id", path, errors);
  if (url.has_value() + base64.has_value() + file.has_value() + id.has_value() != 1) {
    errors.push_back({path, "one_source_required"});
  } else if (url.has_value()) {
    media.source = MediaUrl{*url};
  } else if (base64.has_value()) {
    media.source = MediaBase64{*base64};
  } else if (file.has_value()) {
    media = from_file(*file);
  } else {
    if constexpr (std::is_same_v<Media, File>) media.source = MediaId{*id};
  }
  if (auto mime_type = text_or_null(json, "mime_type", path, errors)) media.mime_type = std::move(mime_type);
  if (base64.has_value() && !media.mime_type.has_value()) errors.push_back({extended(path, "mime_type"), "required"});
  return media;
}

Part plain_file(const Json& json, const Path& path, Errors& errors) {
  FilePart part{.file = plain_media<File>(json, file_from_path, path, errors)};
  if (auto name = text_or_null(json, "name", path, errors)) part.file.name = std::move(name);
  part.metadata = object_or_empty(json, "metadata", path, errors);
  refuse_others(
      json,
      std::array<std::string_view, 8>{"type", "url", "base64", "file", "file_id", "mime_type", "name", "metadata"},
      path, errors);
  return part;
}

Part plain_audio(const Json& json, const Path& path, Errors& errors) {
  AudioPart part{.audio = plain_media<Audio>(json, audio_from_file, path, errors)};
  part.metadata = object_or_empty(json, "metadata", path, errors);
  refuse_others(json, std::array<std::string_view, 6>{"type", "url", "base64", "file", "mime_type", "metadata"}, path,
                errors);
  return part;
}

Part plain_image(const Json& json, const Path& path, Errors& errors) {
  ImagePart part{.image = plain_media<Image>(json, image_from_file, path, errors)};
  if (const auto detail = text_or_null(json, "detail", path, errors)) {
    const std::optional<ImageDetail> known = enum_from_name<ImageDetail>(*detail);
    if (!known.has_value()) errors.push_back({extended(path, "detail"), "unknown"});
    part.detail = known.value_or(ImageDetail::automatic);
  }
  part.metadata = object_or_empty(json, "metadata", path, errors);
  refuse_others(json,
                std::array<std::string_view, 7>{"type", "url", "base64", "file", "mime_type", "detail", "metadata"},
                path, errors);
  return part;
}

Part part_from_json(const Json& json, const Path& path, Errors& errors) {
  if (has_tag(json, "ALLM.TextPart")) return decoded<TextPart>(json, path, errors).value_or(TextPart{});
  if (has_tag(json, "ALLM.ImagePart")) return decoded<ImagePart>(json, path, errors).value_or(ImagePart{});
  if (has_tag(json, "ALLM.FilePart")) return decoded<FilePart>(json, path, errors).value_or(FilePart{});
  if (has_tag(json, "ALLM.AudioPart")) return decoded<AudioPart>(json, path, errors).value_or(AudioPart{});
  if (json.is_object() && !json.contains("__type__")) {
    if (member(json, "type") == "text") return plain_text(json, path, errors);
    if (member(json, "type") == "image") return plain_image(json, path, errors);
    if (member(json, "type") == "file") return plain_file(json, path, errors);
    if (member(json, "type") == "audio") return plain_audio(json, path, errors);
  }
  return UnknownPart{json};
}

Content content_from_json(const Json& json, const Path& path, Errors& errors) {
  if (json.is_string()) return json.get<std::string>();
  std::vector<Part> parts;
  if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) {
      parts.push_back(part_from_json(json[i], extended(path, static_cast<std::int64_t>(i)), errors));
    }
  } else {
    errors.push_back({path, "invalid_type"});
  }
  return parts;
}

ToolCall tool_call_from_json(const Json& json, const Path& path, Errors& errors) {
  if (!json.is_object()) {
    errors.push_back({path, "invalid_type"});
    return {};
  }
  std::optional<ToolCall> call = decoded<ToolCall>(json, path, errors);
  if (!call.has_value()) return {};
  if (call->id.empty()) errors.push_back({extended(path, "id"), "required"});
  if (call->name.empty()) errors.push_back({extended(path, "name"), "required"});
  return *std::move(call);
}

std::vector<ToolCall> tool_calls_from_json(const Json& json, const Path& path, Errors& errors) {
  std::vector<ToolCall> calls;
  if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) {
      calls.push_back(tool_call_from_json(json[i], extended(path, static_cast<std::int64_t>(i)), errors));
    }
  } else if (!json.is_null()) {
    errors.push_back({path, "invalid_type"});
  }
  return calls;
}

Message plain_message(const Json& json, const Path& path, Errors& errors) {
  Message message;
  const Json& role = member(json, "role");
  const std::optional<Role> known =
      role.is_string() ? enum_from_name<Role>(role.get_ref<const std::string&>()) : std::nullopt;
  if (!known.has_value()) errors.push_back({extended(path, "role"), "unknown"});
  message.role = known.value_or(Role::user);
  message.content = content_from_json(member(json, "content"), extended(path, "content"), errors);
  Errors call_id_errors;
  message.tool_call_id = text_or_null(json, "tool_call_id", path, call_id_errors);
  // A field of the wrong type is not reported as missing too.
  if (!call_id_errors.empty()) message.tool_call_id = std::string();
  check_message(message, path, errors);
  errors.insert(errors.end(), call_id_errors.begin(), call_id_errors.end());

  message.name = text_or_null(json, "name", path, errors);
  message.metadata = object_or_empty(json, "metadata", path, errors);
  message.tool_calls = tool_calls_from_json(member(message.metadata, "tool_calls"),
                                            extended(extended(path, "metadata"), "tool_calls"), errors);
  message.metadata.erase("tool_calls");
  std::vector<ToolCall> calls = tool_calls_from_json(member(json, "tool_calls"), extended(path, "tool_calls"), errors);
  if (!calls.empty() && !message.tool_calls.empty()) errors.push_back({extended(path, "tool_calls"), "given_twice"});
  if (!calls.empty()) message.tool_calls = std::move(calls);
  refuse_others(json,
                std::array<std::string_view, 6>{"role", "content", "tool_call_id", "name", "metadata", "tool_calls"},
                path, errors);
  return message;
}

Message message_from_json(const Json& json, const Path& path, Errors& errors) {
  Message message;
  if (json.is_string()) {
    message = user(json.get<std::string>());
    check_message(message, path, errors);
  } else if (has_tag(json, "ALLM.Message")) {
    message = decoded<Message>(json, path, errors).value_or(Message{});
    check_message(message, path, errors);
  } else if (json.is_object()) {
    message = plain_message(json, path, errors);
  } else {
    errors.push_back({path, "invalid_type"});
  }
  return message;
}

}  // namespace

Result<std::vector<Message>> messages_from_json(const Json& json, ValidationError::Reason reason) {
  Errors errors;
  std::vector<Message> messages;
  if (json.is_array()) {
    messages.reserve(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) {
      messages.push_back(message_from_json(json[i], {"messages", static_cast<std::int64_t>(i)}, errors));
    }
  } else {
    errors.push_back({{"messages"}, "invalid_type"});
  }
  if (!errors.empty()) return std::unexpected(validation_errors(reason, std::move(errors)));
  return messages;
}

Result<std::vector<Part>> parts_from_json(const Json& json) {
  Errors errors;
  const Path path = {"content"};
  Message message;
  if (json.is_array()) {
    message.content = content_from_json(json, path, errors);
    check_message(message, {}, errors);
  } else {
    errors.push_back({path, "invalid_type"});
  }
  if (!errors.empty())
    return std::unexpected(validation_errors(ValidationError::Reason::invalid_message, std::move(errors)));
  return std::get<std::vector<Part>>(std::move(message.content));
}

}  // namespace allm
