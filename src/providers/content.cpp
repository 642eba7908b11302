#include "providers/content.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "data/ascii.hpp"
#include "data/base64.hpp"

namespace allm {
namespace {

constexpr std::array<std::string_view, 4> kFormats = {"image/png", "image/jpeg", "image/webp", "image/gif"};
constexpr std::size_t kMaxImageBytes = 20U << 20U;

// Fills `sendable`; the reason why the image cannot be sent, or null.
const char* make_sendable(const Image& image, SendableImage& sendable) {
  sendable.mime_type = lower_case(image.mime_type.value_or(""));
  const bool known_format = std::ranges::find(kFormats, sendable.mime_type) != kFormats.end();
  if (const auto* url = std::get_if<ImageUrl>(&image.source)) {
    if (!sendable.mime_type.empty() && !known_format) return "unsupported_image_format";
    sendable.url = url->url;
    return nullptr;
  }
  if (sendable.mime_type.empty()) return "missing_mime_type";
  if (!known_format) return "unsupported_image_format";
  const auto* text = std::get_if<ImageBase64>(&image.source);
  if (text != nullptr) {
    if (!is_base64(text->text)) return "unresolvable_image";
    const std::size_t padding = static_cast<std::size_t>(std::ranges::count(text->text, '='));
    if (text->text.size() / 4 * 3 - padding > kMaxImageBytes) return "image_too_large";
    sendable.base64 = text->text;
    return nullptr;
  }
  const Result<std::string> bytes = image_bytes(image);
  if (!bytes) return "unresolvable_image";
  if (bytes->size() > kMaxImageBytes) return "image_too_large";
  sendable.base64 = base64_encode(*bytes);
  return nullptr;
}

Error not_sendable(std::vector<FieldError> errors) {
  std::string message = "content cannot be sent:";
  const char* separator = " ";
  for (const FieldError& error : errors) {
    message += std::exchange(separator, "; ") + to_string(error.path) + " " + error.reason;
  }
  message += "; images must be png, jpeg, webp or gif, at most 20 MiB, and never in a system message";
  return Error(ValidationError{ValidationError::Reason::invalid_message, std::move(errors)}, std::move(message));
}

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

bool has_image(const Content& content) {
  const auto* parts = std::get_if<std::vector<Part>>(&content);
  return parts != nullptr &&
         std::ranges::any_of(*parts, [](const Part& part) { return std::holds_alternative<ImagePart>(part); });
}

std::string SendableImage::uri() const { return url.empty() ? "data:" + mime_type + ";base64," + base64 : url; }

Result<std::vector<SendableImage>> sendable_images(const MessageList& messages) {
  std::vector<SendableImage> images;
  std::vector<FieldError> errors;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    const auto* parts = std::get_if<std::vector<Part>>(&message.content);
    if (parts == nullptr) continue;
    const auto index = static_cast<std::int64_t>(i);
    if (message.role == Role::system && has_image(message.content)) {
      errors.push_back({{std::string("messages"), index, std::string("content")}, "image_in_system_message"});
      continue;
    }
    for (std::size_t j = 0; j < parts->size(); ++j) {
      const char* problem = nullptr;
      if (const auto* part = std::get_if<ImagePart>(&(*parts)[j])) {
        problem = make_sendable(part->image, images.emplace_back());
      } else if (std::holds_alternative<UnknownPart>((*parts)[j])) {
        problem = "invalid_part_type";
      }
      if (problem == nullptr) continue;
      errors.push_back({{std::string("content"), index, static_cast<std::int64_t>(j)}, problem});
    }
  }
  if (!errors.empty()) return std::unexpected(not_sendable(std::move(errors)));
  return images;
}

}  // namespace allm
