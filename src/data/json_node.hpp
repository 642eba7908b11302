// Two views of a JSON value with one interface, so that readers are written once: TextNode views a
// text that simdjson has parsed, ValueNode a Json. Both refer to the value and must not outlive it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

#include "allm/json.hpp"

namespace allm::codec {

enum class NodeKind : std::uint8_t { null, boolean, integer, natural, real, string, array, object, other };

// simdjson's result for a text: values in order, one or two words each, and the unescaped texts.
// simdjson documents the format (doc/tape.md). Its own accessors repeat the type checks of the reader;
// walking the words directly takes half the time.
struct Tape {
  const std::uint64_t* words = nullptr;
  const unsigned char* texts = nullptr;
};

// Accessors are valid for the node's kind only: `integer` for what fits 64 bits with a sign,
// `natural` for the integers above.
class TextNode {
 public:
  // The value at that word of the tape.
  TextNode(const Tape& tape, const std::uint64_t* at) : tape_(&tape), at_(at) {}

  NodeKind kind() const {
    switch (tag()) {
      case 'n':
        return NodeKind::null;
      case 't':
      case 'f':
        return NodeKind::boolean;
      case 'l':
        return NodeKind::integer;
      case 'u':
        return NodeKind::natural;
      case 'd':
        return NodeKind::real;
      case '"':
        return NodeKind::string;
      case '[':
        return NodeKind::array;
      case '{':
        return NodeKind::object;
      default:
        return NodeKind::other;
    }
  }

  bool boolean() const { return tag() == 't'; }
  std::int64_t integer() const { return std::bit_cast<std::int64_t>(at_[1]); }
  std::uint64_t natural() const { return at_[1]; }
  double real() const { return std::bit_cast<double>(at_[1]); }
  std::string_view string() const { return text_of(at_); }

  // The number of elements or members; of more than 16 million, at least that many.
  std::size_t size() const { return (*at_ >> 32U) & 0xFFFFFFU; }

  // Calls `visit(element)` in order until one answers false.
  template <class Visit>
  bool each_element(Visit&& visit) const {
    const std::uint64_t* const end = after(at_) - 1;
    for (const std::uint64_t* at = at_ + 1; at != end; at = after(at)) {
      if (!visit(TextNode(*tape_, at))) return false;
    }
    return true;
  }

  // Calls `visit(key, value)` in order until one answers false.
  template <class Visit>
  bool each_member(Visit&& visit) const {
    const std::uint64_t* const end = after(at_) - 1;
    for (const std::uint64_t* at = at_ + 1; at != end; at = after(at + 1)) {
      if (!visit(text_of(at), TextNode(*tape_, at + 1))) return false;
    }
    return true;
  }

 private:
  static char tag(const std::uint64_t* at) { return static_cast<char>(*at >> 56U); }
  char tag() const { return tag(at_); }

  std::string_view text_of(const std::uint64_t* at) const {
    const unsigned char* start = tape_->texts + (*at & 0x00FFFFFFFFFFFFFFU);
    std::uint32_t size = 0;
    std::memcpy(&size, start, sizeof size);
    return {reinterpret_cast<const char*>(start + sizeof size), size};
  }

  // The value after the one at that word. Of a container the low half says where it ends.
  const std::uint64_t* after(const std::uint64_t* at) const {
    switch (tag(at)) {
      case '[':
      case '{':
        return tape_->words + (*at & 0xFFFFFFFFU);
      case 'l':
      case 'u':
      case 'd':
        return at + 2;
      default:
        return at + 1;
    }
  }

  const Tape* tape_;
  const std::uint64_t* at_;
};

class ValueNode {
 public:
  explicit ValueNode(const Json& value) : value_(&value) {}

  NodeKind kind() const {
    switch (value_->type()) {
      case Json::value_t::null:
        return NodeKind::null;
      case Json::value_t::boolean:
        return NodeKind::boolean;
      case Json::value_t::number_integer:
        return NodeKind::integer;
      case Json::value_t::number_unsigned:
        return natural() <= kLargestInteger ? NodeKind::integer : NodeKind::natural;
      case Json::value_t::number_float:
        return NodeKind::real;
      case Json::value_t::string:
        return NodeKind::string;
      case Json::value_t::array:
        return NodeKind::array;
      case Json::value_t::object:
        return NodeKind::object;
      case Json::value_t::binary:
      case Json::value_t::discarded:
        return NodeKind::other;
    }
    return NodeKind::other;
  }

  bool boolean() const { return *value_->get_ptr<const bool*>(); }
  std::int64_t integer() const { return value_->get<std::int64_t>(); }
  std::uint64_t natural() const { return value_->get<std::uint64_t>(); }
  double real() const { return *value_->get_ptr<const double*>(); }
  std::string_view string() const { return *value_->get_ptr<const std::string*>(); }
  std::size_t size() const { return value_->size(); }

  template <class Visit>
  bool each_element(Visit&& visit) const {
    for (const Json& element : *value_->get_ptr<const Json::array_t*>()) {
      if (!visit(ValueNode(element))) return false;
    }
    return true;
  }

  template <class Visit>
  bool each_member(Visit&& visit) const {
    for (const auto& [key, element] : *value_->get_ptr<const Json::object_t*>()) {
      if (!visit(std::string_view(key), ValueNode(element))) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint64_t kLargestInteger = std::numeric_limits<std::int64_t>::max();
  const Json* value_;
};

}  // namespace allm::codec
