// Reads tagged values: {"__type__": "ALLM.Message", "data": {…}}, or the data alone where the type is
// known. `read(reader, node, out)` as in codec_read.hpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "allm/error.hpp"
#include "allm/session.hpp"

#include "data/codec_fields.hpp"
#include "data/codec_members.hpp"
#include "data/end_codec.hpp"
#include "data/reader.hpp"

namespace allm::codec {

bool fail_tag(Reader& reader, std::string_view expected, std::string_view found);
bool is_error_tag(std::string_view tag);
// Whether a session of that version can be read.
bool check_version(Reader& reader, std::string_view version);

template <class Node>
struct Envelope {
  std::optional<std::string_view> tag;
  std::optional<Node> data;
};

// Splits an object with a string `__type__` into tag and data. Further members of an envelope are
// checked and dropped.
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

// The version is checked first: the members of an unknown version would fail for misleading reasons.
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

template <class Node>
bool read_members(Reader& reader, Node node, StepResult& out) {
  StepParts<StepResult, Json> parts{out, out.metadata};
  if (!read_members(reader, node, parts)) return false;
  take_end(out);
  return true;
}

template <class Node>
bool read_members(Reader& reader, Node node, ChatResult& out) {
  EndFields end;
  ChatParts<ChatResult, Json, EndFields> parts{out, out.metadata, end};
  if (!read_members(reader, node, parts)) return false;
  take_end(out, std::move(end));
  return true;
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
  if (tag == kTag<StoreError>) return read_kind(std::type_identity<StoreError>());
  return fail_tag(reader, "an error", tag);
}

}  // namespace allm::codec
