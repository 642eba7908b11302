#include "providers/anthropic/errors.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "providers/anthropic/anthropic.hpp"
#include "providers/provider_errors.hpp"

namespace allm {
namespace {

// The HTTP status that corresponds to each type of error.
constexpr std::array<std::pair<std::string_view, int>, 11> kStatuses = {{
    {"invalid_request_error", 400},
    {"authentication_error", 401},
    {"billing_error", 402},
    {"permission_error", 403},
    {"not_found_error", 404},
    {"conflict_error", 409},
    {"request_too_large", 413},
    {"rate_limit_error", 429},
    {"api_error", 500},
    {"timeout_error", 504},
    {"overloaded_error", 529},
}};

constexpr std::array<std::string_view, 3> kContextMarkers = {"prompt is too long", "context window", "context length"};

void refine(ErrorFacts& facts, const ErrorReport& report) {
  if (facts.reason != AdapterError::Reason::invalid_request) return;
  const bool context = std::ranges::any_of(
      kContextMarkers, [&](std::string_view marker) { return contains_word(report.message, marker); });
  if (context) facts.reason = AdapterError::Reason::context_length_exceeded;
}

}  // namespace

Error anthropic_error(const HttpResponseHead& head, std::string_view body) {
  ErrorFacts facts = facts_from_head(kAnthropic, head);
  const ErrorReport report = read_error(body);
  refine(facts, report);
  return provider_error(std::move(facts), report);
}

Error anthropic_event_error(const HttpResponseHead& head, const Json& chunk) {
  const ErrorReport report = read_error(chunk);
  ErrorFacts facts{.provider = kAnthropic, .request_id = provider_request_id(head.headers)};
  const auto status = std::ranges::find(kStatuses, report.type, &std::pair<std::string_view, int>::first);
  if (status != kStatuses.end()) {
    facts.reason = reason_for_status(status->second);
    facts.retryable = status->second != 402;
  }
  refine(facts, report);
  return provider_error(std::move(facts), report);
}

}  // namespace allm
