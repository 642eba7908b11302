#include "providers/anthropic/usage.hpp"

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
  return key == "input_tokens" || key == "output_tokens" || key == "cache_read_input_tokens" ||
         key == "cache_creation_input_tokens";
}

}  // namespace

void merge_anthropic_usage(Json& counts, const Json& newer) {
  if (!newer.is_object()) return;
  for (const auto& [name, value] : newer.items()) {
    if (!value.is_null()) counts[name] = value;
  }
}

Usage anthropic_usage(const Json& counts) {
  Usage usage;
  const Count uncached = count(counts, "input_tokens");
  usage.cached_input_tokens = count(counts, "cache_read_input_tokens");
  usage.cache_write_input_tokens = count(counts, "cache_creation_input_tokens");
  usage.input_tokens = uncached;
  if (uncached) {
    usage.input_tokens = sum(sum(uncached, usage.cached_input_tokens), usage.cache_write_input_tokens);
    if (usage.cached_input_tokens || usage.cache_write_input_tokens) usage.extra["uncached_input_tokens"] = *uncached;
  }
  usage.output_tokens = count(counts, "output_tokens");
  if (usage.input_tokens && usage.output_tokens) usage.total_tokens = sum(usage.input_tokens, usage.output_tokens);

  if (!counts.is_object()) return usage;
  for (const auto& [name, value] : counts.items()) {
    if (has_field(name)) continue;
    if (name == "server_tool_use" && value.is_object()) {
      usage.tool_usage = value;
    } else if (name == "cache_creation" && value.is_object()) {
      // Side by side with the others, so that they are added up over steps.
      usage.extra.update(value);
    } else {
      usage.extra[name] = value;
    }
  }
  return usage;
}

}  // namespace allm
