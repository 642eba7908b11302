// What messages hold, made ready to be sent. Pure but for the files that images name, which are read; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "allm/message.hpp"
#include "allm/thread.hpp"

namespace allm {

// The text of a message as providers get it: its text parts joined by newlines.
std::string joined_text(const Content& content);
bool has_image(const Content& content);

// An image that can be sent: where it is, or its type and bytes.
struct SendableImage {
  std::string url = {};        // not fetched, not checked; "" for one that travels in the request
  std::string mime_type = {};  // lower case
  std::string base64 = {};

  // The URL, or a data: URI.
  std::string uri() const;
};

// The images of all messages, in order. Fails with ValidationError `invalid_message`: `image_in_system_message` at
// ["messages", i, "content"], and at ["content", message, part] `unsupported_image_format` (sendable are png, jpeg,
// webp and gif), `image_too_large` (20 MiB), `missing_mime_type`, `unresolvable_image` (no such file, bad base64) and
// `invalid_part_type`. All problems are listed.
Result<std::vector<SendableImage>> sendable_images(const MessageList& messages);

}  // namespace allm
