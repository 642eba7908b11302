#include "providers/gemini/usage.hpp"

#include <limits>
#include <optional>
#include <string_view>

#include "providers/provider_json.hpp"

namespace allm {
namespace {

using Count = std::optional<std::int64_t>;

Count count(const Json& counts, std::string_view key) {
  const Count value = integer_member(counts, key);
  return value && *value >= 0 ? value : std::nullopt;
}

// Absent counts add nothing; what cannot be added is left out.
Count sum(Count a, Count b) {
  if (!a || !b) return a ? a : b;
  return *a > std::numeric_limits<std::int64_t>::max() - *b ? a : Count(*a + *b);
}

bool has_field(std::string_view key) {
  return key == "promptTokenCount" || key == "candidatesTokenCount" || key == "responseTokenCount" ||
         key == "totalTokenCount" || key == "cachedContentTokenCount" || key == "thoughtsTokenCount";
}

}  // namespace

Usage gemini_usage(const Json& counts) {
  Usage usage;
  Count answer = count(counts, "candidatesTokenCount");
  if (!answer) answer = count(counts, "responseTokenCount");
  usage.input_tokens = count(counts, "promptTokenCount");
  usage.cached_input_tokens = count(counts, "cachedContentTokenCount");
  usage.reasoning_tokens = count(counts, "thoughtsTokenCount");
  usage.output_tokens = sum(answer, usage.reasoning_tokens);
  usage.total_tokens = count(counts, "totalTokenCount");
  if (!counts.is_object()) return usage;
  for (const auto& [name, value] : counts.items()) {
    if (!has_field(name) && !value.is_null()) usage.extra[name] = value;
  }
  return usage;
}

}  // namespace allm
