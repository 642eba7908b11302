#include "lanes/toml_reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <sstream>
#include <utility>

namespace allm {
namespace {

constexpr std::size_t kShown = 20;

// A number and the unit after it, with or without a space between.
std::optional<std::pair<std::uint64_t, std::string_view>> split_unit(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  return std::pair(number, unit);
}

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

template <std::size_t N>
std::optional<std::uint64_t> with_unit(std::string_view text, const std::array<Unit, N>& units) {
  const auto split = split_unit(text);
  if (!split) return std::nullopt;
  const auto unit = std::ranges::find(units, split->second, &Unit::name);
  std::uint64_t product = 0;
  if (unit == units.end() || __builtin_mul_overflow(split->first, unit->factor, &product)) return std::nullopt;
  return product;
}

}  // namespace

void TomlErrors::add(const toml::source_region& where, const std::string& error) {
  if (++count_ > kShown) return;
  if (!text_.empty()) text_ += '\n';
  text_ += file_ + ":" + std::to_string(where.begin.line) + ": " + error;
}

std::string TomlErrors::text() const {
  return count_ <= kShown ? text_ : text_ + "\n… and " + std::to_string(count_ - kShown) + " more";
}

TomlTable::TomlTable(const toml::table& table, std::string what, std::initializer_list<std::string_view> keys,
                     TomlErrors& errors)
    : table_(table), what_(std::move(what)), errors_(errors) {
  for (const auto& [key, value] : table) {
    if (std::ranges::find(keys, key.str()) != keys.end()) continue;
    std::string known;
    for (const std::string_view name : keys) known += (known.empty() ? "" : ", ") + std::string(name);
    errors_.add(key.source(), what_ + "'" + std::string(key.str()) + "' is not known here; there are " + known);
  }
}

void TomlTable::report(const char* key, const std::string& error) const {
  const toml::node* node = table_.get(key);
  errors_.add(node == nullptr ? table_.source() : node->source(), what_ + "'" + key + "' " + error);
}

std::optional<std::string> TomlTable::text(const char* key) const {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* text = node->as_string()) return text->get();
  report(key, "must be a text");
  return std::nullopt;
}

std::optional<bool> TomlTable::boolean(const char* key) const {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* value = node->as_boolean()) return value->get();
  report(key, "must be true or false");
  return std::nullopt;
}

std::optional<std::int64_t> TomlTable::integer(const char* key) const {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* value = node->as_integer()) return value->get();
  report(key, "must be a whole number");
  return std::nullopt;
}

std::optional<std::vector<std::string>> TomlTable::texts(const char* key) const {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  std::vector<std::string> list;
  const auto* array = node->as_array();
  const auto add = [&list](const toml::node& item) {
    const auto* text = item.as_string();
    if (text != nullptr) list.push_back(text->get());
    return text != nullptr;
  };
  if (array != nullptr && std::all_of(array->begin(), array->end(), add)) return list;
  report(key, "must be a list of texts");
  return std::nullopt;
}

std::optional<std::vector<int>> TomlTable::integers(const char* key) const {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  std::vector<int> list;
  const auto* array = node->as_array();
  const auto add = [&list](const toml::node& item) {
    const auto* number = item.as_integer();
    const bool fits = number != nullptr && number->get() >= 0 && number->get() <= 255;
    if (fits) list.push_back(static_cast<int>(number->get()));
    return fits;
  };
  if (array != nullptr && std::all_of(array->begin(), array->end(), add)) return list;
  report(key, "must be a list of exit statuses, from 0 to 255");
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> TomlTable::duration(const char* key) const {
  constexpr std::array<Unit, 4> kUnits = {{{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}}};
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* text = node->as_string()) {
    const auto time = with_unit(text->get(), kUnits);
    if (time && *time <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / 1'000'000)) {
      return std::chrono::milliseconds(static_cast<std::int64_t>(*time));
    }
  }
  report(key, "must be a time, such as \"250ms\", \"10s\", \"2m\" or \"1h\"");
  return std::nullopt;
}

std::optional<std::uint64_t> TomlTable::bytes(const char* key) const {
  constexpr std::array<Unit, 4> kUnits = {{{"B", 1}, {"KiB", 1ULL << 10U}, {"MiB", 1ULL << 20U}, {"GiB", 1ULL << 30U}}};
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* number = node->as_integer(); number != nullptr && number->get() > 0) {
    return static_cast<std::uint64_t>(number->get());
  }
  if (const auto* text = node->as_string()) {
    if (const auto size = with_unit(text->get(), kUnits); size && *size > 0) return size;
  }
  report(key, "must be a number of bytes, or a text such as \"512 KiB\", \"1 MiB\" or \"4 GiB\"");
  return std::nullopt;
}

const toml::table* TomlTable::table(const char* key) const {
  const toml::node* node = find(key);
  if (node == nullptr) return nullptr;
  if (node->is_table()) return node->as_table();
  report(key, "must be a table");
  return nullptr;
}

Json json_of(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    // toml++ sorts keys; schemas keep the order of the file.
    std::vector<std::pair<const toml::key*, const toml::node*>> members;
    for (const auto& [key, value] : *table) members.emplace_back(&key, &value);
    std::ranges::sort(members, {}, [](const auto& member) {
      const toml::source_position& begin = member.first->source().begin;
      return std::pair(begin.line, begin.column);
    });
    Json object = Json::object();
    for (const auto& [key, value] : members) object[std::string(key->str())] = json_of(*value);
    return object;
  }
  if (const auto* array = node.as_array()) {
    Json list = Json::array();
    for (const toml::node& item : *array) list.push_back(json_of(item));
    return list;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* value = node.as_boolean()) return value->get();
  std::ostringstream text;
  if (const auto* date = node.as_date()) text << *date;
  if (const auto* time = node.as_time()) text << *time;
  if (const auto* moment = node.as_date_time()) text << *moment;
  return text.str();
}

}  // namespace allm
