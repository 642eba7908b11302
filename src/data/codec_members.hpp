// The visitors that read the members of an object into the fields of a described type.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "data/codec_fields.hpp"
#include "data/reader.hpp"

namespace allm::codec {

// The members of an object that have been read. Fields are numbered in the order of their description.
struct MembersRead {
  std::uint32_t seen = 0;
  std::optional<KeySet> unknown = std::nullopt;
};

// Offers one member to all fields; the field that accepts it returns false, so that the search ends.
template <class Node>
class MemberReader {
 public:
  MemberReader(Reader& reader, MembersRead& members, std::size_t count, std::string_view key, Node value)
      : reader_(reader), members_(members), count_(count), key_(key), value_(value) {}

  bool succeeded() const { return succeeded_; }

  template <std::size_t N, class T>
  bool required(const char (&name)[N], T& member) {
    return !takes(name) || result(read(reader_, value_, member));
  }
  template <std::size_t N, class T>
  bool field(const char (&name)[N], T& member) {
    return required(name, member);
  }
  template <std::size_t N, class T, class Default>
  bool unless_default(const char (&name)[N], T& member, const Default& /*value*/) {
    return required(name, member);
  }
  template <std::size_t N>
  bool unless_default(const char (&name)[N], Json& member, const Json& /*value*/) {
    return any(name, member);
  }
  template <std::size_t N, class T, class Compute>
  bool otherwise(const char (&name)[N], T& member, Compute&& /*compute*/) {
    return required(name, member);
  }
  template <std::size_t N, class T>
  bool nullable(const char (&name)[N], T& member) {
    return !takes(name) || result(value_.kind() == NodeKind::null || read(reader_, value_, member));
  }
  template <std::size_t N>
  bool any(const char (&name)[N], Json& member) {
    return !takes(name) || result(reader_.json(value_, member));
  }
  template <std::size_t N>
  bool object(const char (&name)[N], Json& member) {
    return !takes(name) || result(read_object(member));
  }
  template <class... T>
  bool metadata(Json& member, Typed<T>... typed) {
    if (!takes("metadata")) return true;
    if constexpr (sizeof...(T) == 0) {
      return result(read_object(member));
    } else {
      return result(read_metadata(member, typed...));
    }
  }
  template <std::size_t N, class T>
  bool fixed(const char (&name)[N], const T& /*value*/) {
    Json dropped;
    return any(name, dropped);
  }
  template <std::size_t N>
  bool version(const char (&name)[N]) {
    return !takes(name) || result(true);  // checked before any other member
  }
  bool unknown(Json& members) {
    if (members.is_null()) members = Json::object();
    auto& object = *members.template get_ptr<Json::object_t*>();
    object.reserve(count_);
    return add_to(object);
  }
  bool ignored() {
    Json::object_t dropped;
    return add_to(dropped);
  }
  bool closed() { return result(reader_.fail("malformed_struct", "there is no such member here")); }

 private:
  template <std::size_t N>
  bool takes(const char (&name)[N]) {
    const std::uint32_t bit = 1U << index_++;
    // With a known length the compiler inlines the comparison.
    if (key_.size() != N - 1 || std::memcmp(key_.data(), name, N - 1) != 0) return false;
    duplicate_ = (members_.seen & bit) != 0;
    members_.seen |= bit;
    return true;
  }
  bool result(bool succeeded) {
    if (duplicate_) {
      succeeded_ = reader_.fail_duplicate(key_);
    } else {
      succeeded_ = succeeded || reader_.failure().at(key_);
    }
    return false;
  }
  bool add_to(Json::object_t& object) {
    if (!members_.unknown.has_value()) members_.unknown.emplace();
    succeeded_ =
        members_.unknown->insert(key_) ? reader_.add_member(key_, value_, object) : reader_.fail_duplicate(key_);
    return false;
  }
  bool read_object(Json& out) {
    const NodeKind kind = value_.kind();
    if (kind != NodeKind::object && kind != NodeKind::null) return reader_.fail_type("an object", kind);
    return reader_.json(value_, out);
  }

  template <class... T>
  bool read_metadata(Json& out, Typed<T>... typed) {
    if (value_.kind() != NodeKind::object) return read_object(out);
    const Reader::Level level(reader_);
    if (!level.check() || !reader_.check_items(value_.size())) return false;
    if (!out.is_object()) out = Json::object();
    auto& object = *out.template get_ptr<Json::object_t*>();
    object.reserve(value_.size());
    KeySet keys;
    return value_.each_member([&](std::string_view key, Node value) {
      if (!keys.insert(key)) return reader_.fail_duplicate(key);
      if (((key == typed.name && hydrate(value, typed.member)) || ...)) return true;
      return reader_.add_member(key, value, object);
    });
  }

  // Whether the member of metadata could be read as the typed field.
  template <class T>
  bool hydrate(Node value, T& member) {
    T typed;
    if (value.kind() == NodeKind::array && value.size() == 0) return false;
    if (!read(reader_, value, typed)) return false;
    member = std::move(typed);
    return true;
  }

  Reader& reader_;
  MembersRead& members_;
  std::size_t count_;
  std::string_view key_;
  Node value_;
  unsigned index_ = 0;
  bool duplicate_ = false;
  bool succeeded_ = true;
};

// Handles the fields that are missing in the object.
class AbsentFields {
 public:
  AbsentFields(Reader& reader, std::uint32_t seen) : reader_(reader), seen_(seen) {}

  template <class T>
  bool required(std::string_view name, T& /*member*/) {
    if (came()) return true;
    reader_.fail("missing", "the field is required");
    return reader_.failure().at(name);
  }
  template <class T, class Compute>
  bool otherwise(std::string_view /*name*/, T& member, Compute&& compute) {
    if (!came()) member = compute();
    return true;
  }
  template <class... T>
  bool field(T&&...) {
    return skip();
  }
  template <class... T>
  bool nullable(T&&...) {
    return skip();
  }
  template <class... T>
  bool unless_default(T&&...) {
    return skip();
  }
  template <class... T>
  bool object(T&&...) {
    return skip();
  }
  template <class... T>
  bool any(T&&...) {
    return skip();
  }
  template <class... T>
  bool metadata(T&&...) {
    return skip();
  }
  template <class... T>
  bool fixed(T&&...) {
    return skip();
  }
  template <class... T>
  bool version(T&&...) {
    return skip();
  }
  template <class... T>
  bool unknown(T&&...) {
    return true;
  }
  bool ignored() { return true; }
  bool closed() { return true; }

 private:
  bool came() { return (seen_ & (1U << index_++)) != 0; }
  bool skip() {
    ++index_;
    return true;
  }

  Reader& reader_;
  std::uint32_t seen_;
  unsigned index_ = 0;
};

// Reads the members of an object.
template <class Node, class T>
bool read_members(Reader& reader, Node node, T& out) {
  const std::size_t count = node.size();
  if (!reader.check_items(count)) return false;
  MembersRead members;
  const bool all_read = node.each_member([&](std::string_view key, Node value) {
    MemberReader<Node> member(reader, members, count, key, value);
    fields(member, out);
    return member.succeeded();
  });
  if (!all_read) return false;
  AbsentFields absent(reader, members.seen);
  return fields(absent, out);
}

}  // namespace allm::codec
