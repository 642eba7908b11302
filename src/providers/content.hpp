// Prepares the content of messages for sending. Reads the files that parts name; otherwise pure. Safe to call from any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "allm/message.hpp"
#include "allm/thread.hpp"

namespace allm {

// The text of a message in the form that providers get: its text parts, joined by newlines.
std::string joined_text(const Content& content);

// An image, a document or audio, ready to be sent: a URL or file id, or the type and the bytes.
struct SendableMedia {
  enum class Kind : std::uint8_t { image, file, audio };

  Kind kind = Kind::image;
  std::string url = {};        // neither fetched nor checked; "" if the bytes are in the request
  std::string file_id = {};    // id of a file that the provider stores; "" for others
  std::string mime_type = {};  // lower case
  std::string base64 = {};
  std::string name = {};  // of a document, "" if it has none

  // The URL, or a data: URI.
  std::string uri() const;
};

// The content that a provider accepts. Other content is refused before the request is sent.
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
  // Which media the provider fetches by URL; with `https_only`, only from https URLs.
  bool image_urls = true;
  bool file_urls = false;
  bool audio_urls = false;
  bool https_only = false;
  std::string_view url_advice = "send the bytes";
  bool file_ids = false;          // documents by the provider's file id
  TypeRule takes_file = nullptr;  // whether documents of a MIME type can be sent as bytes; null: all types
  TypeRule takes_audio = nullptr;
};

// The media of all messages, in order. Fails with ValidationError `invalid_message`: `image_in_system_message` (and
// file_, audio_) at ["messages", i, "content"], and at ["content", message, part] `unsupported_image_format` (sendable
// are png, jpeg, webp and gif), `image_too_large` (20 MiB), `file_too_large`, `audio_too_large` (50 MiB),
// `missing_mime_type`, `unresolvable_image`, `unresolvable_file`, `unresolvable_audio` (no such file, bad base64) and
// `invalid_part_type`. All errors are listed. Fails with AdapterError `unsupported_feature` for the first part that the
// provider does not accept; the error's metadata has the part's `path` and `type`.
Result<std::vector<SendableMedia>> sendable_media(const MessageList& messages, const ContentRules& rules);

bool is_pdf(std::string_view mime_type);
// Whether it is text of any kind, JSON and XML included.
bool is_text(std::string_view mime_type);

}  // namespace allm
