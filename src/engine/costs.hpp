// Looks up models in the catalogue and calculates the cost of model calls from their prices.
#pragma once

#include <optional>

#include "allm/response.hpp"

#include "engine/run.hpp"

namespace allm {

// The catalogue's entry of the model, or null.
const ModelRef* known_model(const Run& run, const std::optional<ModelRef>& model);

// Calculates from the model's prices the costs that the provider did not report. Tokens that were read from or written
// to the provider's cache have their own prices; without them, the price of input applies.
void fill_costs(const ModelRef& model, Usage& usage);

}  // namespace allm
