#include "testing/scenario/pattern.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "allm/scenario.hpp"

#include "data/path.hpp"

namespace allm::scenario {
namespace {

enum class Operator : std::uint8_t { any, absent, contains, len, unordered, ordered_subset, all, none };

struct OperatorName {
  std::string_view name;
  Operator op;
};
constexpr std::array<OperatorName, 8> kOperators = {{
    {"$any", Operator::any},
    {"$absent", Operator::absent},
    {"$contains", Operator::contains},
    {"$len", Operator::len},
    {"$unordered", Operator::unordered},
    {"$ordered_subset", Operator::ordered_subset},
    {"$all", Operator::all},
    {"$none", Operator::none},
}};

std::optional<Operator> operator_of(std::string_view name) {
  const auto* found = std::ranges::find(kOperators, name, &OperatorName::name);
  if (found == kOperators.end()) return std::nullopt;
  return found->op;
}

bool is_special(const Json& pattern) {
  return pattern.is_object() &&
         std::ranges::any_of(pattern.items(), [](const auto& item) { return item.key().starts_with('$'); });
}

bool is_count(const Json& value) { return value.is_number_integer() && value >= 0; }

// What is wrong with a special object; nullopt if it is valid.
std::optional<std::string> defect(const Json& pattern) {
  if (pattern.size() != 1) return "a special object has one key only";
  const std::string& name = pattern.begin().key();
  const Json& operand = pattern.begin().value();
  const std::optional<Operator> op = operator_of(name);
  if (!op) return fmt::format("unknown pattern operator {}", name);
  switch (*op) {
    case Operator::any:
    case Operator::absent:
      if (operand != true) return fmt::format("{} takes true", name);
      break;
    case Operator::contains:
      if (!operand.is_string()) return fmt::format("{} takes a text", name);
      break;
    case Operator::len:
      if (!is_count(operand)) return fmt::format("{} takes a whole number from 0", name);
      break;
    case Operator::unordered:
    case Operator::ordered_subset:
    case Operator::all:
      if (!operand.is_array()) return fmt::format("{} takes an array of patterns", name);
      break;
    case Operator::none:
      break;
  }
  return std::nullopt;
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::optional<std::size_t> length_of(const Json& value) {
  if (value.is_array() || value.is_object()) return value.size();
  if (value.is_string()) return code_points(value.get_ref<const std::string&>());
  return std::nullopt;
}

std::string_view kind_of(const Json& value) {
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  if (value.is_string()) return "a text";
  if (value.is_number()) return "a number";
  if (value.is_boolean()) return "a boolean";
  return "null";
}

std::string member(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }
std::string element(const std::string& path, std::size_t index) { return fmt::format("{}[{}]", path, index); }

class Matcher {
 public:
  explicit Matcher(std::vector<std::string>* mismatches) : mismatches_(mismatches) {}

  // `observed` is null if the key is missing.
  bool match(const Json& pattern, const Json* observed, const std::string& path) {
    if (is_special(pattern)) return match_special(pattern, observed, path);
    if (observed == nullptr) return fail(path, "expected {}, but it is missing", preview(pattern));
    if (pattern.is_object()) return match_object(pattern, *observed, path);
    if (pattern.is_array()) return match_array(pattern, *observed, path);
    return pattern == *observed || fail(path, "expected {}, got {}", preview(pattern), preview(*observed));
  }

 private:
  template <class... Args>
  bool fail(const std::string& path, fmt::format_string<Args...> text, Args&&... args) {
    if (mismatches_ != nullptr) {
      mismatches_->push_back((path.empty() ? std::string("value") : path) + ": " +
                             fmt::format(text, std::forward<Args>(args)...));
    }
    return false;
  }

  static bool matches(const Json& pattern, const Json& observed) {
    return Matcher(nullptr).match(pattern, &observed, {});
  }

  bool match_object(const Json& pattern, const Json& observed, const std::string& path) {
    if (!observed.is_object()) return fail(path, "expected {}, got {}", preview(pattern), preview(observed));
    bool good = true;
    for (const auto& [key, expected] : pattern.items()) {
      const auto found = observed.find(key);
      good &= match(expected, found == observed.end() ? nullptr : &*found, member(path, key));
    }
    return good;
  }

  bool match_array(const Json& pattern, const Json& observed, const std::string& path) {
    if (!observed.is_array()) return fail(path, "expected {}, got {}", preview(pattern), preview(observed));
    bool good = pattern.size() == observed.size() ||
                fail(path, "expected {} elements, got {}: {}", pattern.size(), observed.size(), preview(observed, 400));
    const std::size_t both = std::min(pattern.size(), observed.size());
    for (std::size_t i = 0; i < both; ++i) {
      const bool same = match(pattern[i], &observed[i], element(path, i));
      // If the lengths differ, the elements after the first difference are only shifted and need no message.
      if (!same && pattern.size() != observed.size()) return false;
      good &= same;
    }
    return good;
  }

  bool match_special(const Json& pattern, const Json* observed, const std::string& path) {
    if (const auto wrong = defect(pattern)) return fail(path, "{}", *wrong);
    const Json& operand = pattern.begin().value();
    const Operator op = *operator_of(pattern.begin().key());
    if (op == Operator::absent) {
      return observed == nullptr || fail(path, "expected nothing here, got {}", preview(*observed));
    }
    if (op == Operator::all) {
      return std::ranges::count_if(operand, [&](const Json& part) { return !match(part, observed, path); }) == 0;
    }
    if (observed == nullptr) return fail(path, "expected {}, but it is missing", preview(pattern));
    switch (op) {
      case Operator::any:
      case Operator::absent:
      case Operator::all:
        return true;
      case Operator::contains:
        return (observed->is_string() && observed->get_ref<const std::string&>().find(
                                             operand.get_ref<const std::string&>()) != std::string::npos) ||
               fail(path, "expected a text that contains {}, got {}", preview(operand), preview(*observed));
      case Operator::len: {
        const std::optional<std::size_t> length = length_of(*observed);
        if (!length) return fail(path, "expected a length of {}, got {}", operand.dump(), preview(*observed));
        return *length == operand.get<std::size_t>() ||
               fail(path, "expected a length of {}, got {}: {}", operand.dump(), *length, preview(*observed));
      }
      case Operator::unordered:
        return match_unordered(operand, *observed, path);
      case Operator::ordered_subset:
        return match_ordered_subset(operand, *observed, path);
      case Operator::none:
        return match_none(operand, *observed, path);
    }
    return false;
  }

  // A perfect matching of patterns and elements (Kuhn's algorithm): a pattern that matches several elements must not
  // use the only element that matches another pattern.
  bool match_unordered(const Json& patterns, const Json& observed, const std::string& path) {
    if (!observed.is_array()) return fail(path, "expected an array, got {}", kind_of(observed));
    const std::size_t n = patterns.size();
    if (n != observed.size()) {
      return fail(path, "expected {} elements in any order, got {}: {}", n, observed.size(), preview(observed, 400));
    }
    std::vector<std::vector<bool>> fits(n, std::vector<bool>(n));
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t e = 0; e < n; ++e) fits[p][e] = matches(patterns[p], observed[e]);
    }
    std::vector<std::optional<std::size_t>> pattern_of(n);
    for (std::size_t p = 0; p < n; ++p) {
      std::vector<bool> visited(n);
      if (!assign(p, fits, pattern_of, visited)) {
        const bool alone = std::ranges::none_of(fits[p], [](bool fit) { return fit; });
        return fail(path, "expected, in any order, {} (pattern {}), {}; got {}", preview(patterns[p]), p,
                    alone ? "which no element matches" : "but the elements that match are taken by other patterns",
                    preview(observed, 400));
      }
    }
    return true;
  }

