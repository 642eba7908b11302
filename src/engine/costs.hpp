// What the catalogue knows of a model, and what a call of it cost.
#pragma once

#include <optional>

#include "allm/response.hpp"

#include "engine/run.hpp"

namespace allm {

// The catalogue's entry of the model, or null.
const ModelRef* known_model(const Run& run, const std::optional<ModelRef>& model);

// Fills in the costs that the model's prices give, where the provider did not report them. Tokens that were read from
// or written to the provider's cache have prices of their own, or else that of all input.
void fill_costs(const ModelRef& model, Usage& usage);

}  // namespace allm
