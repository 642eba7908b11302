// What messages hold, made ready to be sent. Pure but for the files that parts name, which are read; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "allm/message.hpp"
#include "allm/thread.hpp"

namespace allm {

// The text of a message as providers get it: its text parts joined by newlines.
std::string joined_text(const Content& content);

// An image, a document or audio that can be sent: where it is, or its type and bytes.
struct SendableMedia {
  enum class Kind : std::uint8_t { image, file, audio };

  Kind kind = Kind::image;
  std::string url = {};        // not fetched, not checked; "" for one that travels in the request
  std::string file_id = {};    // of a file that the provider stores; "" for others
  std::string mime_type = {};  // lower case
  std::string base64 = {};
  std::string name = {};  // of a document, "" if it has none

  // The URL, or a data: URI.
  std::string uri() const;
};

// What a provider carries. What these rules do not name is refused before anything is sent.
struct ContentRules {
  struct Kinds {
    bool images = false;
    bool files = false;
    bool audio = false;
  };
  using TypeRule = bool (*)(std::string_view mime_type);

  std::string_view provider;  // for errors
  Kinds user = {};            // in user messages
  Kinds tool = {};            // in results of tools
  // What the provider fetches by URL; with `https_only`, from https URLs alone.
  bool image_urls = true;
  bool file_urls = false;
  bool audio_urls = false;
  bool https_only = false;
  std::string_view url_advice = "send the bytes";
  bool file_ids = false;          // documents by the provider's id
  TypeRule takes_file = nullptr;  // by the MIME type of what travels in the request; null: all types
  TypeRule takes_audio = nullptr;
};

// The media of all messages, in order. Fails with ValidationError `invalid_message`: `image_in_system_message` (and
// file_, audio_) at ["messages", i, "content"], and at ["content", message, part] `unsupported_image_format` (sendable
// are png, jpeg, webp and gif), `image_too_large` (20 MiB), `file_too_large`, `audio_too_large` (50 MiB),
// `missing_mime_type`, `unresolvable_image`, `unresolvable_file`, `unresolvable_audio` (no such file, bad base64) and
// `invalid_part_type`. All problems are listed. Fails with AdapterError `unsupported_feature` for the first part that
// the provider does not carry; its metadata has the `path` of the part and its `type`.
Result<std::vector<SendableMedia>> sendable_media(const MessageList& messages, const ContentRules& rules);

bool is_pdf(std::string_view mime_type);
// Text of any kind, JSON and XML included.
bool is_text(std::string_view mime_type);

}  // namespace allm
