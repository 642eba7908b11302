// The compiler's handlers for keywords that assert something about a value by themselves.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "schema/compiler.hpp"
#include "schema/messages.hpp"

namespace allm::schema_detail {
namespace {

constexpr std::array<std::pair<std::string_view, TypeSet>, 7> kTypes = {{
    {"null", static_cast<TypeSet>(Type::null)},
    {"boolean", static_cast<TypeSet>(Type::boolean)},
    {"integer", static_cast<TypeSet>(Type::integer)},
    {"number", static_cast<TypeSet>(Type::integer) | static_cast<TypeSet>(Type::number)},
    {"string", static_cast<TypeSet>(Type::string)},
    {"array", static_cast<TypeSet>(Type::array)},
    {"object", static_cast<TypeSet>(Type::object)},
}};

TypeSet type_named(const Json& name) {
  const auto* text = name.get_ptr<const std::string*>();
  const auto* found =
      std::ranges::find_if(kTypes, [text](const auto& type) { return text != nullptr && type.first == *text; });
  return found == kTypes.end() ? TypeSet{0} : found->second;
}

}  // namespace

void Compiler::wrong(const Entry& entry, std::string_view reason, const std::string& message, const Path& below) {
  Path path = {std::string(entry.info.name)};
  path.insert(path.end(), below.begin(), below.end());
  errors_.add(entry.node, std::move(path), reason, message);
}

void Compiler::wrong_type(const Entry& entry, std::string_view expected, const Json& value, const Path& below) {
  wrong(entry, "invalid_type", "must be " + std::string(expected) + ", got " + value.type_name(), below);
}

void Compiler::compile_type(const Entry& entry) {
  constexpr std::string_view kExpected =
      "must be one or a list of null, boolean, integer, number, string, array and object";
  TypeSet types = 0;
  if (entry.value.is_array()) {
    std::int64_t i = 0;
    for (const Json& name : entry.value.get_ref<const Json::array_t&>()) {
      const TypeSet type = type_named(name);
      if (type == 0) wrong(entry, "unknown_type", std::string(kExpected), {i});
      types |= type;
      ++i;
    }
  } else {
    types = type_named(entry.value);
    if (types == 0) wrong(entry, "unknown_type", std::string(kExpected));
  }
  entry.node.types = types;
}

void Compiler::compile_enumeration(const Entry& entry) {
  if (const auto* values = entry.value.get_ptr<const Json::array_t*>()) {
    entry.node.enumeration = std::make_unique<ValueSet>(std::vector<Json>(values->begin(), values->end()));
  } else {
    wrong_type(entry, "an array", entry.value);
  }
}

void Compiler::compile_schema_uri(const Entry& entry) {
  const std::string* uri = string(entry);
  if (uri == nullptr || program_.options.dialect != Dialect::auto_detect || dialect_of(*uri) == dialect_) return;
  wrong(entry, "unsupported_dialect", "a subschema cannot have another dialect than its document");
}

std::optional<Number> Compiler::number(const Entry& entry) {
  if (entry.value.is_number()) return Number(entry.value);
  wrong_type(entry, "a number", entry.value);
  return std::nullopt;
}

std::optional<Number> Compiler::positive_number(const Entry& entry) {
  const auto value = number(entry);
  if (!value || value->is_positive()) return value;
  wrong(entry, "out_of_range", "must be greater than 0, got " + value->to_text());
  return std::nullopt;
}

std::size_t Compiler::count(const Entry& entry) {
  if (entry.value.is_number()) {
    if (const auto value = Number(entry.value).natural()) return *value;
  }
  wrong(entry, "invalid_type", "must be a non-negative integer");
  return 0;
}

bool Compiler::boolean(const Entry& entry) {
  if (const auto* value = entry.value.get_ptr<const bool*>()) return *value;
  wrong_type(entry, "a boolean", entry.value);
  return false;
}

const std::string* Compiler::string(const Entry& entry) {
  const auto* text = entry.value.get_ptr<const std::string*>();
  if (text == nullptr) wrong_type(entry, "a string", entry.value);
  return text;
}

const Json::object_t* Compiler::object(const Entry& entry) {
  const auto* members = entry.value.get_ptr<const Json::object_t*>();
  if (members == nullptr) wrong_type(entry, "an object", entry.value);
  return members;
}

std::shared_ptr<const Pattern> Compiler::pattern(const Entry& entry, const std::string& source, const Path& below) {
  const std::size_t max_memory = program_.options.max_pattern_memory;
  auto& known = patterns_[source];
  // A large pattern takes long to compile, so no further pattern is compiled once the limit is exceeded.
  if (known != nullptr || pattern_memory_ > max_memory) return known;
  std::string error;
  if (auto compiled = Pattern::compile(source, max_memory)) {
    known = std::make_shared<const Pattern>(*std::move(compiled));
    pattern_memory_ += known->memory();
    if (pattern_memory_ > max_memory) error = "the patterns of this schema are too large together";
  } else {
    error = compiled.error().message;
    if (compiled.error().out_of_memory) pattern_memory_ = max_memory + 1;
  }
  if (!error.empty()) {
    wrong(entry, "unsupported_pattern", "cannot use the pattern " + in_quotes(source) + ": " + error, below);
  }
  return known;
}

std::vector<std::uint32_t> Compiler::watched_names(const Entry& entry, const Json& list, const Path& below) {
  std::vector<std::uint32_t> bits;
  const auto* names = list.get_ptr<const Json::array_t*>();
  if (names == nullptr || !std::ranges::all_of(*names, [](const Json& name) { return name.is_string(); })) {
    wrong(entry, "invalid_type", "must be an array of strings", below);
    return bits;
  }
  KeyTable& keys = made(entry.node.object).keys;
  for (const Json& name : *names) bits.push_back(keys.watch(name.get_ref<const std::string&>()));
  std::ranges::sort(bits);
  const auto repeated = std::ranges::unique(bits);
  bits.erase(repeated.begin(), repeated.end());
  return bits;
}

}  // namespace allm::schema_detail
