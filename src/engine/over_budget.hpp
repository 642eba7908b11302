// What a run does with the refusal of a budget. Pure functions; safe to call from any thread.
#pragma once

#include <optional>

#include "allm/budget.hpp"
#include "allm/end.hpp"
#include "allm/error.hpp"
#include "allm/model.hpp"

namespace allm {

// The error of a model call that was not sent: EngineError `over_budget`, or ValidationError `invalid_option` if its
// worst case is not known.
Error over_budget_error(const BudgetRefusal& refusal, const std::optional<ModelRef>& model);

// The limit that an `over_budget` error stands for; nullopt for other errors.
std::optional<ended::Limit> limit_of(const Error& error);

// Whether a failed attempt costs nothing: the provider, or allm before it, refused the request. Any other attempt may
// have been paid.
bool is_unpaid(const Error& error);

}  // namespace allm
