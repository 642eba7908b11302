// Messages, the elements of a conversation. Plain values: several threads may read one, one thread at a time may change
// it.
//
// In every struct, `metadata` is a JSON object with further data of the program or the provider. `unknown_fields` has
// the members that a value had when it was read from JSON and that this version of allm does not know, or null. They
// are written again with the value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "allm/error.hpp"
#include "allm/json.hpp"
#include "allm/media.hpp"

namespace allm {

enum class Role : std::uint8_t { system, user, assistant, tool };

// Names as in JSON: "system", "user", "assistant", "tool".
std::string_view to_string(Role role);

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

// A document, such as a PDF.
struct FilePart {
  File file;
  Json metadata = empty_object();
  Json unknown_fields = null_json();
  bool operator==(const FilePart&) const;
};

struct AudioPart {
  Audio audio;
  Json metadata = empty_object();
  Json unknown_fields = null_json();
  bool operator==(const AudioPart&) const;
};

// A part of a type that this version of allm does not know. It is kept as it was read and is written again unchanged.
// Validation rejects it, so it is never sent to a model.
struct UnknownPart {
  Json value;
  bool operator==(const UnknownPart&) const;
};

using Part = std::variant<TextPart, ImagePart, FilePart, AudioPart, UnknownPart>;
using Content = std::variant<std::string, std::vector<Part>>;

// A model's request to run a tool. `raw_arguments` is the text that the model sent. `arguments` is that text parsed, or
// `{}` if the text is not a JSON object.
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
  std::optional<std::string> tool_call_id = std::nullopt;  // in a tool message: the id of the call that it answers
  // Calls that an assistant message makes. In JSON they are `metadata.tool_calls`.
  std::vector<ToolCall> tool_calls = {};
  Json metadata = empty_object();
  Json unknown_fields = null_json();

  // The message's text: the content itself, or its text parts joined without a separator.
  std::string text() const;

  bool operator==(const Message&) const;
};

// Make a message of role system, user, assistant or tool.
Message system(Content content);
Message user(Content content);
Message assistant(Content content);
Message tool_result(std::string tool_call_id, Content content);

// Whether the content has an image, file or audio part.
bool has_media(const Content& content);

}  // namespace allm
