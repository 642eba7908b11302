// Reads what fields are made of: texts, numbers, words of enumerations, lists, absent values.
// `read(reader, node, out)` as in codec_read.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "allm/thread.hpp"

#include "data/names.hpp"
#include "data/reader.hpp"

namespace allm::codec {

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

}  // namespace allm::codec
