#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "allm/describe.hpp"

namespace allm::detail {

namespace {

constexpr std::size_t kMaxErrors = 16;
constexpr std::size_t kMaxValueBytes = 80;

std::string_view type_of(const Json& json) {
  if (json.is_number_integer()) return "integer";
  return json.type_name();
}

// "minLength" → "min_length", the form of our own reasons.
std::string snake_case(std::string_view keyword) {
  std::string word;
  for (const char c : keyword) {
    if (c >= 'A' && c <= 'Z') {
      word += '_';
      word += static_cast<char>(c - 'A' + 'a');
    } else {
      word += c;
    }
  }
  return word;
}

// The value as JSON, cut where it gets long.
std::string shown(const Json& json) {
  if (json.is_structured()) return std::string(type_of(json));
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= kMaxValueBytes) return text;
  std::size_t end = kMaxValueBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

// Whether a double is an integer that fits; 2^63 and 2^64 are doubles, the greatest integers are not.
template <class T>
std::optional<T> integer_of(double value) {
  const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
  const double begin = std::is_signed_v<T> ? -end : 0.0;
  if (!(value >= begin && value < end) || std::trunc(value) != value) return std::nullopt;
  return static_cast<T>(value);
}

std::optional<std::int64_t> signed_of(const Json& json) {
  if (json.is_number_unsigned()) {
    const auto value = json.get<std::uint64_t>();
    if (!std::in_range<std::int64_t>(value)) return std::nullopt;
    return static_cast<std::int64_t>(value);
  }
  if (json.is_number_integer()) return json.get<std::int64_t>();
  return integer_of<std::int64_t>(json.get<double>());
}

std::optional<std::uint64_t> unsigned_of(const Json& json) {
  if (json.is_number_unsigned()) return json.get<std::uint64_t>();
  if (json.is_number_integer()) {
    const auto value = json.get<std::int64_t>();
    if (value < 0) return std::nullopt;
    return static_cast<std::uint64_t>(value);
  }
  return integer_of<std::uint64_t>(json.get<double>());
}

// The rule that a number breaks when it is not an integer within the limits.
std::string_view broken_rule(const Json& json) {
  const auto value = json.get<double>();
  if (std::trunc(value) != value) return "type";  // NaN as well
  return value < 0 ? "minimum" : "maximum";
}

}  // namespace

void ArgumentReader::push(const std::string& name) { path_.push_back({&name, 0}); }
void ArgumentReader::push(std::size_t index) { path_.push_back({nullptr, index}); }
void ArgumentReader::pop() { path_.pop_back(); }
std::size_t ArgumentReader::depth() const { return path_.size(); }

void ArgumentReader::add_error(std::string_view rule, std::string_view text) {
  ++error_count_;
  if (error_count_ > kMaxErrors) return;
  Path path;
  for (const Step& step : path_) {
    if (step.name != nullptr) {
      path.emplace_back(*step.name);
    } else {
      path.emplace_back(static_cast<std::int64_t>(step.index));
    }
  }
  const std::string where = to_string(path);
  const std::string message = where.empty() ? std::string(text) : fmt::format("{}: {}", where, text);
  message_ += (message_.empty() ? "" : "; ") + message;
  details_.push_back({{"path", where}, {"rule", rule}, {"message", message}});
  errors_.push_back({std::move(path), snake_case(rule)});
}

Error ArgumentReader::error() const {
  std::string message = message_;
  if (error_count_ > kMaxErrors) message += fmt::format("; and {} more", error_count_ - kMaxErrors);
  return Error(ValidationError{ValidationError::Reason::invalid_request, errors_}, std::move(message),
               {{"errors", details_}});
}

void ArgumentReader::wrong_type(std::string_view wanted, const Json& json) {
  add_error("type", fmt::format("must be {}, got {}", wanted, type_of(json)));
}

bool ArgumentReader::read_bool(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  wrong_type("a boolean", json);
  return false;
}

std::int64_t ArgumentReader::read_signed(const Json& json, std::int64_t minimum, std::int64_t maximum) {
  if (!json.is_number()) {
    wrong_type("an integer", json);
    return 0;
  }
  const std::optional<std::int64_t> value = signed_of(json);
  if (value.has_value() && *value >= minimum && *value <= maximum) return *value;
  add_error(broken_rule(json), fmt::format("must be an integer from {} to {}, got {}", minimum, maximum, shown(json)));
  return 0;
}

std::uint64_t ArgumentReader::read_unsigned(const Json& json, std::uint64_t maximum) {
  if (!json.is_number()) {
    wrong_type("an integer", json);
    return 0;
  }
  const std::optional<std::uint64_t> value = unsigned_of(json);
  if (value.has_value() && *value <= maximum) return *value;
  add_error(broken_rule(json), fmt::format("must be an integer from 0 to {}, got {}", maximum, shown(json)));
  return 0;
}

double ArgumentReader::read_double(const Json& json, double maximum) {
  if (!json.is_number()) {
    wrong_type("a number", json);
    return 0;
  }
  const auto value = json.get<double>();
  if (std::abs(value) <= maximum) return value;
  // JSON text cannot hold NaN and infinities, but a Json value made by a program can.
  add_error(value < 0 ? "minimum" : "maximum",
            fmt::format("must be a number from {} to {}, got {}", -maximum, maximum, value));
  return 0;
}

std::string ArgumentReader::read_string(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  wrong_type("a string", json);
  return {};
}

std::int64_t ArgumentReader::read_enum(const Json& json, const std::vector<EnumEntry>& entries) {
  if (json.is_string()) {
    const auto found = std::ranges::find(entries, json.get_ref<const std::string&>(), &EnumEntry::name);
    if (found != entries.end()) return found->value;
  }
  std::string names;
  for (const EnumEntry& entry : entries) names += (names.empty() ? "" : ", ") + shown(entry.name);
  add_error("enum", fmt::format("must be one of {}, got {}", names, shown(json)));
  return entries.empty() ? 0 : entries.front().value;
}

const Json::array_t* ArgumentReader::read_array(const Json& json) {
  if (json.is_array()) return json.get_ptr<const Json::array_t*>();
  wrong_type("an array", json);
  return nullptr;
}

const Json::object_t* ArgumentReader::read_object(const Json& json) {
  if (json.is_object()) return json.get_ptr<const Json::object_t*>();
  wrong_type("an object", json);
  return nullptr;
}

}  // namespace allm::detail
