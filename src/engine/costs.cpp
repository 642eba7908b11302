#include "engine/costs.hpp"

#include <algorithm>
#include <cstdint>

#include "engine/engine_impl.hpp"

namespace allm {
namespace {

std::optional<double> price_of(const Json& pricing, const char* kind) {
  const auto price = pricing.find(kind);
  if (price == pricing.end() || !price->is_number()) return std::nullopt;
  return price->get<double>();
}

// Anthropic charges more for tokens that its cache keeps for an hour, and reports how many of the written tokens these
// are.
std::int64_t hour_long_writes(const Usage& usage) {
  if (!usage.extra.is_object()) return 0;
  const auto count = usage.extra.find("ephemeral_1h_input_tokens");
  return count != usage.extra.end() && count->is_number_integer() ? count->get<std::int64_t>() : 0;
}

// Every codec reports input tokens so that they include those read from and written to the cache.
std::optional<double> input_cost(const Json& pricing, const Usage& usage) {
  const std::optional<double> plain = price_of(pricing, "input");
  if (!plain || !usage.input_tokens) return std::nullopt;
  std::int64_t rest = *usage.input_tokens;
  double sum = 0;
  const auto take = [&](const char* kind, std::int64_t tokens) -> std::int64_t {
    const std::optional<double> price = price_of(pricing, kind);
    if (!price) return 0;
    tokens = std::clamp(tokens, std::int64_t{0}, std::max(rest, std::int64_t{0}));
    rest -= tokens;
    sum += *price * static_cast<double>(tokens);
    return tokens;
  };
  take("cached_input", usage.cached_input_tokens.value_or(0));
  const std::int64_t written = std::max(usage.cache_write_input_tokens.value_or(0), std::int64_t{0});
  const std::int64_t for_an_hour = take("cache_write_1h", std::min(hour_long_writes(usage), written));
  take("cache_write", written - for_an_hour);
  return (sum + *plain * static_cast<double>(rest)) / 1e6;
}

std::optional<double> output_cost(const Json& pricing, const Usage& usage) {
  const std::optional<double> price = price_of(pricing, "output");
  if (!price || !usage.output_tokens) return std::nullopt;
  return *price * static_cast<double>(*usage.output_tokens) / 1e6;
}

}  // namespace

const ModelRef* known_model(const Run& run, const std::optional<ModelRef>& model) {
  const auto& catalogue = EngineAccess::impl(run.engine).options.catalogue;
  return catalogue && model ? catalogue->find(*model) : nullptr;
}

void fill_costs(const ModelRef& model, Usage& usage) {
  if (!model.pricing.is_object()) return;
  if (!usage.input_cost) usage.input_cost = input_cost(model.pricing, usage);
  if (!usage.output_cost) usage.output_cost = output_cost(model.pricing, usage);
  if (!usage.total_cost && usage.input_cost && usage.output_cost) {
    usage.total_cost = *usage.input_cost + *usage.output_cost;
  }
}

}  // namespace allm
