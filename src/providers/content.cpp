#include "providers/content.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "data/ascii.hpp"
#include "data/base64.hpp"
#include "data/overloaded.hpp"

namespace allm {
namespace {

using Kind = SendableMedia::Kind;

constexpr std::array<std::string_view, 4> kFormats = {"image/png", "image/jpeg", "image/webp", "image/gif"};
constexpr std::size_t kMaxImageBytes = 20U << 20U;
constexpr std::size_t kMaxOtherBytes = 50U << 20U;

// The reasons of the field errors for each kind.
struct KindWords {
  std::string_view name;
  const char* in_system_message;
  const char* too_large;
  const char* unresolvable;
};
constexpr std::array<KindWords, 3> kKindWords = {{
    {"image", "image_in_system_message", "image_too_large", "unresolvable_image"},
    {"file", "file_in_system_message", "file_too_large", "unresolvable_file"},
    {"audio", "audio_in_system_message", "audio_too_large", "unresolvable_audio"},
}};
const KindWords& words_of(Kind kind) { return kKindWords[static_cast<std::size_t>(kind)]; }

std::optional<Kind> kind_of(const Part& part) {
  return std::visit(Overloaded{[](const ImagePart&) { return std::optional(Kind::image); },
                               [](const FilePart&) { return std::optional(Kind::file); },
                               [](const AudioPart&) { return std::optional(Kind::audio); },
                               [](const TextPart&) { return std::optional<Kind>(); },
                               [](const UnknownPart&) { return std::optional<Kind>(); }},
                    part);
}

Result<std::string> bytes_of(const Image& image) { return image_bytes(image, kMaxImageBytes + 1); }
Result<std::string> bytes_of(const File& file) { return file_bytes(file, kMaxOtherBytes + 1); }
Result<std::string> bytes_of(const Audio& audio) { return audio_bytes(audio, kMaxOtherBytes + 1); }

bool is_too_large(const Error& error) {
  const auto* detail = error.get_if<ValidationError>();
  return detail != nullptr && !detail->errors.empty() && detail->errors[0].reason == "too_large";
}

// Copies the URL or the bytes of the media. Returns the reason why they cannot be sent, or null.
template <class Media>
const char* take_source(const Media& media, SendableMedia& sendable) {
  const KindWords& words = words_of(sendable.kind);
  const std::size_t max_bytes = sendable.kind == Kind::image ? kMaxImageBytes : kMaxOtherBytes;
  const bool is_image = sendable.kind == Kind::image;
  const bool known_format = !is_image || std::ranges::find(kFormats, sendable.mime_type) != kFormats.end();
  if (const auto* url = std::get_if<MediaUrl>(&media.source)) {
    if (!sendable.mime_type.empty() && !known_format) return "unsupported_image_format";
    sendable.url = url->url;
    return nullptr;
  }
  if (sendable.mime_type.empty()) return "missing_mime_type";
  if (!known_format) return "unsupported_image_format";
  if (const auto* text = std::get_if<MediaBase64>(&media.source)) {
    if (!is_base64(text->text)) return words.unresolvable;
    const std::size_t padding = static_cast<std::size_t>(std::ranges::count(text->text, '='));
    if (text->text.size() / 4 * 3 - padding > max_bytes) return words.too_large;
    sendable.base64 = text->text;
    return nullptr;
  }
  const Result<std::string> bytes = bytes_of(media);
  if (!bytes) return is_too_large(bytes.error()) ? words.too_large : words.unresolvable;
  if (bytes->size() > max_bytes) return words.too_large;
  sendable.base64 = base64_encode(*bytes);
  return nullptr;
}

const char* make_sendable(const Part& part, SendableMedia& sendable) {
  if (const auto* image = std::get_if<ImagePart>(&part)) {
    sendable.mime_type = lower_case(image->image.mime_type.value_or(""));
    return take_source(image->image, sendable);
  }
  if (const auto* audio = std::get_if<AudioPart>(&part)) {
    sendable.kind = Kind::audio;
    sendable.mime_type = lower_case(audio->audio.mime_type.value_or(""));
    return take_source(audio->audio, sendable);
  }
  const File& file = std::get<FilePart>(part).file;
  sendable.kind = Kind::file;
  sendable.mime_type = lower_case(file.mime_type.value_or(""));
  sendable.name = file.name.value_or("");
  if (const auto* id = std::get_if<MediaId>(&file.source)) {
    sendable.file_id = id->id;
    return nullptr;
  }
  return take_source(file, sendable);
}

bool has(const ContentRules::Kinds& kinds, Kind kind) {
  switch (kind) {
    case Kind::image:
      return kinds.images;
    case Kind::file:
      return kinds.files;
    case Kind::audio:
      break;
  }
  return kinds.audio;
}

bool fetches(const ContentRules& rules, const SendableMedia& media) {
  if (rules.https_only && !media.url.starts_with("https://")) return false;
  switch (media.kind) {
    case Kind::image:
      return rules.image_urls;
    case Kind::file:
      return rules.file_urls;
    case Kind::audio:
      break;
  }
  return rules.audio_urls;
}

bool takes_type(const ContentRules& rules, const SendableMedia& media) {
  if (media.kind == Kind::image) return true;
  const ContentRules::TypeRule takes = media.kind == Kind::file ? rules.takes_file : rules.takes_audio;
  return takes == nullptr || takes(media.mime_type);
}

std::string_view name_of_role(Role role) {
  if (role == Role::tool) return "the result of a tool";
  return role == Role::user ? "a user message" : "an assistant message";
}

// Why the provider does not accept the part, as the rest of a sentence; "" if it does.
std::string refusal(const ContentRules& rules, Role role, const SendableMedia& media) {
  const ContentRules::Kinds& kinds = role == Role::user ? rules.user : rules.tool;
  const KindWords& words = words_of(media.kind);
  if (role == Role::assistant || !has(kinds, media.kind)) {
    if (role != Role::user && has(rules.user, media.kind)) {
      return fmt::format("does not take {} parts in {}: send the part in a user message", words.name,
                         name_of_role(role));
    }
    return fmt::format("does not take {} parts", words.name);
  }
  if (!media.file_id.empty()) return rules.file_ids ? "" : "does not take file parts by an id: send the bytes";
  if (!media.url.empty()) {
    if (fetches(rules, media)) return {};
    return fmt::format("does not fetch {} parts from {}: {}", words.name, media.url, rules.url_advice);
  }
  if (takes_type(rules, media)) return {};
  return fmt::format("does not take {} parts of type {}", words.name, media.mime_type);
}

Error unsupported_part(const ContentRules& rules, std::int64_t message, std::int64_t part, Kind kind,
                       const std::string& why) {
  const Path path = {std::string("messages"), message, std::string("content"), part};
  return Error(
      AdapterError{.reason = AdapterError::Reason::unsupported_feature, .provider = std::string(rules.provider)},
      fmt::format("{}: {} {}", to_string(path), rules.provider, why),
      {{"path", Json::array({"messages", message, "content", part})}, {"type", words_of(kind).name}});
}

Error not_sendable(std::vector<FieldError> errors) {
  std::string message = "content cannot be sent:";
  const char* separator = " ";
  for (const FieldError& error : errors) {
    message += std::exchange(separator, "; ") + to_string(error.path) + " " + error.reason;
  }
  message +=
      "; images must be png, jpeg, webp or gif, at most 20 MiB, documents and audio at most 50 MiB, and none of them "
      "in "
      "a system message";
  return Error(ValidationError{ValidationError::Reason::invalid_message, std::move(errors)}, std::move(message));
}

// Collects the media of all messages, and the errors.
class MediaReader {
 public:
  explicit MediaReader(const ContentRules& rules) : rules_(rules) {}

