// Reads data types from nodes: templates over the node, instantiated for texts in
// codec_from_text.cpp and for values in codec_from_value.cpp.
//
// `read(reader, node, out)` answers whether it could; if not the reader's failure says why and
// `out` is of no use.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/serialize.hpp"
#include "data/base64.hpp"
#include "data/codec_fields.hpp"
#include "data/codec_members.hpp"
#include "data/names.hpp"
#include "data/reader.hpp"

namespace allm::codec {

bool fail_tag(Reader& reader, std::string_view expected, std::string_view found);
bool is_error_tag(std::string_view tag);
// Whether a session of that version can be read.
bool check_version(Reader& reader, std::string_view version);

// What a value is read into: an Error cannot be empty.
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

// ---- plain values

template <class Node>
bool read(Reader& reader, Node node, std::string& out) {
  if (node.kind() != NodeKind::string) return reader.fail_type("a string", node.kind());
  const std::string_view text = node.string();
  if (!reader.check_string(text)) return false;
  out = text;
  return true;
}

template <class Node>
bool read(Reader& reader, Node node, bool& out) {
  if (node.kind() != NodeKind::boolean) return reader.fail_type("true or false", node.kind());
  out = node.boolean();
  return true;
}

template <class Node>
bool read(Reader& reader, Node node, std::int64_t& out) {
  if (node.kind() != NodeKind::integer) return reader.fail_type("an integer of 64 bits", node.kind());
  out = node.integer();
  return true;
}

template <class Node>
bool read(Reader& reader, Node node, int& out) {
  if (node.kind() != NodeKind::integer || !std::in_range<int>(node.integer())) {
    return reader.fail_type("an integer of 32 bits", node.kind());
  }
  out = static_cast<int>(node.integer());
  return true;
}

template <class Node>
bool read(Reader& reader, Node node, std::chrono::milliseconds& out) {
  std::int64_t count = 0;
  if (!read(reader, node, count)) return false;
  out = std::chrono::milliseconds(count);
  return true;
}

template <class Node>
bool read(Reader& reader, Node node, double& out) {
  switch (node.kind()) {
    case NodeKind::integer:
      out = static_cast<double>(node.integer());
      return true;
    case NodeKind::natural:
      out = static_cast<double>(node.natural());
      return true;
    case NodeKind::real:
      out = node.real();
      return true;
    default:
      return reader.fail_type("a number", node.kind());
  }
}

template <class Node, class Enum>
  requires std::is_enum_v<Enum>
bool read(Reader& reader, Node node, Enum& out) {
  if (node.kind() != NodeKind::string) return reader.fail_type("a string", node.kind());
  const std::optional<Enum> value = enum_from_name<Enum>(node.string());
  if (!value.has_value()) {
    return reader.fail("atom_decode_failed", fmt::format("unknown word \"{:.64}\"; allowed are {}", node.string(),
                                                         fmt::join(EnumNames<Enum>::values, ", ")));
  }
  out = *value;
  return true;
}

// ---- tagged values

template <class Node>
struct Envelope {
  std::optional<std::string_view> tag;
  std::optional<Node> data;
};

// Takes an object apart if it has a string `__type__`. Further members of an envelope are checked
// and dropped.
template <class Node>
bool open_envelope(Reader& reader, Node node, Envelope<Node>& out) {
  node.each_member([&](std::string_view key, Node value) {
    if (key == "__type__" && value.kind() == NodeKind::string) out.tag = value.string();
    if (key == "data") out.data = value;
    return true;
  });
  if (!out.tag.has_value() || (out.data.has_value() && node.size() == 2)) return true;
  KeySet keys;
  return node.each_member([&](std::string_view key, Node value) {
    if (!keys.insert(key)) return reader.fail_duplicate(key);
    if (key == "__type__" || key == "data") return true;
    Json dropped;
    return reader.json(value, dropped) || reader.failure().at(key);
  });
}

// The data of an envelope that has a tag.
template <class Node>
bool check_data(Reader& reader, const Envelope<Node>& envelope) {
  if (!envelope.data.has_value()) {
    reader.fail("missing", fmt::format("the tagged {:.64} has no member \"data\"", *envelope.tag));
    return reader.failure().at("data");
  }
  if (envelope.data->kind() != NodeKind::object) {
    reader.fail("malformed_struct", fmt::format("the data of {:.64} must be an object, not {}", *envelope.tag,
                                                describe(envelope.data->kind())));
    return reader.failure().at("data");
  }
  return true;
}

template <class T>
concept Described = !kTag<T>.empty();

template <class Node, Described T>
bool read_struct(Reader& reader, Node node, T& out) {
  if (node.kind() != NodeKind::object) {
    return reader.fail("malformed_struct",
                       fmt::format("expected an object ({}), not {}", kTag<T>, describe(node.kind())));
  }
  const Reader::Level outer(reader);
  Envelope<Node> envelope;
  if (!open_envelope(reader, node, envelope)) return false;
  if (!envelope.tag.has_value()) return outer.check() && read_members(reader, node, out);
  if (*envelope.tag != kTag<T>) return fail_tag(reader, kTag<T>, *envelope.tag);
  if (!check_data(reader, envelope)) return false;
  const Reader::Level inner(reader);
  return inner.check() && read_members(reader, *envelope.data, out);
}

template <class Node, Described T>
bool read(Reader& reader, Node node, T& out) {
  return read_struct(reader, node, out);
}

// The version is looked at first: the members of a version we do not know would fail for reasons
// that tell nothing.
template <class Node>
bool read_members(Reader& reader, Node node, Session& out) {
  const bool known = node.each_member([&](std::string_view key, Node value) {
    if (key != "format_version") return true;
    if (value.kind() == NodeKind::string && check_version(reader, value.string())) return true;
    if (value.kind() != NodeKind::string) reader.fail_type("a string", value.kind());
    return reader.failure().at(key);
  });
  return known && read_members<Node, Session>(reader, node, out);
}

// Objects that are never tagged.
template <class Node, class T>
bool read_plain(Reader& reader, Node node, T& out) {
  if (node.kind() != NodeKind::object) return reader.fail_type("an object", node.kind());
  const Reader::Level level(reader);
  return level.check() && read_members(reader, node, out);
}

template <class Node, class Kind>
bool read_error(Reader& reader, Node data, std::optional<Error>& out) {
  Kind detail;
  std::string message;
  Json metadata = Json::object();
  Json cause;
  ErrorParts<Kind, std::string, Json> parts{detail, message, metadata, cause};
  if (!read_members(reader, data, parts)) return false;
  out.emplace(std::move(detail), std::move(message), std::move(metadata), std::move(cause));
  return true;
}

template <class Node>
bool read(Reader& reader, Node node, std::optional<Error>& out) {
  if (node.kind() != NodeKind::object) {
    return reader.fail("malformed_struct", fmt::format("expected an error, not {}", describe(node.kind())));
  }
  const Reader::Level outer(reader);
  const Reader::Level inner(reader);
  Envelope<Node> envelope;
  if (!open_envelope(reader, node, envelope)) return false;
  if (!envelope.tag.has_value()) {
    return reader.fail("missing_type_tag", "an error needs \"__type__\", which tells its kind");
  }
  const auto read_kind = [&]<class Kind>(std::type_identity<Kind>) {
    return check_data(reader, envelope) && inner.check() && read_error<Node, Kind>(reader, *envelope.data, out);
  };
  const std::string_view tag = *envelope.tag;
  if (tag == kTag<EngineError>) return read_kind(std::type_identity<EngineError>());
  if (tag == kTag<AdapterError>) return read_kind(std::type_identity<AdapterError>());
  if (tag == kTag<StreamError>) return read_kind(std::type_identity<StreamError>());
  if (tag == kTag<ValidationError>) return read_kind(std::type_identity<ValidationError>());
  if (tag == kTag<ToolError>) return read_kind(std::type_identity<ToolError>());
  if (tag == kTag<SessionError>) return read_kind(std::type_identity<SessionError>());
  return fail_tag(reader, "an error", tag);
}

// ---- fields with a form of their own

template <class Node>
bool read(Reader& reader, Node node, Part& out) {
  if (node.kind() == NodeKind::object) {
    // An untagged part is told by the field that only its type has.
    std::string_view tag;
    node.each_member([&](std::string_view key, Node value) {
      if (key == "text") tag = kTag<TextPart>;
      if (key == "image") tag = kTag<ImagePart>;
      if (key == "__type__" && value.kind() == NodeKind::string) {
        tag = value.string();
        return false;
      }
      return true;
    });
    if (tag == kTag<TextPart>) return read(reader, node, out.template emplace<TextPart>());
    if (tag == kTag<ImagePart>) return read(reader, node, out.template emplace<ImagePart>());
  }
  return reader.json(node, out.template emplace<UnknownPart>().value);
}

template <class Node>
bool read(Reader& reader, Node node, Content& out) {
  if (node.kind() == NodeKind::string) return read(reader, node, out.template emplace<std::string>());
  if (node.kind() == NodeKind::array) return read(reader, node, out.template emplace<std::vector<Part>>());
  return reader.fail_type("a string or an array of parts", node.kind());
}

template <class Node>
bool read(Reader& reader, Node node, decltype(Image::source)& out) {
  std::string type;
  std::string value;
  SourceParts<std::string> parts{type, value};
  if (!read_plain(reader, node, parts)) return false;
  if (type == "binary") {
    std::optional<std::string> bytes = base64_decode(value);
    if (!bytes.has_value()) {
      return reader.fail("invalid_base64", "the value of a binary source must be base64 with padding");
    }
    out = ImageBytes{std::move(*bytes)};
  } else if (type == "base64") {
    out = ImageBase64{std::move(value)};
  } else if (type == "url") {
    out = ImageUrl{std::move(value)};
  } else if (type == "file") {
    out = ImageFile{std::move(value)};
  } else {
    reader.fail("atom_decode_failed",
                fmt::format("unknown word \"{:.64}\"; allowed are binary, base64, url, file", type));
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

// ---- lists and absent values

template <class Node, class List>
bool read_list(Reader& reader, Node node, List& out) {
  if (node.kind() != NodeKind::array) return reader.fail_type("an array", node.kind());
  const Reader::Level level(reader);
  const std::size_t size = node.size();
  if (!level.check() || !reader.check_items(size)) return false;
  if constexpr (requires { out.reserve(size); }) out.reserve(size);
  return node.each_element([&](Node element) {
    typename List::value_type value;
    if (!read(reader, element, value)) return reader.failure().at(out.size());
    out.push_back(std::move(value));
    return reader.check_items(out.size());
  });
}

template <class Node, class T>
bool read(Reader& reader, Node node, std::vector<T>& out) {
  return read_list(reader, node, out);
}

template <class Node>
bool read(Reader& reader, Node node, MessageList& out) {
  return read_list(reader, node, out);
}

template <class Node, class T>
bool read(Reader& reader, Node node, std::optional<T>& out) {
  if (node.kind() == NodeKind::null) {
    out.reset();
    return true;
  }
  return read(reader, node, out.emplace());
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

}  // namespace allm::codec
