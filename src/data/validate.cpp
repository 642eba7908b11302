#include "data/validate.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <span>
#include <utility>

#include "data/path.hpp"
#include "data/utf8.hpp"
#include "data/validation_errors.hpp"

namespace allm {

namespace {

using Errors = std::vector<FieldError>;
using Reason = ValidationError::Reason;

// --- Messages ---

template <class Media>
bool is_utf8_media(const Media& media) {
  const auto* url = std::get_if<MediaUrl>(&media.source);
  return (url == nullptr || is_utf8(url->url)) && is_utf8(media.mime_type.value_or(""));
}

bool is_utf8_part(const Part& part) {
  if (const auto* text = std::get_if<TextPart>(&part)) return is_utf8(text->text);
  if (const auto* image = std::get_if<ImagePart>(&part)) return is_utf8_media(image->image);
  if (const auto* audio = std::get_if<AudioPart>(&part)) return is_utf8_media(audio->audio);
  if (const auto* file = std::get_if<FilePart>(&part)) {
    const auto* id = std::get_if<MediaId>(&file->file.source);
    return is_utf8_media(file->file) && is_utf8(file->file.name.value_or("")) && (id == nullptr || is_utf8(id->id));
  }
  return true;
}

const UnknownPart* first_unknown_part(const Content& content) {
  if (const auto* parts = std::get_if<std::vector<Part>>(&content)) {
    for (const Part& part : *parts) {
      if (const auto* unknown = std::get_if<UnknownPart>(&part)) return unknown;
    }
  }
  return nullptr;
}

// The reason why the content is wrong, or null.
const char* content_error(const Content& content) {
  if (const auto* text = std::get_if<std::string>(&content)) return is_utf8(*text) ? nullptr : "invalid_utf8";
  if (first_unknown_part(content) != nullptr) return "invalid_part_type";
  return std::ranges::all_of(std::get<std::vector<Part>>(content), is_utf8_part) ? nullptr : "invalid_utf8";
}

bool lacks_call_id(const Message& message) { return message.role == Role::tool && !message.tool_call_id.has_value(); }

bool is_valid(const Message& message) {
  return message.role <= Role::tool && !lacks_call_id(message) && content_error(message.content) == nullptr;
}

void check_messages(const MessageList& messages, std::size_t from, std::initializer_list<const char*> prefix,
                    Errors& errors) {
  for (std::size_t i = from; i < messages.size(); ++i) {
    const Message& message = messages[i];
    if (is_valid(message)) continue;
    Path path(prefix.begin(), prefix.end());
    path.push_back(static_cast<std::int64_t>(i));
    check_message(message, path, errors);
  }
}

std::string type_of_part(const Json& part) {
  for (const char* key : {"__type__", "type"}) {
    if (part.is_object() && part.contains(key) && part[key].is_string()) return part[key].get<std::string>();
  }
  return part.type_name();
}

// --- Tools ---

constexpr std::array<bool, 256> kNameCharacters = [] {
  std::array<bool, 256> allowed{};
  for (const char c : std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")) {
    allowed[static_cast<unsigned char>(c)] = true;
  }
  return allowed;
}();

bool has_name_characters(std::string_view name) {
  bool all = true;
  for (const char c : name) all &= kNameCharacters[static_cast<unsigned char>(c)];
  return all;
}

// The reason why a tool's name is wrong, or null.
const char* name_error(std::string_view name) {
  constexpr std::size_t kMaxNameSize = 64;
  if (name.empty()) return "empty";
  if (name == "auto" || name == "none" || name == "required") return "reserved_tool_name";
  if (name.size() > kMaxNameSize || !has_name_characters(name)) return "invalid_format";
  return nullptr;
}

bool is_valid(const Tool& tool) {
  return name_error(tool.name) == nullptr && is_utf8(tool.description) && tool.schema.is_object() &&
         (!tool.summary.has_value() || is_utf8(*tool.summary));
}

void check_tool(const Tool& tool, const Path& prefix, Errors& errors) {
  if (const char* reason = name_error(tool.name)) errors.push_back({extended(prefix, "name"), reason});
  if (!is_utf8(tool.description)) errors.push_back({extended(prefix, "description"), "invalid_utf8"});
  if (!tool.schema.is_object()) errors.push_back({extended(prefix, "schema"), "not_a_map"});
  if (tool.summary.has_value() && !is_utf8(*tool.summary)) {
    errors.push_back({extended(prefix, "summary"), "invalid_utf8"});
  }
}

bool has_equal_hashes(const std::vector<Tool>& tools, std::span<std::size_t> hashes) {
  std::ranges::transform(tools, hashes.begin(), [](const Tool& tool) { return std::hash<std::string>()(tool.name); });
  std::ranges::sort(hashes);
  return std::ranges::adjacent_find(hashes) != hashes.end();
}

// A tool that has the name of another, or null. Looks at names themselves only where their hashes
// say that it is worth it; valid requests are checked again at every turn.
const Tool* find_duplicate(const std::vector<Tool>& tools) {
  std::array<std::size_t, 32> few;
  std::vector<std::size_t> many;
  if (tools.size() > few.size()) many.resize(tools.size());
  if (!has_equal_hashes(tools, many.empty() ? std::span(few).first(tools.size()) : std::span(many))) return nullptr;
  std::vector<const Tool*> by_name;
  by_name.reserve(tools.size());
  for (const Tool& tool : tools) by_name.push_back(&tool);
  std::ranges::sort(by_name, {}, &Tool::name);
  const auto found = std::ranges::adjacent_find(by_name, {}, &Tool::name);
  return found == by_name.end() ? nullptr : *found;
}

// --- Requests ---

// Providers' own shapes of a schema format count: they say so in their type.
bool is_schema_format(const ResponseFormat& format) {
  if (format.kind() == ResponseFormat::Kind::json_schema) return true;
  const Json& json = format.json();
  return json.is_object() && json.contains("type") && json["type"] == "json_schema";
}

// NaN compares false.
bool is_temperature(double value) { return value >= 0.0 && value <= 2.0; }

void check_settings(const Request& request, const WrongTypes& wrong, Errors& errors) {
  const auto& [bad_temperature, bad_max_tokens, bad_response_format, bad_prompt_cache] = wrong;
  if (bad_temperature || (request.temperature.has_value() && !is_temperature(*request.temperature))) {
    errors.push_back({{"temperature"}, "out_of_range"});
  }
  if (bad_max_tokens || (request.max_tokens.has_value() && *request.max_tokens <= 0)) {
    errors.push_back({{"max_tokens"}, "must_be_positive"});
  }
  const auto& format = request.response_format;
  if (bad_response_format || (format.has_value() && format->kind() == ResponseFormat::Kind::invalid)) {
    errors.push_back({{"response_format"}, "invalid_shape"});
  }
  if (request.structured_finalize && !(format.has_value() && is_schema_format(*format))) {
    errors.push_back({{"structured_finalize"}, "requires_json_schema"});
  }
  const auto& cache = request.prompt_cache;
  if (bad_prompt_cache || (cache.has_value() && cache->key.has_value() && cache->key->empty())) {
    errors.push_back({{"prompt_cache"}, "invalid_shape"});
  }
}

Status status(Reason reason, Errors errors, const ErrorDetails& details = {}, Json metadata = Json::object()) {
  if (errors.empty()) return {};
  return std::unexpected(validation_errors(reason, std::move(errors), details, std::move(metadata)));
}

}  // namespace

void check_message(const Message& message, const Path& prefix, Errors& errors) {
  if (message.role > Role::tool) errors.push_back({extended(prefix, "role"), "unknown"});
  if (const char* reason = content_error(message.content)) errors.push_back({extended(prefix, "content"), reason});
  if (lacks_call_id(message)) errors.push_back({extended(prefix, "tool_call_id"), "required"});
}

void check_messages(const MessageList& messages, std::size_t from, Errors& errors) {
  check_messages(messages, from, {"messages"}, errors);
}

Status check_tool_names(const std::vector<Tool>& tools) {
  const Tool* duplicate = find_duplicate(tools);
  if (duplicate == nullptr) return {};
  ErrorDetails details;
  details.duplicate_name = duplicate->name;
  return status(Reason::invalid_request, {{{"tools"}, "duplicate_name"}}, details);
}

Status check_request(const Request& request, std::size_t messages_from, const WrongTypes& wrong) {
  Errors errors;
  if (request.messages.empty()) errors.push_back({{"messages"}, "empty"});
  check_messages(request.messages, messages_from, errors);
  for (std::size_t i = 0; i < request.tools.size(); ++i) {
    const Tool& tool = request.tools[i];
    if (!is_valid(tool)) check_tool(tool, {"tools", static_cast<std::int64_t>(i)}, errors);
  }
  ErrorDetails details;
  if (const Tool* duplicate = find_duplicate(request.tools)) {
    errors.push_back({{"tools"}, "duplicate_name"});
    details.duplicate_name = duplicate->name;
  }
  check_settings(request, wrong, errors);
  return status(Reason::invalid_request, std::move(errors), details);
}

Status validate(const Message& message) {
  if (is_valid(message)) return {};
  Errors errors;
  check_message(message, {}, errors);
  ErrorDetails details;
  Json metadata = Json::object();
  if (const UnknownPart* part = first_unknown_part(message.content)) {
    details.part_type = type_of_part(part->value);
    metadata["invalid_part_type"] = {
        {"expected", {"ALLM.TextPart", "ALLM.ImagePart", "ALLM.FilePart", "ALLM.AudioPart"}},
        {"got", details.part_type}};
  }
  return status(Reason::invalid_message, std::move(errors), details, std::move(metadata));
}

Status validate(const Tool& tool) {
  Errors errors;
  check_tool(tool, {}, errors);
  return status(Reason::invalid_tool, std::move(errors));
}

Status validate(const Thread& thread) {
  Errors errors;
  check_messages(thread.messages, 0, errors);
  return status(Reason::invalid_thread, std::move(errors));
}

Status validate(const Request& request) { return check_request(request, 0, {}); }

Status validate(const Session& session) {
  Errors errors;
  switch (session.status) {
    case SessionStatus::idle:
    case SessionStatus::completed:
      break;
    case SessionStatus::awaiting_user:
      if (!session.pending_question.has_value()) errors.push_back({{"pending_question"}, "required_for_status"});
      break;
    case SessionStatus::awaiting_tools:
      if (session.pending_tool_calls.empty()) errors.push_back({{"pending_tool_calls"}, "required_for_status"});
      break;
    case SessionStatus::error:
      if (!session.metadata.is_object() || !session.metadata.contains("error")) {
        errors.push_back({{"metadata"}, "error_required_for_status"});
      }
      break;
    default:
      errors.push_back({{"status"}, "unknown"});
  }
  check_messages(session.thread.messages, 0, {"thread", "messages"}, errors);
  return status(Reason::invalid_session, std::move(errors));
}

}  // namespace allm
