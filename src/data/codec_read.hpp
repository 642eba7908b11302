// Reads data types from nodes: templates over the node, instantiated for texts in
// codec_from_text.cpp and for values in codec_from_value.cpp.
//
// `read(reader, node, out)` returns whether it succeeded. If not, the reader's failure has the reason
// and `out` is unspecified.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "allm/serialize.hpp"

#include "data/base64.hpp"
#include "data/codec_envelope.hpp"
#include "data/codec_fields.hpp"
#include "data/codec_read_plain.hpp"
#include "data/reader.hpp"

namespace allm::codec {

// ---- fields with a form of their own

template <class Node>
bool read(Reader& reader, Node node, Part& out) {
  if (node.kind() == NodeKind::object) {
    // An untagged part is told by the field that only its type has.
    std::string_view tag;
    node.each_member([&](std::string_view key, Node value) {
      if (key == "text") tag = kTag<TextPart>;
      if (key == "image") tag = kTag<ImagePart>;
      if (key == "file") tag = kTag<FilePart>;
      if (key == "audio") tag = kTag<AudioPart>;
      if (key == "__type__" && value.kind() == NodeKind::string) {
        tag = value.string();
        return false;
      }
      return true;
    });
    if (tag == kTag<TextPart>) return read(reader, node, out.template emplace<TextPart>());
    if (tag == kTag<ImagePart>) return read(reader, node, out.template emplace<ImagePart>());
    if (tag == kTag<FilePart>) return read(reader, node, out.template emplace<FilePart>());
    if (tag == kTag<AudioPart>) return read(reader, node, out.template emplace<AudioPart>());
  }
  return reader.json(node, out.template emplace<UnknownPart>().value);
}

template <class Node>
bool read(Reader& reader, Node node, Content& out) {
  if (node.kind() == NodeKind::string) return read(reader, node, out.template emplace<std::string>());
  if (node.kind() == NodeKind::array) return read(reader, node, out.template emplace<std::vector<Part>>());
  return reader.fail_type("a string or an array of parts", node.kind());
}

template <class Node, class... Kind>
  requires(std::same_as<std::variant<Kind...>, decltype(Image::source)> ||
           std::same_as<std::variant<Kind...>, decltype(File::source)>)
bool read(Reader& reader, Node node, std::variant<Kind...>& out) {
  constexpr bool kHasId = (std::same_as<Kind, MediaId> || ...);
  std::string type;
  std::string value;
  SourceParts<std::string> parts{type, value};
  if (!read_plain(reader, node, parts)) return false;
  if constexpr (kHasId) {
    if (type == "file_id") {
      out = MediaId{std::move(value)};
      return true;
    }
  }
  if (type == "binary") {
    std::optional<std::string> bytes = base64_decode(value);
    if (!bytes.has_value()) {
      return reader.fail("invalid_base64", "the value of a binary source must be base64 with padding");
    }
    out = MediaBytes{std::move(*bytes)};
  } else if (type == "base64") {
    out = MediaBase64{std::move(value)};
  } else if (type == "url") {
    out = MediaUrl{std::move(value)};
  } else if (type == "file") {
    out = MediaPath{std::move(value)};
  } else {
    reader.fail("atom_decode_failed", fmt::format("unknown word \"{:.64}\"; allowed are binary, base64, url, file{}",
                                                  type, kHasId ? ", file_id" : ""));
    return reader.failure().at("type");
  }
  return true;
}

template <class Node>
bool read(Reader& reader, Node node, ModelRef& out) {
  if (node.kind() == NodeKind::string) return read(reader, node, out.id);
  return read_struct(reader, node, out);
}

template <class Node, class Choice>
  requires(std::same_as<Choice, ResponseFormat> || std::same_as<Choice, ToolChoice>)
bool read(Reader& reader, Node node, std::optional<Choice>& out) {
  Json value;
  if (!reader.json(node, value)) return false;
  out = value.is_null() ? std::nullopt : std::optional(Choice::from_json(std::move(value)));
  return true;
}

template <class Node>
bool read(Reader& reader, Node node, PromptCache& out) {
  return read_plain(reader, node, out);
}

template <class Node>
bool read(Reader& reader, Node node, PathStep& out) {
  if (node.kind() == NodeKind::string) return read(reader, node, out.template emplace<std::string>());
  if (node.kind() == NodeKind::integer) return read(reader, node, out.template emplace<std::int64_t>());
  return reader.fail_type("a string or an integer", node.kind());
}

template <class Node>
bool read(Reader& reader, Node node, FieldError& out) {
  if (node.kind() != NodeKind::array) return reader.fail_type("a pair [path, reason]", node.kind());
  std::size_t index = 0;
  const bool read_all = node.each_element([&](Node element) {
    const std::size_t at = index++;
    if (at > 1) return true;
    return (at == 0 ? read(reader, element, out.path) : read(reader, element, out.reason)) || reader.failure().at(at);
  });
  if (!read_all) return false;
  return index == 2 || reader.fail("malformed_struct", "expected a pair [path, reason]");
}

// ---- any tagged value

template <class Node, class T>
bool read_alternative(Reader& reader, Node node, std::string_view tag, AnyValue& out, bool& succeeded) {
  if constexpr (Described<T>) {
    if (tag != kTag<T>) return false;
    succeeded = read_struct(reader, node, out.emplace<T>());
    return true;
  } else {
    return false;
  }
}

template <class Node>
bool read(Reader& reader, Node node, AnyValue& out) {
  Envelope<Node> envelope;
  if (node.kind() != NodeKind::object) {
    return reader.fail("missing_type_tag", fmt::format("expected a tagged value, not {}", describe(node.kind())));
  }
  if (!open_envelope(reader, node, envelope)) return false;
  if (!envelope.tag.has_value()) {
    return reader.fail("missing_type_tag", "the object has no string \"__type__\"; name its type when reading it");
  }
  if (!check_data(reader, envelope)) return false;
  bool succeeded = false;
  const bool known = [&]<class... T>(const std::variant<T...>*) {
    return (read_alternative<Node, T>(reader, node, *envelope.tag, out, succeeded) || ...);
  }(static_cast<const AnyValue*>(nullptr));
  if (known) return succeeded;
  if (is_error_tag(*envelope.tag)) {
    std::optional<Error> error;
    if (!read(reader, node, error)) return false;
    out = std::move(*error);
    return true;
  }
  return reader.json(node, out.emplace<Json>());
}

// The type that a value is read into: an Error has no empty state.
template <class T>
using Slot = std::conditional_t<std::same_as<T, Error>, std::optional<Error>, T>;

template <class T, class Node>
Result<T> read_whole(Reader& reader, Node node) {
  Slot<T> slot;
  if (!read(reader, node, slot)) return std::unexpected(reader.failure().error());
  if constexpr (std::same_as<T, Error>) {
    return std::move(*slot);
  } else {
    return slot;
  }
}

// As from_json_value. The only limit is on nesting: the value is in memory already.
Result<AnyValue> any_from_json_value(const Json& value);

}  // namespace allm::codec