  void read(std::int64_t index, const Message& message) {
    const auto* parts = std::get_if<std::vector<Part>>(&message.content);
    if (parts == nullptr) return;
    for (std::size_t i = 0; i < parts->size(); ++i) {
      const auto part = static_cast<std::int64_t>(i);
      const std::optional<Kind> kind = kind_of((*parts)[i]);
      if (kind && message.role == Role::system) {
        errors_.push_back(
            {{std::string("messages"), index, std::string("content")}, words_of(*kind).in_system_message});
        return;
      }
      if (kind) {
        read(index, part, message.role, (*parts)[i]);
      } else if (std::holds_alternative<UnknownPart>((*parts)[i])) {
        errors_.push_back({{std::string("content"), index, part}, "invalid_part_type"});
      }
    }
  }

  Result<std::vector<SendableMedia>> take() {
    if (!errors_.empty()) return std::unexpected(not_sendable(std::move(errors_)));
    if (unsupported_) return std::unexpected(*std::move(unsupported_));
    return std::move(media_);
  }

 private:
  void read(std::int64_t index, std::int64_t at, Role role, const Part& part) {
    SendableMedia& media = media_.emplace_back();
    if (const char* reason = make_sendable(part, media)) {
      errors_.push_back({{std::string("content"), index, at}, reason});
      return;
    }
    const std::string why = refusal(rules_, role, media);
    if (!why.empty() && !unsupported_) unsupported_ = unsupported_part(rules_, index, at, media.kind, why);
  }

  const ContentRules& rules_;
  std::vector<SendableMedia> media_;
  std::vector<FieldError> errors_;
  std::optional<Error> unsupported_;
};

}  // namespace

std::string joined_text(const Content& content) {
  if (const auto* text = std::get_if<std::string>(&content)) return *text;
  std::string joined;
  bool first = true;
  for (const Part& part : std::get<std::vector<Part>>(content)) {
    const auto* text = std::get_if<TextPart>(&part);
    if (text == nullptr) continue;
    if (!std::exchange(first, false)) joined += '\n';
    joined += text->text;
  }
  return joined;
}

std::string SendableMedia::uri() const { return url.empty() ? "data:" + mime_type + ";base64," + base64 : url; }

Result<std::vector<SendableMedia>> sendable_media(const MessageList& messages, const ContentRules& rules) {
  MediaReader reader(rules);
  for (std::size_t i = 0; i < messages.size(); ++i) reader.read(static_cast<std::int64_t>(i), messages[i]);
  return reader.take();
}

bool is_pdf(std::string_view mime_type) { return mime_type == "application/pdf"; }

bool is_text(std::string_view mime_type) {
  return mime_type.starts_with("text/") || mime_type == "application/json" || mime_type == "application/xml" ||
         mime_type == "application/yaml";
}

}  // namespace allm
