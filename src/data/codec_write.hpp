// Writes data types to a sink: templates over the sink, instantiated for TextSink in
// codec_to_text.cpp and for ValueSink in codec_to_value.cpp.
//
// `write(sink, value)` answers whether JSON can carry the value; if not the sink's failure says
// where and why.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "allm/serialize.hpp"
#include "data/base64.hpp"
#include "data/codec_fields.hpp"
#include "data/names.hpp"

namespace allm::codec {

// Finds out whether a type has a field of that name, so that an unknown one never repeats it.
class FieldNames {
 public:
  explicit FieldNames(std::string_view name) : name_(name) {}
  bool found() const { return found_; }

  template <class... T>
  bool required(std::string_view name, T&&...) { return look(name); }
  template <class... T>
  bool field(std::string_view name, T&&...) { return look(name); }
  template <class... T>
  bool nullable(std::string_view name, T&&...) { return look(name); }
  template <class... T>
  bool otherwise(std::string_view name, T&&...) { return look(name); }
  template <class... T>
  bool unless_default(std::string_view name, T&&...) { return look(name); }
  template <class... T>
  bool object(std::string_view name, T&&...) { return look(name); }
  template <class... T>
  bool any(std::string_view name, T&&...) { return look(name); }
  template <class... T>
  bool fixed(std::string_view name, T&&...) { return look(name); }
  bool version(std::string_view name) { return look(name); }
  template <class... T>
  bool metadata(T&&...) { return look("metadata"); }
  template <class... T>
  bool unknown(T&&...) { return true; }

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
  bool field(const char (&name)[N], const M& member) { return required(name, member); }
  template <std::size_t N, class M>
  bool nullable(const char (&name)[N], const M& member) { return required(name, member); }
  template <std::size_t N, class M, class Compute>
  bool otherwise(const char (&name)[N], const M& member, Compute&& /*compute*/) { return required(name, member); }
  template <std::size_t N, class M>
  bool unless_default(const char (&name)[N], const M& member, const M& value) {
    return member == value || required(name, member);
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
  // What could not be read again is not written.
  bool check_object(const Json& value) {
    return value.is_object() || value.is_null() || !sink_.checks() ||
           sink_.failure().fail("invalid_type", "must be an object");
  }

  bool write_unknown(const Json& members) {
    const auto* object = members.get_ptr<const Json::object_t*>();
    if (object == nullptr) return check_object(members) || sink_.failure().at("unknown_fields");
    for (const auto& [name, value] : *object) {
      FieldNames known(name);
      fields(known, owner_);
      if (!known.found() && !sink_.member(name, value)) return false;
    }
    return true;
  }

  template <class M>
  static bool present(const std::vector<M>& member) { return !member.empty(); }
  template <class M>
  static bool present(const std::optional<M>& member) { return member.has_value(); }

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

template <class Sink>
bool write(Sink& sink, const std::string& value) { return sink.string(value); }

template <class Sink>
bool write(Sink& sink, bool value) {
  sink.boolean(value);
  return true;
}

template <class Sink>
bool write(Sink& sink, std::int64_t value) {
  sink.integer(value);
  return true;
}

template <class Sink>
bool write(Sink& sink, int value) {
  sink.integer(value);
  return true;
}

template <class Sink>
bool write(Sink& sink, std::chrono::milliseconds value) {
  sink.integer(value.count());
  return true;
}

template <class Sink>
bool write(Sink& sink, double value) { return sink.real(value); }

template <class Sink, class Enum>
  requires std::is_enum_v<Enum>
bool write(Sink& sink, Enum value) {
  sink.word(enum_name(value));
  return true;
}

// ---- tagged values

template <class Sink, class T>
bool write_tagged(Sink& sink, std::string_view tag, T& value) {
  sink.begin_tagged(tag);
  FieldWriter<Sink, std::remove_const_t<T>> writer(sink, value);
  if (!fields(writer, value)) return false;
  sink.end_tagged();
  return true;
}

template <class Sink, class T>
  requires(!kTag<T>.empty())
bool write(Sink& sink, const T& value) {
  return write_tagged(sink, kTag<T>, value);
}

template <class Sink>
bool write(Sink& sink, const Error& error) {
  return std::visit(
      [&]<class Kind>(const Kind& detail) {
        ErrorParts<const Kind, const std::string, const Json> parts{detail, error.message(), error.metadata(),
                                                                    error.cause()};
        return write_tagged(sink, kTag<Kind>, parts);
      },
      error.detail());
}

// ---- fields with a form of their own

template <class Sink, class T>
bool write_plain(Sink& sink, T& value) {
  sink.begin_object(2);
  FieldWriter<Sink, std::remove_const_t<T>> writer(sink, value);
  if (!fields(writer, value)) return false;
  sink.end_object();
  return true;
}

template <class Sink>
bool write(Sink& sink, const Part& part) {
  return std::visit(Overloaded{[&](const UnknownPart& unknown) { return sink.json(unknown.value); },
                               [&](const auto& known) { return write(sink, known); }},
                    part);
}

template <class Sink>
bool write(Sink& sink, const Content& content) {
  return std::visit([&](const auto& form) { return write(sink, form); }, content);
}

template <class Sink>
bool write(Sink& sink, const decltype(Image::source)& source) {
  const auto put = [&](const std::string& type, const std::string& value) {
    SourceParts<const std::string> parts{type, value};
    return write_plain(sink, parts);
  };
  return std::visit(Overloaded{[&](const ImageBytes& image) { return put("binary", base64_encode(image.bytes)); },
                               [&](const ImageBase64& image) { return put("base64", image.text); },
                               [&](const ImageUrl& image) { return put("url", image.url); },
                               [&](const ImageFile& image) { return put("file", image.path); }},
                    source);
}

template <class Sink>
bool write(Sink& sink, const std::optional<ModelRef>& model) {
  if (!model.has_value()) {
    sink.null();
    return true;
  }
  return *model == ModelRef(model->id) ? sink.string(model->id) : write(sink, *model);
}

template <class Sink>
bool write(Sink& sink, const ResponseFormat& format) { return sink.json(format.json()); }
template <class Sink>
bool write(Sink& sink, const ToolChoice& choice) { return sink.json(choice.json()); }
template <class Sink>
bool write(Sink& sink, const PromptCache& cache) { return write_plain(sink, cache); }
template <class Sink>
bool write(Sink& sink, const PathStep& step) {
  return std::visit([&](const auto& form) { return write(sink, form); }, step);
}
template <class Sink>
bool write(Sink& sink, const FieldError& error) {
  sink.begin_array(2);
  if (!write(sink, error.path)) return sink.failure().at(std::size_t{0});
  if (!write(sink, error.reason)) return sink.failure().at(std::size_t{1});
  sink.end_array();
  return true;
}

// ---- lists and absent values

template <class Sink, class List>
bool write_list(Sink& sink, const List& list) {
  sink.begin_array(list.size());
  std::size_t index = 0;
  for (const auto& element : list) {
    if (!write(sink, element)) return sink.failure().at(index);
    ++index;
  }
  sink.end_array();
  return true;
}

template <class Sink, class T>
bool write(Sink& sink, const std::vector<T>& list) { return write_list(sink, list); }
template <class Sink>
bool write(Sink& sink, const MessageList& list) { return write_list(sink, list); }

template <class Sink, class T>
bool write(Sink& sink, const std::optional<T>& value) {
  if (value.has_value()) return write(sink, *value);
  sink.null();
  return true;
}

}  // namespace allm::codec
