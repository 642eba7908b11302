#include "providers/anthropic/usage.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "providers/provider_json.hpp"

namespace allm {
namespace {

constexpr std::string_view kDetails = "output_tokens_details";
constexpr std::string_view kThinking = "thinking_tokens";

bool has_field(std::string_view key) {
  return key == "input_tokens" || key == "output_tokens" || key == "cache_read_input_tokens" ||
         key == "cache_creation_input_tokens" || key == kThinking;
}

TokenCount thinking_tokens(const Json& counts) {
  const Json* details = find_member(counts, kDetails);
  const TokenCount count = details == nullptr ? std::nullopt : count_member(*details, kThinking);
  return count ? count : count_member(counts, kThinking);
}

// The details that have no member in Usage.
void add_details(Json details, Json& extra) {
  details.erase(std::string(kThinking));
  if (!details.empty()) extra[std::string(kDetails)] = std::move(details);
}

}  // namespace

void merge_anthropic_usage(Json& counts, const Json& newer) {
  if (!newer.is_object()) return;
  for (const auto& [name, value] : newer.items()) {
    // Each is looked for among those before.
    const bool fits = counts.size() < kMaxUsageMembers || counts.contains(name);
    if (!value.is_null() && fits) counts[name] = value;
  }
}

Usage anthropic_usage(const Json& counts) {
  Usage usage;
  const TokenCount uncached = count_member(counts, "input_tokens");
  usage.cached_input_tokens = count_member(counts, "cache_read_input_tokens");
  usage.cache_write_input_tokens = count_member(counts, "cache_creation_input_tokens");
  usage.input_tokens = uncached;
  if (uncached) {
    usage.input_tokens =
        sum_of_counts(sum_of_counts(uncached, usage.cached_input_tokens), usage.cache_write_input_tokens);
    if (usage.cached_input_tokens || usage.cache_write_input_tokens) usage.extra["uncached_input_tokens"] = *uncached;
  }
  usage.output_tokens = count_member(counts, "output_tokens");
  usage.reasoning_tokens = thinking_tokens(counts);
  if (usage.input_tokens && usage.output_tokens)
    usage.total_tokens = sum_of_counts(usage.input_tokens, usage.output_tokens);

  if (!counts.is_object()) return usage;
  for (const auto& [name, value] : counts.items()) {
    if (has_field(name)) continue;
    if (name == "server_tool_use" && value.is_object()) {
      usage.tool_usage = value;
    } else if (name == "cache_creation" && value.is_object()) {
      // At the top level of `extra`, so that they are summed over steps.
      if (value.size() < kMaxUsageMembers) usage.extra.update(value);
    } else if (name == kDetails && value.is_object()) {
      add_details(value, usage.extra);
    } else {
      usage.extra[name] = value;
    }
  }
  return usage;
}

}  // namespace allm
