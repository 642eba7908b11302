#include "schema/messages.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace allm::schema_detail {
namespace {

constexpr std::size_t kMaxPreview = 80;
constexpr std::size_t kMaxChoices = 20;

// Whether a value's text is about as short as `room`, which is used up. Looks at no more than that.
bool is_short(const Json& value, std::size_t& room) {
  const auto take = [&room](std::size_t bytes) {
    const bool fits = bytes <= room;
    room -= std::min(bytes, room);
    return fits;
  };
  if (const auto* text = value.get_ptr<const std::string*>()) return take(text->size());
  if (!take(1 + (value.is_structured() ? value.size() : 0))) return false;
  if (const auto* items = value.get_ptr<const Json::array_t*>()) {
    return std::ranges::all_of(*items, [&room](const Json& item) { return is_short(item, room); });
  }
  const auto* members = value.get_ptr<const Json::object_t*>();
  return members == nullptr || std::ranges::all_of(*members, [&](const auto& member) {
           return take(member.first.size()) && is_short(member.second, room);
         });
}

}  // namespace

Type type_of(const Json& instance) {
  switch (instance.type()) {
    case Json::value_t::null:
      return Type::null;
    case Json::value_t::boolean:
      return Type::boolean;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return Type::integer;
    case Json::value_t::number_float:
      return Number(instance).is_integer() ? Type::integer : Type::number;
    case Json::value_t::string:
      return Type::string;
    case Json::value_t::array:
      return Type::array;
    case Json::value_t::object:
      return Type::object;
    case Json::value_t::binary:
    case Json::value_t::discarded:
      break;
  }
  return Type{0};
}

std::string_view type_name(const Json& instance) {
  switch (type_of(instance)) {
    case Type::null:
      return "null";
    case Type::boolean:
      return "boolean";
    case Type::integer:
      return "integer";
    case Type::number:
      return "number";
    case Type::string:
      return "string";
    case Type::array:
      return "array";
    case Type::object:
      return "object";
  }
  return "no JSON value";
}

std::string type_names(TypeSet types) {
  constexpr std::array<std::pair<Type, std::string_view>, 7> kNames = {{{Type::string, "string"},
                                                                        {Type::number, "number"},
                                                                        {Type::integer, "integer"},
                                                                        {Type::boolean, "boolean"},
                                                                        {Type::array, "array"},
                                                                        {Type::object, "object"},
                                                                        {Type::null, "null"}}};
  std::vector<std::string_view> names;
  for (const auto& [type, name] : kNames) {
    const bool covered = type == Type::integer && (types & static_cast<TypeSet>(Type::number)) != 0;
    if ((types & static_cast<TypeSet>(type)) != 0 && !covered) names.push_back(name);
  }
  std::string result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) result += i + 1 == names.size() ? " or " : ", ";
    result += names[i];
  }
  return result;
}

std::string clipped(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "…";
}

std::string in_quotes(std::string_view name) { return "'" + clipped(name) + "'"; }

std::string preview(const Json& value) {
  constexpr auto kReplace = Json::error_handler_t::replace;
  if (const auto* text = value.get_ptr<const std::string*>())
    return Json(clipped(*text)).dump(-1, ' ', false, kReplace);
  std::size_t room = kMaxPreview;
  if (value.is_structured() && !is_short(value, room)) return value.is_array() ? "an array" : "an object";
  return clipped(value.dump(-1, ' ', false, kReplace));
}

std::string choices(const ValueSet& values) {
  std::string result = "one of ";
  for (std::size_t i = 0; i < values.values().size(); ++i) {
    if (i > 0) result += ", ";
    if (i == kMaxChoices) {
      result += "…";
      break;
    }
    result += preview(values.values()[i]);
  }
  return result;
}

std::string plural(std::size_t count, std::string_view singular, std::string_view plural) {
  return std::to_string(count) + ' ' + std::string(count == 1 ? singular : plural);
}

}  // namespace allm::schema_detail
