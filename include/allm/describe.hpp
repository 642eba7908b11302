// Described types: one description of a struct's fields gives its JSON Schema, a parser whose errors a model can act
// on, and a writer.
//
//   enum class Unit { celsius, fahrenheit };
//   inline allm::EnumValues<Unit> describe(allm::TypeTag<Unit>) {
//     return {{Unit::celsius, "celsius"}, {Unit::fahrenheit, "fahrenheit", "for users in the US"}};
//   }
//
//   struct Forecast {
//     std::string city;
//     std::optional<int> days;
//     Unit unit = Unit::celsius;
//     static allm::Fields<Forecast> describe() {
//       return {allm::field("city", &Forecast::city, "Name of the city."),
//               allm::field("days", &Forecast::days).minimum(1).maximum(14),
//               allm::field("unit", &Forecast::unit).defaulted()};
//     }
//   };
//
// The description of a struct is a static member function `describe` or, for types that cannot be changed, a free
// function in the namespace of the type, as for the enumeration above. Types of fields: bool, integers, float, double,
// std::string, described enumerations and structs, Json (any value), and std::optional, std::vector and
// std::map<std::string, T> of these, nested to any depth; a struct may contain itself in a vector.
//
// In the JSON, an optional field may be left out or null, and a field with a default may be left out. All other fields
// are required. A JSON member that has no field is an error.
//
// Descriptions are evaluated once per type and kept. Everything here is safe to call from any thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "allm/detail/describe.hpp"

namespace allm {

// The parameter of a free function `describe`. It says which type the function describes.
template <class T>
struct TypeTag {};

// The values of an enumeration and their names, with a description where the name is not enough.
template <class E>
class EnumValues {
 public:
  struct Value {
    E value;
    std::string name;
    std::string description = {};
  };
  EnumValues(std::initializer_list<Value> values) {
    for (const Value& value : values) {
      entries_.push_back({static_cast<std::int64_t>(value.value), value.name, value.description});
    }
  }

 private:
  friend class detail::DescriptionAccess;
  std::vector<detail::EnumEntry> entries_;
};

// One field of a struct. field() makes it; the member functions add rules. Each member function exists only for the
// types to which its rule applies, and for optionals of these types.
template <class Owner, class T>
class Field {
 public:
  using Value = detail::Unwrapped<T>;

  Field(std::string name, T Owner::* member, std::string description) : member_(member) {
    info_.name = std::move(name);
    info_.description = std::move(description);
    info_.optional = detail::is_optional_v<T>;
  }

  // The smallest and the greatest number that is allowed.
  Field& minimum(Value value)
    requires detail::Number<Value>
  {
    return rule("minimum", value);
  }
  Field& maximum(Value value)
    requires detail::Number<Value>
  {
    return rule("maximum", value);
  }
  // Lengths in characters (code points).
  Field& min_length(std::size_t length)
    requires std::same_as<Value, std::string>
  {
    return rule("minLength", length);
  }
  Field& max_length(std::size_t length)
    requires std::same_as<Value, std::string>
  {
    return rule("maxLength", length);
  }
  // An ECMA-262 regular expression that must match a part of the text; write ^…$ to match the whole text. Lookaround
  // and backreferences are not supported: runs with a tool whose schema has them fail.
  Field& pattern(std::string expression)
    requires std::same_as<Value, std::string>
  {
    return rule("pattern", std::move(expression));
  }
  Field& one_of(std::vector<std::string> values)
    requires std::same_as<Value, std::string>
  {
    return rule("enum", std::move(values));
  }
  Field& min_items(std::size_t count)
    requires detail::is_vector_v<Value>
  {
    return rule("minItems", count);
  }
  Field& max_items(std::size_t count)
    requires detail::is_vector_v<Value>
  {
    return rule("maxItems", count);
  }

  // The value of the field if it is left out.
  Field& default_value(T value) {
    info_.has_default = true;
    default_ = std::move(value);
    return *this;
  }
  // The value of the field, if it is left out, is the one that the struct's own initialiser gives it.
  Field& defaulted() {
    info_.has_default = true;
    default_.reset();
    return *this;
  }

 private:
  template <class Struct>
  friend class Fields;

  Field& rule(const char* keyword, Json value) {
    info_.set_rule(keyword, std::move(value));
    return *this;
  }

  detail::FieldInfo info_;
  T Owner::* member_;
  std::optional<T> default_;
};

template <class Owner, class T>
Field<Owner, T> field(std::string name, T Owner::* member, std::string description = {}) {
  return Field<Owner, T>(std::move(name), member, std::move(description));
}

// The fields of a struct, in the order of the schema. Members of base classes may be among them.
template <class Struct>
class Fields {
 public:
  class Any {
   public:
    template <class Owner, class T>
      requires std::derived_from<Struct, Owner>
    Any(const Field<Owner, T>& field) : info_(field.info_) {
      info_.access = std::make_shared<const Access<T>>(field.member_, field.default_);
    }

   private:
    friend class Fields;
    detail::FieldInfo info_;
  };

  Fields(std::initializer_list<Any> fields) {
    for (const Any& field : fields) fields_.push_back(field.info_);
  }

