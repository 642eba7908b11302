#include "providers/openai/usage.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

#include "providers/provider_json.hpp"

namespace allm::openai_wire {
namespace {

// Moves a count out of the object, so that only counts without a member in Usage remain.
void take(Json& from, const char* key, std::optional<std::int64_t>& counter) {
  const std::optional<std::int64_t> value = integer_member(from, key);
  if (value && *value >= 0 && !counter) counter = value;
  if (from.is_object() && (value || find_member(from, key) == nullptr)) from.erase(key);
}

void take_details(Json& from, const char* key, auto&& take_counters) {
  const auto details = from.find(key);
  if (details == from.end()) return;
  if (details->is_object()) take_counters(*details);
  if (details->empty()) from.erase(key);
}

// Some servers (xAI) do not count reasoning as output, only in the total. Usage::output_tokens includes it.
void include_reasoning(Usage& usage) {
  if (!usage.input_tokens || !usage.output_tokens || !usage.total_tokens || usage.reasoning_tokens.value_or(0) == 0)
    return;
  const std::int64_t rest = *usage.total_tokens - *usage.reasoning_tokens;
  if (rest - *usage.input_tokens == *usage.output_tokens) *usage.output_tokens += *usage.reasoning_tokens;
}

// Gateways in front of Anthropic's models use the second name.
void take_reasoning(Json& details, std::optional<std::int64_t>& counter) {
  take(details, "reasoning_tokens", counter);
  if (!counter) take(details, "thinking_tokens", counter);
}

struct Names {
  const char* input;
  const char* output;
  const char* input_details;
  const char* output_details;
};

Usage read(const Json& wire, const Names& names) {
  Usage usage;
  if (!wire.is_object()) return usage;
  Json rest = wire;
  take(rest, names.input, usage.input_tokens);
  take(rest, names.output, usage.output_tokens);
  take(rest, "total_tokens", usage.total_tokens);
  take_details(rest, names.input_details, [&](Json& details) {
    take(details, "cached_tokens", usage.cached_input_tokens);
    take(details, "cache_write_tokens", usage.cache_write_input_tokens);
  });
  take_details(rest, names.output_details, [&](Json& details) { take_reasoning(details, usage.reasoning_tokens); });
  // DeepSeek's name of the count.
  if (!usage.cached_input_tokens) take(rest, "prompt_cache_hit_tokens", usage.cached_input_tokens);
  include_reasoning(usage);
  if (rest.size() <= kMaxUsageMembers) usage.extra = std::move(rest);
  return usage;
}

}  // namespace

Usage chat_usage(const Json& usage) {
  return read(usage, {"prompt_tokens", "completion_tokens", "prompt_tokens_details", "completion_tokens_details"});
}

Usage responses_usage(const Json& usage) {
  return read(usage, {"input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details"});
}

}  // namespace allm::openai_wire
