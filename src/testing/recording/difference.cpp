#include "testing/recording/difference.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace allm {
namespace {

constexpr std::size_t kShown = 60;   // bytes that are shown of a value
constexpr std::size_t kBefore = 20;  // how many of them may come before the difference
constexpr std::string_view kCut = "…";

std::string below(const std::string& pointer, std::string_view name) {
  std::string result = pointer + "/";
  for (const char c : name) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += c;
    }
  }
  return result;
}

class Comparison {
 public:
  explicit Comparison(const Pointers& ignored) : ignored_(ignored) {}

  // Null stands for a missing value.
  std::optional<Difference> compare(const Json* recorded, const Json* now, const std::string& pointer) const {
    if (ignored_.contains(pointer)) return std::nullopt;
    if (recorded != nullptr && now != nullptr) {
      if (recorded->is_object() && now->is_object()) return members(*recorded, *now, pointer);
      if (recorded->is_array() && now->is_array()) return elements(*recorded, *now, pointer);
      if (json_equal(*recorded, *now)) return std::nullopt;
    }
    return Difference{.pointer = pointer, .recorded = recorded, .now = now};
  }

 private:
  static const Json* find(const Json& object, const std::string& name) {
    const auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
  }

  std::optional<Difference> members(const Json& recorded, const Json& now, const std::string& pointer) const {
    for (const auto& [name, value] : recorded.items()) {
      if (auto found = compare(&value, find(now, name), below(pointer, name))) return found;
    }
    for (const auto& [name, value] : now.items()) {
      if (recorded.contains(name)) continue;
      if (auto found = compare(nullptr, &value, below(pointer, name))) return found;
    }
    return std::nullopt;
  }

  std::optional<Difference> elements(const Json& recorded, const Json& now, const std::string& pointer) const {
    for (std::size_t i = 0; i < std::max(recorded.size(), now.size()); ++i) {
      const Json* left = i < recorded.size() ? &recorded[i] : nullptr;
      const Json* right = i < now.size() ? &now[i] : nullptr;
      if (auto found = compare(left, right, below(pointer, std::to_string(i)))) return found;
    }
    return std::nullopt;
  }

  const Pointers& ignored_;
};

std::string written(const Json* value) {
  return value == nullptr ? "nothing" : value->dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The nearest position at or before `at` where a character begins.
std::size_t character_begin(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
  return at;
}

std::string shortened(const std::string& text, std::size_t from) {
  const std::size_t begin = character_begin(text, from);
  const std::size_t end = character_begin(text, std::min(begin + kShown, text.size()));
  return (begin > 0 ? std::string(kCut) : "") + text.substr(begin, end - begin) +
         (end < text.size() ? std::string(kCut) : "");
}

}  // namespace

bool is_json_pointer(std::string_view text) {
  if (!text.empty() && text.front() != '/') return false;
  for (std::size_t at = text.find('~'); at != std::string_view::npos; at = text.find('~', at + 1)) {
    if (at + 1 == text.size() || (text[at + 1] != '0' && text[at + 1] != '1')) return false;
  }
  return true;
}

std::optional<Difference> first_difference(const Json& recorded, const Json& now, const Pointers& ignored) {
  if (json_equal(recorded, now)) return std::nullopt;
  return Comparison(ignored).compare(&recorded, &now, "");
}

std::string describe(const Difference& difference) {
  const std::string recorded = written(difference.recorded);
  const std::string now = written(difference.now);
  const auto differ = std::mismatch(recorded.begin(), recorded.end(), now.begin(), now.end()).first;
  const auto same = static_cast<std::size_t>(differ - recorded.begin());
  const std::size_t from = same > kShown / 2 ? same - kBefore : 0;
  return "recorded " + shortened(recorded, from) + ", now " + shortened(now, from);
}

}  // namespace allm