 private:
  friend class detail::DescriptionAccess;
  template <class T>
  class Access final : public detail::FieldAccess {
   public:
    Access(T Struct::* member, std::optional<T> value) : member_(member), default_(std::move(value)) {}
    Json schema(detail::SchemaWriter& writer) const override { return detail::Codec<T>::schema(writer); }
    void read(const Json& json, void* owner, detail::ArgumentReader& reader) const override {
      static_cast<Struct*>(owner)->*member_ = detail::Codec<T>::read(json, reader);
    }
    Json write(const void* owner) const override {
      return detail::Codec<T>::write(static_cast<const Struct*>(owner)->*member_);
    }
    void assign_default(void* owner) const override {
      if (default_.has_value()) static_cast<Struct*>(owner)->*member_ = *default_;
    }
    Json default_json() const override {
      if (default_.has_value()) return detail::Codec<T>::write(*default_);
      return detail::Codec<T>::write(Struct().*member_);
    }

   private:
    T Struct::* member_;
    std::optional<T> default_;
  };

  std::vector<detail::FieldInfo> fields_;
};

namespace detail {

template <class T>
concept MemberDescribed = requires {
  { T::describe() } -> std::same_as<Fields<T>>;
};
template <class T>
concept FreeDescribed = requires {
  { describe(TypeTag<T>()) } -> std::same_as<Fields<T>>;
};
template <class T>
concept DescribedEnum = std::is_enum_v<T> && requires {
  { describe(TypeTag<T>()) } -> std::same_as<EnumValues<T>>;
};

}  // namespace detail

// A struct with a description of its fields.
template <class T>
concept Described =
    std::is_class_v<T> && std::default_initializable<T> && (detail::MemberDescribed<T> || detail::FreeDescribed<T>);

// The JSON Schema of a struct. It is a valid schema of draft 2020-12, and also of draft-07 unless the struct contains
// itself.
template <Described T>
Json schema_of() {
  return detail::SchemaWriter().document(detail::struct_info<T>());
}

// Reads the struct from a JSON object. Fails with ValidationError `invalid_request`, which holds every error with its
// path. The message describes each error so that a model can correct its call ("city: is required; days: must be an
// integer, got string"), and `metadata.errors` lists them as {path, rule, message}. After the sixteenth error, errors
// are only counted.
template <Described T>
Result<T> arguments_from_json(const Json& json) {
  T value{};
  detail::ArgumentReader reader;
  detail::struct_info<T>().read(json, &value, reader);
  if (reader.error_count() > 0) return std::unexpected(reader.error());
  return value;
}

// Writes a value as JSON. T is any type that a field may have. arguments_from_json<T>(json_of(x)) equals x if x obeys
// the rules of its fields and all its numbers are finite. An optional field without a value is left out, or written as
// null if it has a default. An enumeration value without a name is written as its number.
template <class T>
Json json_of(const T& value) {
  return detail::Codec<T>::write(value);
}

namespace detail {

// Reads the private parts of descriptions, so that programs do not depend on the types in them.
class DescriptionAccess {
  template <class Struct>
  static const std::vector<FieldInfo>& fields(const Fields<Struct>& description) {
    return description.fields_;
  }
  template <class E>
  static const std::vector<EnumEntry>& entries(const EnumValues<E>& description) {
    return description.entries_;
  }
  template <class T>
  friend const StructInfo& struct_info();
  template <class T>
  friend const std::vector<EnumEntry>& enum_entries();
};

// The description of a type, made at its first use and never freed: a handler past its deadline may still use it while
// the process exits.
template <class T>
const StructInfo& struct_info() {
  static const StructInfo* const kInfo = [] {
    if constexpr (MemberDescribed<T>) {
      return std::make_unique<const StructInfo>(DescriptionAccess::fields(T::describe())).release();
    } else {
      return std::make_unique<const StructInfo>(DescriptionAccess::fields(describe(TypeTag<T>()))).release();
    }
  }();
  return *kInfo;
}
template <class T>
const std::vector<EnumEntry>& enum_entries() {
  static const EnumValues<T>* const kValues = std::make_unique<const EnumValues<T>>(describe(TypeTag<T>())).release();
  return DescriptionAccess::entries(*kValues);
}

template <class T>
struct Codec {
  static_assert(Described<T> || DescribedEnum<T>,
                "A field's type must be bool, an integer, float, double, std::string, allm::Json, an enumeration or "
                "struct with `describe`, or a std::optional, std::vector or std::map<std::string, T> of these.");
  static Json schema(SchemaWriter& writer) {
    if constexpr (std::is_enum_v<T>) {
      return enum_schema(enum_entries<T>());
    } else {
      return writer.write(struct_info<T>());
    }
  }
  static T read(const Json& json, ArgumentReader& reader) {
    if constexpr (std::is_enum_v<T>) {
      return static_cast<T>(reader.read_enum(json, enum_entries<T>()));
    } else {
      T value{};
      struct_info<T>().read(json, &value, reader);
      return value;
    }
  }
  static Json write(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return enum_name(static_cast<std::int64_t>(value), enum_entries<T>());
    } else {
      return struct_info<T>().write(&value);
    }
  }
};

}  // namespace detail

}  // namespace allm
