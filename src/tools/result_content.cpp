#include "tools/result_content.hpp"

#include <string>
#include <utility>

#include "allm/validate.hpp"

namespace allm {

Result<Content> content_of_parts(std::vector<Part> parts) {
  Message message = user(std::move(parts));
  if (Status valid = validate(message); !valid) return std::unexpected(valid.error());
  if (has_media(message.content)) return std::move(message.content);
  std::string joined;
  const char* separator = "";
  for (const Part& part : std::get<std::vector<Part>>(message.content)) {
    joined += std::exchange(separator, "\n");
    joined += std::get<TextPart>(part).text;
  }
  return joined;
}

}  // namespace allm
