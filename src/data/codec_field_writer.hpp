// The visitors that write the fields of a described type as members of an object.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "allm/serialize.hpp"

#include "data/codec_fields.hpp"

namespace allm::codec {

// Finds out whether a type has a field of that name, so that an unknown member never repeats a field.
class FieldNames {
 public:
  explicit FieldNames(std::string_view name) : name_(name) {}
  bool found() const { return found_; }

  template <class... T>
  bool required(std::string_view name, T&&...) {
    return look(name);
  }
  template <class... T>
  bool field(std::string_view name, T&&...) {
    return look(name);
  }
  template <class... T>
  bool nullable(std::string_view name, T&&...) {
    return look(name);
  }
  template <class... T>
  bool otherwise(std::string_view name, T&&...) {
    return look(name);
  }
  template <class... T>
  bool unless_default(std::string_view name, T&&...) {
    return look(name);
  }
  template <class... T>
  bool object(std::string_view name, T&&...) {
    return look(name);
  }
  template <class... T>
  bool any(std::string_view name, T&&...) {
    return look(name);
  }
  template <class... T>
  bool fixed(std::string_view name, T&&...) {
    return look(name);
  }
  bool version(std::string_view name) { return look(name); }
  template <class... T>
  bool metadata(T&&...) {
    return look("metadata");
  }
  template <class... T>
  bool unknown(T&&...) {
    return true;
  }

 private:
  bool look(std::string_view name) {
    found_ = found_ || name == name_;
    return !found_;
  }
  std::string_view name_;
  bool found_ = false;
};

template <class Sink, class T>
class FieldWriter {
 public:
  FieldWriter(Sink& sink, const T& owner) : sink_(sink), owner_(owner) {}

  template <std::size_t N, class M>
  bool required(const char (&name)[N], const M& member) {
    sink_.key(std::string_view(name, N - 1));
    return write(sink_, member) || sink_.failure().at(name);
  }
  template <std::size_t N, class M>
  bool field(const char (&name)[N], const M& member) {
    return required(name, member);
  }
  template <std::size_t N, class M>
  bool nullable(const char (&name)[N], const M& member) {
    return required(name, member);
  }
  template <std::size_t N, class M, class Compute>
  bool otherwise(const char (&name)[N], const M& member, Compute&& /*compute*/) {
    return required(name, member);
  }
  template <std::size_t N, class M>
  bool unless_default(const char (&name)[N], const M& member, const M& value) {
    return member == value || required(name, member);
  }
  template <std::size_t N>
  bool unless_default(const char (&name)[N], const Json& member, const Json& value) {
    return member == value || any(name, member);
  }
  template <std::size_t N>
  bool any(const char (&name)[N], const Json& member) {
    sink_.key(std::string_view(name, N - 1));
    return sink_.json(member) || sink_.failure().at(name);
  }
  template <std::size_t N>
  bool object(const char (&name)[N], const Json& member) {
    sink_.key(std::string_view(name, N - 1));
    return (check_object(member) && sink_.json(member)) || sink_.failure().at(name);
  }
  template <class... M>
  bool metadata(const Json& member, Typed<M>... typed) {
    sink_.key("metadata");
    return write_metadata(member, typed...) || sink_.failure().at("metadata");
  }
  template <std::size_t N>
  bool fixed(const char (&name)[N], std::nullptr_t) {
    sink_.key(std::string_view(name, N - 1));
    sink_.null();
    return true;
  }
  template <std::size_t N>
  bool fixed(const char (&name)[N], bool value) {
    sink_.key(std::string_view(name, N - 1));
    sink_.boolean(value);
    return true;
  }
  template <std::size_t N>
  bool version(const char (&name)[N]) {
    sink_.key(std::string_view(name, N - 1));
    sink_.word(kSessionFormatVersion);
    return true;
  }
  bool unknown(const Json& members) { return members.is_null() || write_unknown(members); }
  bool ignored() { return true; }
  bool closed() { return true; }

 private:
  // A value that could not be read again is not written.
  bool check_object(const Json& value) {
    return value.is_object() || value.is_null() || !sink_.checks() ||
           sink_.failure().fail("invalid_type", "must be an object");
  }

  bool write_unknown(const Json& members) {
    const auto* object = members.get_ptr<const Json::object_t*>();
    if (object == nullptr) return check_object(members) || sink_.failure().at("unknown_fields");
    constexpr std::size_t kMostFields = 16;
    sink_.expect_items(object->size() + kMostFields);
    for (const auto& [name, value] : *object) {
      FieldNames known(name);
      fields(known, owner_);
      if (!known.found() && !sink_.member(name, value)) return false;
    }
    return true;
  }

  template <class M>
  static bool present(const std::vector<M>& member) {
    return !member.empty();
  }
  template <class M>
  static bool present(const std::optional<M>& member) {
    return member.has_value();
  }

  template <class... M>
  bool write_metadata(const Json& member, Typed<M>... typed) {
    const auto* object = member.get_ptr<const Json::object_t*>();
    const bool any_typed = (present(typed.member) || ...);
    if (!any_typed) return check_object(member) && sink_.json(member);
    if (!check_object(member)) return false;
    sink_.begin_object((object == nullptr ? 0 : object->size()) + sizeof...(M));
    if (object != nullptr) {
      for (const auto& [name, value] : *object) {
        if (((present(typed.member) && typed.name == name) || ...)) continue;
        if (!sink_.member(name, value)) return false;
      }
    }
    if (!(write_typed(typed) && ...)) return false;
    sink_.end_object();
    return true;
  }

  template <class M>
  bool write_typed(Typed<M> typed) {
    if (!present(typed.member)) return true;
    sink_.key(typed.name);
    return write(sink_, typed.member) || sink_.failure().at(typed.name);
  }

  Sink& sink_;
  const T& owner_;
};

}  // namespace allm::codec
