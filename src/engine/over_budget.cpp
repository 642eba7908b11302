#include "engine/over_budget.hpp"

#include <string>
#include <utility>

namespace allm {
namespace {

using What = BudgetRefusal::What;

const char* option_of(What what) { return what == What::tokens ? "max_total_tokens" : "max_cost"; }

Json amount(What what, std::int64_t value) { return what == What::tokens ? Json(value) : Json(nanos_to_cost(value)); }

Error unknown_worst_case(const BudgetRefusal& refusal, const std::optional<ModelRef>& model) {
  const std::string option = refusal.of_run ? option_of(refusal.what) : "budget";
  const std::string name = model ? "the model '" + model->id + "'" : "the model";
  const std::string lacks =
      refusal.what == What::tokens
          ? "set max_tokens, or a catalogue with limits.output_tokens of the model (and limits.context_tokens, if "
            "documents or audio are sent)"
          : "set EngineOptions::catalogue with the model's prices, and max_tokens or limits.output_tokens (and "
            "limits.context_tokens, if documents or audio are sent)";
  return validation_error(ValidationError::Reason::invalid_option, {option}, "unknown_worst_case",
                          "invalid option: " + option + " cannot be kept, because it is not known how much a call of " +
                              name + (refusal.what == What::tokens ? " can use: " : " can cost: ") + lacks);
}

}  // namespace

Error over_budget_error(const BudgetRefusal& refusal, const std::optional<ModelRef>& model) {
  if (!refusal.needed) return unknown_worst_case(refusal, model);
  const Json limit = amount(refusal.what, refusal.limit);
  const Json needed = amount(refusal.what, *refusal.needed);
  const std::string whose = refusal.of_run ? std::string(option_of(refusal.what)) : "the budget";
  return Error(EngineError{.reason = EngineError::Reason::over_budget},
               "a model call was not sent: it may need " + needed.dump() +
                   (refusal.what == What::tokens ? " tokens, and " : ", and ") + whose + " of " + limit.dump() +
                   " has only " + amount(refusal.what, refusal.left).dump() + " left",
               {{"limit", option_of(refusal.what)}, {"value", limit}, {"needed", needed}, {"budget", !refusal.of_run}});
}

std::optional<ended::Limit> limit_of(const Error& error) {
  if (!error.is<EngineError>(EngineError::Reason::over_budget)) return std::nullopt;
  const Json& facts = error.metadata();
  if (!facts.is_object()) return std::nullopt;
  const Json value = facts.value("value", Json());
  const Json needed = facts.value("needed", Json());
  if (!value.is_number() || !needed.is_number()) return std::nullopt;
  ended::Limit limit{.budget = facts.value("budget", Json()) == true};
  if (facts.value("limit", Json()) == option_of(What::tokens)) {
    limit.which = ended::Limit::Which::max_total_tokens;
    limit.value = value.get<std::int64_t>();
    limit.needed = needed.get<std::int64_t>();
  } else {
    limit.which = ended::Limit::Which::max_cost;
    limit.value = value.get<double>();
    limit.needed = needed.get<double>();
  }
  return limit;
}

bool is_unpaid(const Error& error) {
  const auto* adapter = error.get_if<AdapterError>();
  if (adapter == nullptr) return error.get_if<EngineError>() != nullptr || error.get_if<ValidationError>() != nullptr;
  switch (adapter->reason) {
    case AdapterError::Reason::rate_limited:
    case AdapterError::Reason::authentication_failed:
    case AdapterError::Reason::invalid_request:
    case AdapterError::Reason::context_length_exceeded:
    case AdapterError::Reason::unsupported_feature:
    case AdapterError::Reason::no_scripted_response:
      return true;
    case AdapterError::Reason::provider_unavailable:
    case AdapterError::Reason::content_filter:
    case AdapterError::Reason::timeout:
    case AdapterError::Reason::network_error:
    case AdapterError::Reason::malformed_response:
    case AdapterError::Reason::unknown:
      break;
  }
  return false;
}

}  // namespace allm
