// The most that one model call can use. docs/run-control.md describes the rules. Pure; safe to call from any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "allm/adapter.hpp"
#include "allm/budget.hpp"
#include "allm/response.hpp"

namespace allm {

struct WorstCase {
  std::optional<std::int64_t> input_tokens;
  std::optional<std::int64_t> output_tokens;
  std::optional<double> input_price;  // per million tokens: the highest price of input
  std::optional<double> output_price;
  bool can_shrink = true;  // whether max_tokens of the request limits the output

  Spend spend() const;
  // The most output tokens that fit into what is left; nullopt if not even the input fits.
  std::optional<std::int64_t> output_that_fits(const BudgetRefusal& refusal) const;
};

// `known` is the catalogue's entry of the model, or null.
WorstCase worst_case(const AdapterCall& call, const ModelRef* known);

// What a call has used, as its provider reported it.
Spend spend_of(const std::optional<Usage>& usage);

}  // namespace allm
