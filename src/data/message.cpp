#include "allm/message.hpp"

#include <algorithm>
#include <utility>

#include "data/names.hpp"

namespace allm {

std::string_view to_string(Role role) { return enum_name(role); }
std::string_view to_string(ImageDetail detail) { return enum_name(detail); }

std::string Message::text() const {
  if (const auto* whole = std::get_if<std::string>(&content)) return *whole;
  std::string joined;
  for (const Part& part : std::get<std::vector<Part>>(content)) {
    if (const auto* text_part = std::get_if<TextPart>(&part)) joined += text_part->text;
  }
  return joined;
}

Message system(Content content) { return {.role = Role::system, .content = std::move(content)}; }
Message user(Content content) { return {.role = Role::user, .content = std::move(content)}; }
Message assistant(Content content) { return {.role = Role::assistant, .content = std::move(content)}; }

Message tool_result(std::string tool_call_id, Content content) {
  return {.role = Role::tool, .content = std::move(content), .tool_call_id = std::move(tool_call_id)};
}

bool has_media(const Content& content) {
  const auto is_media = [](const Part& part) {
    return !std::holds_alternative<TextPart>(part) && !std::holds_alternative<UnknownPart>(part);
  };
  const auto* parts = std::get_if<std::vector<Part>>(&content);
  return parts != nullptr && std::ranges::any_of(*parts, is_media);
}

}  // namespace allm
