// The implementation of allm/describe.hpp. Not for direct use: its names may change.
//
// A Codec has the JSON form of one C++ type: its schema, its reader and its writer. Everything that does not depend on
// a type is in src/schema/describe.cpp.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "allm/error.hpp"
#include "allm/json.hpp"

namespace allm::detail {

struct EnumEntry {
  std::int64_t value;
  std::string name;
  std::string description;
};

class ArgumentReader;
class DescriptionAccess;
class SchemaWriter;

// Access to one field, without the types of the field and the struct. `owner` points to the struct.
class FieldAccess {
 public:
  virtual ~FieldAccess() = default;
  virtual Json schema(SchemaWriter& writer) const = 0;
  virtual void read(const Json& json, void* owner, ArgumentReader& reader) const = 0;
  virtual Json write(const void* owner) const = 0;
  virtual void assign_default(void* owner) const = 0;
  virtual Json default_json() const = 0;
};
struct FieldInfo {
  std::string name;
  std::string description;
  Json rules = empty_object();  // schema keywords in addition to those of the type
  bool optional = false;
  bool has_default = false;
  std::shared_ptr<const FieldAccess> access;

  void set_rule(const char* keyword, Json value);
};

// A struct's fields, ready for use.
class StructInfo {
 public:
  explicit StructInfo(std::vector<FieldInfo> fields);
  StructInfo(const StructInfo&) = delete;
  StructInfo& operator=(const StructInfo&) = delete;
  ~StructInfo();

  Json schema(SchemaWriter& writer) const;
  void read(const Json& json, void* owner, ArgumentReader& reader) const;
  Json write(const void* owner) const;

 private:
  struct Field;
  const Field* find(std::string_view name) const;
  std::vector<Field> fields_;
};

// Writes schemas; a struct that contains itself becomes a reference.
class SchemaWriter {
 public:
  Json write(const StructInfo& info);
  // The schema of a whole document.
  Json document(const StructInfo& info);

 private:
  friend class StructInfo;
  struct Named {
    const StructInfo* info;
    std::string name;       // the name of the field that contains the struct
    bool referred = false;  // whether the struct contains itself
  };
  std::string unused_name(std::string_view wish) const;

  std::vector<Named> open_;
  std::vector<Named> defined_;
  Json definitions_ = empty_object();
  std::string_view field_;  // the name of the field that is being written
};

// Reads values and collects the errors in them.
class ArgumentReader {
 public:
  bool read_bool(const Json& json);
  std::int64_t read_signed(const Json& json, std::int64_t minimum, std::int64_t maximum);
  std::uint64_t read_unsigned(const Json& json, std::uint64_t maximum);
  double read_double(const Json& json, double maximum);
  std::string read_string(const Json& json);
  std::int64_t read_enum(const Json& json, const std::vector<EnumEntry>& entries);
  // The elements if it is an array, else null; likewise the members of an object.
  const Json::array_t* read_array(const Json& json);
  const Json::object_t* read_object(const Json& json);

  // Add a step to the path of the next values. `name` must stay valid until pop().
  void push(const std::string& name);
  void push(std::size_t index);
  void pop();
  std::size_t depth() const;

  // `rule` is a schema keyword, `text` follows the path in a sentence.
  void add_error(std::string_view rule, std::string_view text);
  std::size_t error_count() const { return error_count_; }
  Error error() const;

 private:
  struct Step {
    const std::string* name;
    std::size_t index;
  };
  void wrong_type(std::string_view wanted, const Json& json);

