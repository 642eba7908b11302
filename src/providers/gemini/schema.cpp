#include "providers/gemini/schema.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "providers/call_settings.hpp"
#include "providers/gemini/gemini.hpp"
#include "providers/provider_json.hpp"

namespace allm {
namespace {

constexpr std::array<std::string_view, 14> kKept = {
    "title",         "description", "nullable",  "minItems", "maxItems", "propertyOrdering", "minProperties",
    "maxProperties", "minLength",   "maxLength", "pattern",  "minimum",  "maximum",          "default"};
// Keywords that mean nothing to the model.
constexpr std::array<std::string_view, 8> kDropped = {"$schema", "$id",         "$comment", "$anchor",
                                                      "$defs",   "definitions", "examples", "readOnly"};
constexpr std::array<std::string_view, 6> kFormats = {"enum", "date-time", "float", "double", "int32", "int64"};
constexpr int kMaxDepth = 64;
constexpr int kMaxSchemas = 10'000;

bool is_one_of(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

std::string as_text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

class Cleaner {
 public:
  explicit Cleaner(const Json& root) : root_(root) {}

  // The converted schema; meaningless after an error.
  Json clean(const Json& schema) {
    if (++count_ > kMaxSchemas || depth_ == kMaxDepth) failed_ = true;
    if (failed_ || !schema.is_object()) return Json::object();
    ++depth_;
    Json result = Json::object();
    std::string rules;
    for (const auto& [keyword, value] : schema.items()) take(keyword, value, result, rules);
    if (!rules.empty()) {
      const std::string_view description = text_member(result, "description");
      result["description"] = (description.empty() ? "" : std::string(description) + " ") + "(" + rules + ")";
    }
    drop_unknown_required(result);
    --depth_;
    return result;
  }

  bool failed() const { return failed_; }

 private:
  void take(const std::string& keyword, const Json& value, Json& result, std::string& rules) {
    if (keyword == "type") {
      take_type(value, result);
    } else if (keyword == "properties" && value.is_object()) {
      Json& properties = member_object(result, "properties");
      for (const auto& [name, property] : value.items()) properties[name] = clean(property);
    } else if (keyword == "items" && value.is_object()) {
      result["items"] = clean(value);
    } else if ((keyword == "anyOf" || keyword == "oneOf") && value.is_array()) {
      take_alternatives(value, result);
    } else if (keyword == "allOf" && value.is_array()) {
      for (const Json& part : value) merge(clean(part), result);
    } else if (keyword == "$ref" && value.is_string()) {
      take_reference(value.get_ref<const std::string&>(), result, rules);
    } else if (keyword == "required" && value.is_array()) {
      merge({{"required", value}}, result);
    } else if (keyword == "enum" && value.is_array()) {
      take_enum(value, result, rules);
    } else if (keyword == "const") {
      take_enum(Json::array({value}), result, rules);
    } else if (is_one_of(kKept, keyword) || (keyword == "format" && is_known_format(value))) {
      result[keyword] = value;
    } else if (!is_one_of(kDropped, keyword) && !(keyword == "additionalProperties" && value.is_boolean())) {
      rules += (rules.empty() ? "" : ", ") + keyword + ": " + as_text(value);
    }
  }

  static bool is_known_format(const Json& value) {
    return value.is_string() && is_one_of(kFormats, value.get_ref<const std::string&>());
  }

  static Json& member_object(Json& result, const char* name) {
    Json& member = result[name];
    if (!member.is_object()) member = Json::object();
    return member;
  }

  static void take_type(const Json& value, Json& result) {
    if (!value.is_array()) {
      result["type"] = value;
      return;
    }
    Json types = Json::array();
    for (const Json& type : value) {
      if (type == "null") {
        result["nullable"] = true;
      } else {
        types.push_back(type);
      }
    }
    if (types.size() == 1) {
      result["type"] = types[0];
    } else if (!types.empty()) {
      Json& alternatives = result["anyOf"] = Json::array();
      for (const Json& type : types) alternatives.push_back({{"type", type}});
    }
  }

  void take_alternatives(const Json& value, Json& result) {
    Json alternatives = Json::array();
    for (const Json& alternative : value) {
      if (text_member(alternative, "type") == "null") {
        result["nullable"] = true;
      } else {
        alternatives.push_back(clean(alternative));
      }
    }
    if (alternatives.size() == 1) {
      merge(std::move(alternatives[0]), result);
    } else if (!alternatives.empty()) {
      result["anyOf"] = std::move(alternatives);
    }
  }

  // Members that `result` already has take precedence.
  static void merge(Json from, Json& result) {
    for (auto& [keyword, value] : from.items()) {
      if (keyword == "properties") {
        Json& properties = member_object(result, "properties");
        for (auto& [name, property] : value.items()) properties.emplace(name, std::move(property));
      } else if (keyword == "required") {
        Json& required = result["required"];
        if (!required.is_array()) required = Json::array();
        for (Json& name : value) {
          if (std::ranges::find(required, name) == required.end()) required.push_back(name);
        }
      } else {
        result.emplace(keyword, std::move(value));
      }
    }
  }

  void take_reference(const std::string& reference, Json& result, std::string& rules) {
    if (!reference.starts_with('#')) {
      rules += (rules.empty() ? "" : ", ") + ("$ref: " + as_text(reference));
      return;
    }
    const Json* target = resolve(std::string_view(reference).substr(1));
    if (target != nullptr) merge(clean(*target), result);
  }

  const Json* resolve(std::string_view pointer) const {
    const Json* at = &root_;
    while (!pointer.empty()) {
      if (!pointer.starts_with('/')) return nullptr;
      pointer.remove_prefix(1);
      const std::size_t end = std::min(pointer.find('/'), pointer.size());
      const std::string step = unescaped(pointer.substr(0, end));
      pointer.remove_prefix(end);
      if (at->is_array()) {
        const bool is_index =
            !step.empty() && step.size() < 7 && std::ranges::all_of(step, [](char c) { return c >= '0' && c <= '9'; });
        const std::size_t index = is_index ? std::stoul(step) : at->size();
        if (index >= at->size()) return nullptr;
        at = &(*at)[index];
      } else {
        at = find_member(*at, step);
      }
      if (at == nullptr) return nullptr;
    }
    return at;
  }

  static std::string unescaped(std::string_view step) {
    std::string result;
    for (std::size_t i = 0; i < step.size(); ++i) {
      const bool escape = step[i] == '~' && i + 1 < step.size() && (step[i + 1] == '0' || step[i + 1] == '1');
      result += escape ? (step[++i] == '0' ? '~' : '/') : step[i];
    }
    return result;
  }

  // The API supports only enums of texts.
  static void take_enum(const Json& values, Json& result, std::string& rules) {
    Json texts = Json::array();
    bool others = false;
    for (const Json& value : values) {
      if (value.is_string()) {
        texts.push_back(value);
      } else if (value.is_null()) {
        result["nullable"] = true;
      } else {
        others = true;
      }
    }
    if (others) {
      rules += (rules.empty() ? "" : ", ") + ("one of: " + as_text(values));
    } else if (!texts.empty()) {
      result["enum"] = std::move(texts);
      result.emplace("type", "string");
    }
  }

  static void drop_unknown_required(Json& result) {
    const auto required = result.find("required");
    if (required == result.end()) return;
    Json known = Json::array();
    for (const Json& name : *required) {
      if (!name.is_string() || !result.contains("properties")) continue;
      if (result["properties"].contains(name.get_ref<const std::string&>())) known.push_back(name);
    }
    if (known.empty()) {
      result.erase("required");
    } else {
      result["required"] = std::move(known);
    }
  }

  const Json& root_;
  int depth_ = 0;
  int count_ = 0;
  bool failed_ = false;
};

}  // namespace

Result<Json> gemini_schema(const Json& schema) {
  Cleaner cleaner(schema);
  Json cleaned = cleaner.clean(schema);
  if (!cleaner.failed()) return cleaned;
  return std::unexpected(unsupported_feature(
      kGemini,
      "the schema refers to itself or is too large once its references are inlined, which Gemini's own dialect "
      "cannot carry: simplify it, or set json_schemas"));
}

}  // namespace allm