  static bool assign(std::size_t pattern, const std::vector<std::vector<bool>>& fits,
                     std::vector<std::optional<std::size_t>>& pattern_of, std::vector<bool>& visited) {
    for (std::size_t e = 0; e < fits[pattern].size(); ++e) {
      if (!fits[pattern][e] || visited[e]) continue;
      visited[e] = true;
      if (!pattern_of[e] || assign(*pattern_of[e], fits, pattern_of, visited)) {
        pattern_of[e] = pattern;
        return true;
      }
    }
    return false;
  }

  // Taking the earliest element for each pattern is optimal for a subsequence.
  bool match_ordered_subset(const Json& patterns, const Json& observed, const std::string& path) {
    if (!observed.is_array()) return fail(path, "expected an array, got {}", kind_of(observed));
    std::size_t next = 0;
    for (std::size_t p = 0; p < patterns.size(); ++p) {
      const std::size_t from = next;
      while (next < observed.size() && !matches(patterns[p], observed[next])) ++next;
      if (next == observed.size()) {
        return fail(path, "expected {} (pattern {}) from element {} on, found none in {}", preview(patterns[p]), p,
                    from, preview(observed, 400));
      }
      ++next;
    }
    return true;
  }

  bool match_none(const Json& pattern, const Json& observed, const std::string& path) {
    if (!observed.is_array()) return fail(path, "expected an array, got {}", kind_of(observed));
    bool good = true;
    for (std::size_t i = 0; i < observed.size(); ++i) {
      if (matches(pattern, observed[i])) {
        good = fail(element(path, i), "expected no element like {}, got {}", preview(pattern), preview(observed[i]));
      }
    }
    return good;
  }

  std::vector<std::string>* mismatches_;
};

}  // namespace

void check_pattern(const Json& pattern, const Path& path, ScenarioErrors& errors) {
  if (is_special(pattern)) {
    if (const auto wrong = defect(pattern)) {
      errors.add(path, "invalid_pattern", *wrong);
      return;
    }
  }
  if (pattern.is_object()) {
    for (const auto& [key, value] : pattern.items()) check_pattern(value, extended(path, key), errors);
  } else if (pattern.is_array()) {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      check_pattern(pattern[i], extended(path, static_cast<std::int64_t>(i)), errors);
    }
  }
}

bool match_pattern(const Json& pattern, const Json& observed, const std::string& base,
                   std::vector<std::string>* mismatches) {
  return Matcher(mismatches).match(pattern, &observed, base);
}

std::string preview(const Json& value, std::size_t limit) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= limit) return text;
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

}  // namespace allm::scenario

namespace allm {

bool matches_pattern(const Json& pattern, const Json& observed, std::vector<std::string>* mismatches) {
  return scenario::match_pattern(pattern, observed, {}, mismatches);
}

}  // namespace allm