  std::vector<Step> path_;
  std::size_t error_count_ = 0;
  std::vector<FieldError> errors_;
  Json details_ = null_json();  // the errors for `metadata.errors`: an array, or null if there are none
  std::string message_;
};

Json integer_schema(std::int64_t minimum, std::uint64_t maximum);
Json type_schema(std::string_view type);
Json array_schema(Json items);
Json map_schema(Json values);
Json enum_schema(const std::vector<EnumEntry>& entries);
Json nullable_schema(Json schema);
Json enum_name(std::int64_t value, const std::vector<EnumEntry>& entries);

// The JSON form of a type: schema, read and write.
template <class T>
struct Codec;
template <class T>
const StructInfo& struct_info();

template <class T>
struct OptionalOf {
  using Type = T;
};
template <class T>
struct OptionalOf<std::optional<T>> {
  using Type = T;
};
template <class T>
using Unwrapped = typename OptionalOf<T>::Type;  // T of std::optional<T>, or T

template <class T>
inline constexpr bool is_optional_v = !std::same_as<T, Unwrapped<T>>;
template <class T>
inline constexpr bool is_vector_v = false;
template <class T>
inline constexpr bool is_vector_v<std::vector<T>> = true;

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
                  !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;
template <class T>
concept Number = Integer<T> || std::same_as<T, double> || std::same_as<T, float>;

template <>
struct Codec<bool> {
  static Json schema(SchemaWriter& writer);
  static bool read(const Json& json, ArgumentReader& reader);
  static Json write(bool value);
};

template <Integer T>
struct Codec<T> {
  using Limits = std::numeric_limits<T>;
  static Json schema(SchemaWriter&) { return integer_schema(Limits::min(), Limits::max()); }
  static T read(const Json& json, ArgumentReader& reader) {
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(reader.read_signed(json, Limits::min(), Limits::max()));
    } else {
      return static_cast<T>(reader.read_unsigned(json, Limits::max()));
    }
  }
  static Json write(T value) { return value; }
};

template <std::floating_point T>
struct Codec<T> {
  static_assert(Number<T>, "A field's type may be float or double, not long double: JSON numbers are doubles.");
  static Json schema(SchemaWriter&) { return type_schema("number"); }
  static T read(const Json& json, ArgumentReader& reader) {
    return static_cast<T>(reader.read_double(json, static_cast<double>(std::numeric_limits<T>::max())));
  }
  static Json write(T value) { return value; }
};

template <>
struct Codec<std::string> {
  static Json schema(SchemaWriter& writer);
  static std::string read(const Json& json, ArgumentReader& reader);
  static Json write(const std::string& value);
};

template <>
struct Codec<Json> {
  static Json schema(SchemaWriter& writer);
  static Json read(const Json& json, ArgumentReader& reader);
  static Json write(const Json& value);
};

template <class T>
struct Codec<std::optional<T>> {
  static_assert(!is_optional_v<T> && !std::same_as<T, Json>,
                "An optional of an optional, or of Json, could not tell its two kinds of null apart.");
  static Json schema(SchemaWriter& writer) { return nullable_schema(Codec<T>::schema(writer)); }
  static std::optional<T> read(const Json& json, ArgumentReader& reader) {
    if (json.is_null()) return std::nullopt;
    return Codec<T>::read(json, reader);
  }
  static Json write(const std::optional<T>& value) { return value.has_value() ? Codec<T>::write(*value) : Json(); }
};

template <class T>
struct Codec<std::vector<T>> {
  static Json schema(SchemaWriter& writer) { return array_schema(Codec<T>::schema(writer)); }
  static std::vector<T> read(const Json& json, ArgumentReader& reader) {
    std::vector<T> values;
    if (const Json::array_t* items = reader.read_array(json)) {
      values.reserve(items->size());
      for (const Json& item : *items) {
        reader.push(values.size());
        values.push_back(Codec<T>::read(item, reader));
        reader.pop();
      }
    }
    return values;
  }
  static Json write(const std::vector<T>& values) {
    Json json = Json::array();
    for (const T& value : values) json.push_back(Codec<T>::write(value));
    return json;
  }
};

template <class T>
struct Codec<std::map<std::string, T>> {
  static Json schema(SchemaWriter& writer) { return map_schema(Codec<T>::schema(writer)); }
  static std::map<std::string, T> read(const Json& json, ArgumentReader& reader) {
    std::map<std::string, T> values;
    if (const Json::object_t* members = reader.read_object(json)) {
      for (const auto& [key, member] : *members) {
        reader.push(key);
        values.insert_or_assign(key, Codec<T>::read(member, reader));
        reader.pop();
      }
    }
    return values;
  }
  static Json write(const std::map<std::string, T>& values) {
    // ordered_json looks a key up before it adds one; the map's keys are known to differ.
    Json::object_t members;
    for (const auto& [key, value] : values) members.emplace_back(key, Codec<T>::write(value));
    return Json(std::move(members));
  }
};

}  // namespace allm::detail
