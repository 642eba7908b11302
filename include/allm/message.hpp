// Messages: what a conversation is made of. Plain values; no thread rules beyond those of a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "allm/error.hpp"
#include "allm/json.hpp"

namespace allm {

enum class Role : std::uint8_t { system, user, assistant, tool };
enum class ImageDetail : std::uint8_t { automatic, low, high };

// Names as in JSON: "system", …, and "auto", "low", "high".
std::string_view to_string(Role role);
std::string_view to_string(ImageDetail detail);

// Where an image comes from. Only `ImageBytes` and `ImageBase64` are self-contained.
struct ImageBytes {
  std::string bytes;
  bool operator==(const ImageBytes&) const;
};
struct ImageBase64 {
  std::string text;
  bool operator==(const ImageBase64&) const;
};
struct ImageUrl {
  std::string url;
  bool operator==(const ImageUrl&) const;
};
struct ImageFile {
  std::string path;
  bool operator==(const ImageFile&) const;
};

struct Image {
  std::variant<ImageBytes, ImageBase64, ImageUrl, ImageFile> source;
  std::optional<std::string> mime_type = std::nullopt;
  std::optional<std::int64_t> width = std::nullopt;
  std::optional<std::int64_t> height = std::nullopt;
  std::optional<std::string> prompt = std::nullopt;
  std::optional<std::string> revised_prompt = std::nullopt;
  Json metadata = empty_object();
  Json unknown_fields = null_json();  // members of the JSON form that this version does not know
  bool operator==(const Image&) const;
};

// An image from a file; its type is told by the extension (png, jpg, jpeg, webp, gif), if known.
// The file is read when a request is sent.
Image image_from_file(std::string path);
// An image from a `data:<mime>;base64,<text>` URI. Fails on any other shape.
Result<Image> image_from_data_uri(std::string_view uri);

// The image's bytes. Reads the file of an ImageFile; fails for a URL (`remote_source`), bad base64
// (`invalid_base64`) and a file that cannot be read.
Result<std::string> image_bytes(const Image& image);
// `data:<mime>;base64,…`. Fails as image_bytes does, and with `missing_mime_type`.
Result<std::string> image_data_uri(const Image& image);

struct TextPart {
  std::string text;
  Json metadata = empty_object();
  Json unknown_fields = null_json();
  bool operator==(const TextPart&) const;
};

struct ImagePart {
  Image image;
  ImageDetail detail = ImageDetail::automatic;
  Json metadata = empty_object();
  Json unknown_fields = null_json();
  bool operator==(const ImagePart&) const;
};

// A part of a type that this version does not know, as it was read. It survives a round trip;
// validation rejects it before it could reach a model.
struct UnknownPart {
  Json value;
  bool operator==(const UnknownPart&) const;
};

using Part = std::variant<TextPart, ImagePart, UnknownPart>;
using Content = std::variant<std::string, std::vector<Part>>;

// A model's request to run a tool. `raw_arguments` is the text that the model sent; `arguments` is
// its value, or `{}` where that text is no JSON object.
struct ToolCall {
  std::string id = {};
  std::string name = {};
  Json arguments = empty_object();
  std::optional<std::string> raw_arguments = std::nullopt;
  Json metadata = empty_object();
  Json unknown_fields = null_json();
  bool operator==(const ToolCall&) const;
};

struct Message {
  Role role = Role::user;
  Content content;
  std::optional<std::string> name = std::nullopt;
  std::optional<std::string> tool_call_id = std::nullopt;  // for role tool: the call it answers
  // Calls that an assistant message makes. In JSON they are `metadata.tool_calls`.
  std::vector<ToolCall> tool_calls = {};
  Json metadata = empty_object();
  Json unknown_fields = null_json();

  // The message's text: the content itself, or its text parts joined.
  std::string text() const;

  bool operator==(const Message&) const;
};

Message system(Content content);
Message user(Content content);
Message assistant(Content content);
Message tool_result(std::string tool_call_id, std::string content);

}  // namespace allm
