// Images, documents and audio: what a message may hold besides text. Plain values; nothing is read or fetched before a
// request is sent, unless a function here says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "allm/error.hpp"
#include "allm/json.hpp"

namespace allm {

// Where the bytes are. Only `MediaBytes` and `MediaBase64` are self-contained.
struct MediaBytes {
  std::string bytes;
  bool operator==(const MediaBytes&) const;
};
struct MediaBase64 {
  std::string text;
  bool operator==(const MediaBase64&) const;
};
struct MediaUrl {
  std::string url;
  bool operator==(const MediaUrl&) const;
};
// A file of this machine, read when a request is sent.
struct MediaPath {
  std::string path;
  bool operator==(const MediaPath&) const;
};
// A file that was uploaded to the provider before. An id means nothing to other providers.
struct MediaId {
  std::string id;
  bool operator==(const MediaId&) const;
};

using ImageBytes = MediaBytes;
using ImageBase64 = MediaBase64;
using ImageUrl = MediaUrl;
using ImageFile = MediaPath;

enum class ImageDetail : std::uint8_t { automatic, low, high };
// Names as in JSON: "auto", "low", "high".
std::string_view to_string(ImageDetail detail);

struct Image {
  std::variant<MediaBytes, MediaBase64, MediaUrl, MediaPath> source;
  std::optional<std::string> mime_type = std::nullopt;
  std::optional<std::int64_t> width = std::nullopt;
  std::optional<std::int64_t> height = std::nullopt;
  std::optional<std::string> prompt = std::nullopt;
  std::optional<std::string> revised_prompt = std::nullopt;
  Json metadata = empty_object();
  Json unknown_fields = null_json();  // members of the JSON form that this version does not know
  bool operator==(const Image&) const;
};

// A document: a PDF, a text, whatever the provider reads.
struct File {
  std::variant<MediaBytes, MediaBase64, MediaUrl, MediaPath, MediaId> source;
  std::optional<std::string> mime_type = std::nullopt;
  std::optional<std::string> name = std::nullopt;  // shown to the model, for example "report.pdf"
  Json metadata = empty_object();
  Json unknown_fields = null_json();
  bool operator==(const File&) const;
};

struct Audio {
  std::variant<MediaBytes, MediaBase64, MediaUrl, MediaPath> source;
  std::optional<std::string> mime_type = std::nullopt;
  Json metadata = empty_object();
  Json unknown_fields = null_json();
  bool operator==(const Audio&) const;
};

// From a file of this machine. The type is told by the extension, if it is known: png, jpg, jpeg, webp, gif; pdf, txt,
// md, csv, html, json, xml, docx, xlsx, pptx and others; wav, mp3, ogg, opus, flac, aac, m4a, webm. A document gets the
// file's name.
Image image_from_file(std::string path);
File file_from_path(std::string path);
Audio audio_from_file(std::string path);

// From a `data:<mime>;base64,<text>` URI. Fails with `invalid_data_uri` and `invalid_base64`.
Result<Image> image_from_data_uri(std::string_view uri);

// What the functions below read of a file, if no other limit is given: more than any provider takes in a request.
inline constexpr std::size_t kMaxMediaBytes = std::size_t{100} << 20U;

// The bytes. A file is read, which blocks. Fails for a URL (`remote_source`), an id (`provider_file`), text that is not
// base64 (`invalid_base64`), more than `max_bytes` (`too_large`) and a file that cannot be read (`enoent`, …).
Result<std::string> image_bytes(const Image& image, std::size_t max_bytes = kMaxMediaBytes);
Result<std::string> file_bytes(const File& file, std::size_t max_bytes = kMaxMediaBytes);
Result<std::string> audio_bytes(const Audio& audio, std::size_t max_bytes = kMaxMediaBytes);
// `data:<mime>;base64,…`. Fails as image_bytes does, and with `missing_mime_type`.
Result<std::string> image_data_uri(const Image& image);

}  // namespace allm
