#include <cstddef>
#include <expected>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "allm/message.hpp"

#include "data/ascii.hpp"
#include "data/base64.hpp"
#include "data/overloaded.hpp"
#include "data/read_file.hpp"

namespace allm {

namespace {

std::optional<std::string> mime_type_of_path(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string extension = lower_case(path.substr(dot + 1));
  if (extension == "png" || extension == "webp" || extension == "gif") return "image/" + extension;
  if (extension == "jpg" || extension == "jpeg") return "image/jpeg";
  return std::nullopt;
}

std::unexpected<Error> invalid(Path path, std::string reason, std::string message) {
  return std::unexpected(validation_error(ValidationError::Reason::invalid_request, std::move(path), std::move(reason),
                                          std::move(message)));
}

std::unexpected<Error> remote_source(const ImageUrl& source) {
  return invalid({"source"}, "remote_source",
                 fmt::format("the image is at {}: fetch it and make an image of its bytes", source.url));
}

std::unexpected<Error> invalid_base64() {
  return invalid({"source"}, "invalid_base64",
                 "the image's text is not base64: use the standard alphabet, padded, without white space");
}

std::unexpected<Error> unreadable(const std::string& path, int code) {
  return invalid({"source"}, errno_word(code),
                 fmt::format("cannot read the image file '{}': {}", path, errno_text(code)));
}

Result<std::string> read_image(const std::string& path) {
  std::expected<std::string, int> bytes = read_file(path, std::numeric_limits<std::size_t>::max());
  if (!bytes.has_value()) return unreadable(path, bytes.error());
  return *std::move(bytes);
}

}  // namespace

Image image_from_file(std::string path) {
  std::optional<std::string> mime_type = mime_type_of_path(path);
  return {.source = ImageFile{std::move(path)}, .mime_type = std::move(mime_type)};
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
  if (!is_base64(text)) return invalid_base64();
  return Image{.source = ImageBase64{std::string(text)}, .mime_type = head.substr(kSchemeSize, end - kSchemeSize)};
}

Result<std::string> image_bytes(const Image& image) {
  return std::visit(Overloaded{
                        [](const ImageBytes& source) -> Result<std::string> { return source.bytes; },
                        [](const ImageBase64& source) -> Result<std::string> {
                          std::optional<std::string> bytes = base64_decode(source.text);
                          if (!bytes.has_value()) return invalid_base64();
                          return *std::move(bytes);
                        },
                        [](const ImageUrl& source) -> Result<std::string> { return remote_source(source); },
                        [](const ImageFile& source) -> Result<std::string> { return read_image(source.path); },
                    },
                    image.source);
}

Result<std::string> image_data_uri(const Image& image) {
  if (const auto* source = std::get_if<ImageUrl>(&image.source)) return remote_source(*source);
  if (!image.mime_type.has_value() || image.mime_type->empty()) {
    return invalid({"mime_type"}, "missing_mime_type", "the image has no type: set mime_type, for example image/png");
  }
  std::string uri = fmt::format("data:{};base64,", *image.mime_type);
  if (const auto* source = std::get_if<ImageBase64>(&image.source)) {
    if (!is_base64(source->text)) return invalid_base64();
    return uri + source->text;
  }
  Result<std::string> bytes = image_bytes(image);
  if (!bytes.has_value()) return bytes;
  return uri + base64_encode(*bytes);
}

}  // namespace allm
