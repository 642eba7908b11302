#include "engine/costs.hpp"

#include "engine/engine_impl.hpp"

namespace allm {

const ModelRef* known_model(const Run& run, const std::optional<ModelRef>& model) {
  const auto& catalogue = run.engine.impl().options.catalogue;
  return catalogue && model ? catalogue->find(*model) : nullptr;
}

void fill_costs(const ModelRef& model, Usage& usage) {
  if (!model.pricing.is_object()) return;
  const auto cost = [&model](const char* kind, const std::optional<std::int64_t>& tokens) -> std::optional<double> {
    const auto price = model.pricing.find(kind);
    if (price == model.pricing.end() || !price->is_number() || !tokens) return std::nullopt;
    return price->get<double>() * static_cast<double>(*tokens) / 1e6;
  };
  if (!usage.input_cost) usage.input_cost = cost("input", usage.input_tokens);
  if (!usage.output_cost) usage.output_cost = cost("output", usage.output_tokens);
  if (!usage.total_cost && usage.input_cost && usage.output_cost) {
    usage.total_cost = *usage.input_cost + *usage.output_cost;
  }
}

}  // namespace allm
