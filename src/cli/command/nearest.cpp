#include "cli/command/nearest.hpp"

#include <algorithm>
#include <cstddef>

namespace allm::cli {
namespace {

// Longer texts are no names, and the distance takes quadratic time.
constexpr std::size_t kLongestName = 100;

std::size_t edits_between(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before_last(to.size() + 1);
  std::vector<std::size_t> last(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t column = 0; column <= to.size(); ++column) last[column] = column;
  for (std::size_t line = 1; line <= from.size(); ++line) {
    row[0] = line;
    for (std::size_t column = 1; column <= to.size(); ++column) {
      const bool same = from[line - 1] == to[column - 1];
      row[column] = std::min({last[column] + 1, row[column - 1] + 1, last[column - 1] + (same ? 0 : 1)});
      const bool swapped =
          line > 1 && column > 1 && from[line - 1] == to[column - 2] && from[line - 2] == to[column - 1];
      if (swapped) row[column] = std::min(row[column], before_last[column - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[to.size()];
}

std::optional<std::string> name_that_begins_with(std::string_view text, const std::vector<std::string>& names) {
  constexpr std::size_t kShortest = 2;
  if (text.size() < kShortest || text == "--") return std::nullopt;
  const auto found = std::ranges::find_if(names, [&](const std::string& name) { return name.starts_with(text); });
  return found == names.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view text, const std::vector<std::string>& names) {
  if (text.empty() || text.size() > kLongestName) return std::nullopt;
  const std::string* nearest = nullptr;
  std::size_t fewest = 0;
  for (const std::string& name : names) {
    if (name.size() > kLongestName) continue;
    const std::size_t edits = edits_between(text, name);
    if (edits * 3 > std::max(text.size(), name.size())) continue;
    if (nearest == nullptr || edits < fewest) {
      nearest = &name;
      fewest = edits;
    }
  }
  if (nearest != nullptr) return *nearest;
  return name_that_begins_with(text, names);
}

std::string did_you_mean(std::string_view text, const std::vector<std::string>& names) {
  const std::optional<std::string> nearest = nearest_name(text, names);
  return nearest ? "; did you mean '" + *nearest + "'?" : "";
}

}  // namespace allm::cli
