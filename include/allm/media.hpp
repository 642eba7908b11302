// Images, documents and audio in messages. Plain values: a file is read when a request is sent, not before, unless a
// function here says so.
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

// Sources of media: where the data is. Only `MediaBytes` and `MediaBase64` contain the data itself.
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
// A file of this machine. It is read when a request is sent.
struct MediaPath {
  std::string path;
  bool operator==(const MediaPath&) const;
};
// A file that was uploaded to the provider before. The id is valid for that provider only.
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
  // The next four fields are for the program. They are saved, but not sent to a model.
  std::optional<std::int64_t> width = std::nullopt;
  std::optional<std::int64_t> height = std::nullopt;
  std::optional<std::string> prompt = std::nullopt;
  std::optional<std::string> revised_prompt = std::nullopt;
  Json metadata = empty_object();
  Json unknown_fields = null_json();  // members of the JSON form that this version does not know
  bool operator==(const Image&) const;
};

// A document: a PDF, a text or any other format that the provider accepts.
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

// Refer to a file of this machine, which is not read yet. `mime_type` is set if the extension is one of these:
// - images: png, jpg, jpeg, webp, gif;
// - documents: pdf, txt, md, csv, html, htm, json, xml, rtf, yaml, yml, docx, xlsx, pptx;
// - audio: wav, mp3, ogg, opus, flac, aac, m4a, webm.
// file_from_path also sets File::name to the name of the file.
Image image_from_file(std::string path);
File file_from_path(std::string path);
Audio audio_from_file(std::string path);

// Makes an image from a `data:<mime>;base64,<text>` URI. Fails with ValidationError `invalid_request`; the field error
// is `invalid_data_uri` or `invalid_base64`.
Result<Image> image_from_data_uri(std::string_view uri);

// The default limit of the functions below: more than any provider accepts in a request.
inline constexpr std::size_t kMaxMediaBytes = std::size_t{100} << 20U;

// Return the data. If the source is a path, the file is read, which blocks. Fail with ValidationError
// `invalid_request`; the field error is `remote_source` for a URL, `provider_file` for an id, `invalid_base64` for text
// that is not base64, `too_large` for more than `max_bytes`, and the name of the system's error (`enoent`, …) for a
// file that cannot be read.
Result<std::string> image_bytes(const Image& image, std::size_t max_bytes = kMaxMediaBytes);
Result<std::string> file_bytes(const File& file, std::size_t max_bytes = kMaxMediaBytes);
Result<std::string> audio_bytes(const Audio& audio, std::size_t max_bytes = kMaxMediaBytes);
// Returns `data:<mime>;base64,…`. Blocks and fails as image_bytes does. Also fails with the field error
// `missing_mime_type` if the image has no `mime_type`.
Result<std::string> image_data_uri(const Image& image);

}  // namespace allm
