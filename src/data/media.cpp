#include "allm/media.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <expected>
#include <utility>

#include <fmt/format.h>

#include "data/ascii.hpp"
#include "data/base64.hpp"
#include "data/overloaded.hpp"
#include "data/read_file.hpp"

namespace allm {

namespace {

struct MediaType {
  std::string_view extension;
  std::string_view mime_type;
};

constexpr std::array kImageTypes = {
    MediaType{"png", "image/png"},   MediaType{"jpg", "image/jpeg"}, MediaType{"jpeg", "image/jpeg"},
    MediaType{"webp", "image/webp"}, MediaType{"gif", "image/gif"},
};

constexpr std::string_view kWord = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
constexpr std::string_view kExcel = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
constexpr std::string_view kPowerPoint = "application/vnd.openxmlformats-officedocument.presentationml.presentation";
constexpr std::array kFileTypes = {
    MediaType{"pdf", "application/pdf"},
    MediaType{"txt", "text/plain"},
    MediaType{"md", "text/markdown"},
    MediaType{"csv", "text/csv"},
    MediaType{"html", "text/html"},
    MediaType{"htm", "text/html"},
    MediaType{"json", "application/json"},
    MediaType{"xml", "text/xml"},
    MediaType{"rtf", "application/rtf"},
    MediaType{"yaml", "application/yaml"},
    MediaType{"yml", "application/yaml"},
    MediaType{"docx", kWord},
    MediaType{"xlsx", kExcel},
    MediaType{"pptx", kPowerPoint},
};

constexpr std::array kAudioTypes = {
    MediaType{"wav", "audio/wav"},  MediaType{"mp3", "audio/mpeg"},  MediaType{"ogg", "audio/ogg"},
    MediaType{"opus", "audio/ogg"}, MediaType{"flac", "audio/flac"}, MediaType{"aac", "audio/aac"},
    MediaType{"m4a", "audio/mp4"},  MediaType{"webm", "audio/webm"},
};

template <std::size_t N>
std::optional<std::string> mime_type_of_path(std::string_view path, const std::array<MediaType, N>& types) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string extension = lower_case(path.substr(dot + 1));
  const auto found = std::ranges::find(types, extension, &MediaType::extension);
  return found == types.end() ? std::nullopt : std::optional<std::string>(found->mime_type);
}

std::unexpected<Error> invalid(Path path, std::string reason, std::string message) {
  return std::unexpected(validation_error(ValidationError::Reason::invalid_request, std::move(path), std::move(reason),
                                          std::move(message)));
}

// The bytes of one source. `what` is the word for the kind of media, for messages.
struct SourceReader {
  std::string_view what;
  std::size_t max_bytes;

  Result<std::string> checked(std::string bytes) const {
    if (bytes.size() <= max_bytes) return bytes;
    return too_large();
  }
  Result<std::string> operator()(const MediaBytes& source) const { return checked(source.bytes); }
  Result<std::string> operator()(const MediaBase64& source) const {
    std::optional<std::string> bytes = base64_decode(source.text);
    if (!bytes.has_value()) return invalid_base64();
    return checked(*std::move(bytes));
  }
  Result<std::string> operator()(const MediaUrl& source) const {
    return invalid({"source"}, "remote_source",
                   fmt::format("the {} is at {}: fetch it and use its bytes", what, source.url));
  }
  Result<std::string> operator()(const MediaPath& source) const {
    std::expected<std::string, int> bytes = read_file(source.path, max_bytes);
    if (bytes.has_value()) return *std::move(bytes);
    if (bytes.error() == EFBIG) return too_large();
    return invalid({"source"}, errno_word(bytes.error()),
                   fmt::format("cannot read the {} file '{}': {}", what, source.path, errno_text(bytes.error())));
  }
  Result<std::string> operator()(const MediaId& source) const {
    return invalid({"source"}, "provider_file",
                   fmt::format("the {} '{}' is stored at the provider: its bytes are not here", what, source.id));
  }

  std::unexpected<Error> too_large() const {
    return invalid({"source"}, "too_large", fmt::format("the {} has more than {} bytes", what, max_bytes));
  }
  std::unexpected<Error> invalid_base64() const {
    return invalid(
        {"source"}, "invalid_base64",
        fmt::format("the {}'s text is not base64: use the standard alphabet, padded, without white space", what));
  }
};

constexpr SourceReader kImageReader = {"image", kMaxMediaBytes};

}  // namespace

Image image_from_file(std::string path) {
  std::optional<std::string> mime_type = mime_type_of_path(path, kImageTypes);
  return {.source = MediaPath{std::move(path)}, .mime_type = std::move(mime_type)};
}

File file_from_path(std::string path) {
  std::optional<std::string> mime_type = mime_type_of_path(path, kFileTypes);
  std::string name = path.substr(path.rfind('/') + 1);
  return {.source = MediaPath{std::move(path)}, .mime_type = std::move(mime_type), .name = std::move(name)};
}

Audio audio_from_file(std::string path) {
  std::optional<std::string> mime_type = mime_type_of_path(path, kAudioTypes);
  return {.source = MediaPath{std::move(path)}, .mime_type = std::move(mime_type)};
}

Result<Image> image_from_data_uri(std::string_view uri) {
  const std::size_t comma = uri.find(',');
  const std::string head = lower_case(uri.substr(0, comma));
  const std::size_t slash = head.find('/');
  const std::size_t end = head.find(';');
  constexpr std::size_t kSchemeSize = 5;
  if (comma == std::string_view::npos || !head.starts_with("data:") || !head.ends_with(";base64") ||
      slash == std::string::npos || slash == kSchemeSize || slash + 1 >= end) {
    return invalid({"uri"}, "invalid_data_uri",
                   "not a data URI that holds an image: write it as data:<mime type>;base64,<text>");
  }
  const std::string_view text = uri.substr(comma + 1);
  if (!is_base64(text)) return kImageReader.invalid_base64();
  return Image{.source = MediaBase64{std::string(text)}, .mime_type = head.substr(kSchemeSize, end - kSchemeSize)};
}

Result<std::string> image_bytes(const Image& image, std::size_t max_bytes) {
  return std::visit(SourceReader{"image", max_bytes}, image.source);
}

Result<std::string> file_bytes(const File& file, std::size_t max_bytes) {
  return std::visit(SourceReader{"document", max_bytes}, file.source);
}

Result<std::string> audio_bytes(const Audio& audio, std::size_t max_bytes) {
  return std::visit(SourceReader{"audio", max_bytes}, audio.source);
}

Result<std::string> image_data_uri(const Image& image) {
  if (const auto* source = std::get_if<MediaUrl>(&image.source)) return kImageReader(*source);
  if (!image.mime_type.has_value() || image.mime_type->empty()) {
    return invalid({"mime_type"}, "missing_mime_type", "the image has no type: set mime_type, for example image/png");
  }
  std::string uri = fmt::format("data:{};base64,", *image.mime_type);
  if (const auto* source = std::get_if<MediaBase64>(&image.source)) {
    if (!is_base64(source->text)) return kImageReader.invalid_base64();
    return uri + source->text;
  }
  Result<std::string> bytes = image_bytes(image);
  if (!bytes.has_value()) return bytes;
  return uri + base64_encode(*bytes);
}

}  // namespace allm
