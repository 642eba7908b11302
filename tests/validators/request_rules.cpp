#include "tests/validators/request_rules.hpp"

#include <algorithm>

namespace allm::testing {

const Json& member(const Json& value, const char* name) {
  static const Json kNone;
  const auto found = value.is_object() ? value.find(name) : value.end();
  return found == value.end() ? kNone : *found;
}

std::string text_of(const Json& value, const char* name) {
  const Json& text = member(value, name);
  return text.is_string() ? text.get<std::string>() : std::string();
}

bool is_text(const Json& value) { return value.is_string() && !value.get_ref<const std::string&>().empty(); }

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos; }

bool is_word(std::string_view text) {
  constexpr std::string_view kWord = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-";
  return !text.empty() && text.find_first_not_of(kWord) == std::string_view::npos;
}

bool is_tool_name(const Json& value) {
  constexpr std::size_t kMax = 64;
  return is_text(value) && value.get_ref<const std::string&>().size() <= kMax &&
         is_word(value.get_ref<const std::string&>());
}

bool is_data_uri_or_url(const Json& value) {
  if (!is_text(value)) return false;
  const auto& text = value.get_ref<const std::string&>();
  const std::size_t data = text.find(";base64,");
  if (text.starts_with("data:")) return data != std::string::npos && data + 8 < text.size();
  return text.starts_with("https://") || text.starts_with("http://");
}

bool is_json_object_text(const Json& value) {
  if (!value.is_string()) return false;
  return Json::parse(value.get_ref<const std::string&>(), nullptr, false).is_object();
}

bool has_only(const Json& object, const std::vector<std::string_view>& names) {
  return object.is_object() && std::ranges::all_of(object.items(), [&names](const auto& member) {
           return std::ranges::find(names, member.key()) != names.end();
         });
}

std::string at(const std::string& list, std::size_t index) { return list + "[" + std::to_string(index) + "]"; }

}  // namespace allm::testing
