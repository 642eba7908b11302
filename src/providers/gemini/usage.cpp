#include "providers/gemini/usage.hpp"

#include <optional>
#include <string_view>

#include "providers/provider_json.hpp"

namespace allm {
namespace {

bool has_field(std::string_view key) {
  return key == "promptTokenCount" || key == "candidatesTokenCount" || key == "responseTokenCount" ||
         key == "totalTokenCount" || key == "cachedContentTokenCount" || key == "thoughtsTokenCount";
}

}  // namespace

Usage gemini_usage(const Json& counts) {
  Usage usage;
  TokenCount answer = count_member(counts, "candidatesTokenCount");
  if (!answer) answer = count_member(counts, "responseTokenCount");
  usage.input_tokens = count_member(counts, "promptTokenCount");
  usage.cached_input_tokens = count_member(counts, "cachedContentTokenCount");
  usage.reasoning_tokens = count_member(counts, "thoughtsTokenCount");
  usage.output_tokens = sum_of_counts(answer, usage.reasoning_tokens);
  usage.total_tokens = count_member(counts, "totalTokenCount");
  if (!counts.is_object()) return usage;
  for (const auto& [name, value] : counts.items()) {
    if (usage.extra.size() == kMaxUsageMembers) break;
    if (!has_field(name) && !value.is_null()) usage.extra[name] = value;
  }
  return usage;
}

}  // namespace allm
