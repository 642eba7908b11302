#include "providers/gemini/errors.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "providers/gemini/gemini.hpp"
#include "providers/provider_errors.hpp"
#include "providers/provider_json.hpp"

namespace allm {
namespace {

// The HTTP status of each of Google's status names.
constexpr std::array<std::pair<std::string_view, int>, 10> kStatuses = {{
    {"INVALID_ARGUMENT", 400},
    {"FAILED_PRECONDITION", 400},
    {"OUT_OF_RANGE", 400},
    {"UNAUTHENTICATED", 401},
    {"PERMISSION_DENIED", 403},
    {"NOT_FOUND", 404},
    {"RESOURCE_EXHAUSTED", 429},
    {"INTERNAL", 500},
    {"UNAVAILABLE", 503},
    {"DEADLINE_EXCEEDED", 504},
}};

constexpr std::array<std::string_view, 2> kContextMarkers = {"exceeds the maximum number of tokens",
                                                             "input token count"};

// Whether the exhausted quota is a daily one.
bool names_daily_quota(const Json& detail) {
  const Json* violations = find_member(detail, "violations");
  return violations != nullptr && violations->is_array() && std::ranges::any_of(*violations, [](const Json& violation) {
           return contains_word(text_member(violation, "quotaId"), "PerDay");
         });
}

void read_details(ErrorFacts& facts, const Json& details) {
  if (!details.is_array()) return;
  for (const Json& detail : details) {
    const std::string_view type = text_member(detail, "@type");
    if (text_member(detail, "reason") == "API_KEY_INVALID") facts.reason = AdapterError::Reason::authentication_failed;
    if (type.ends_with("google.rpc.RetryInfo") && !facts.retry_after_ms) {
      facts.retry_after_ms = duration_ms(text_member(detail, "retryDelay"));
    }
    if (type.ends_with("google.rpc.QuotaFailure") && names_daily_quota(detail)) facts.retryable = false;
  }
}

void refine(ErrorFacts& facts, const ErrorReport& report) {
  const bool context = std::ranges::any_of(
      kContextMarkers, [&](std::string_view marker) { return contains_word(report.message, marker); });
  if (facts.reason == AdapterError::Reason::invalid_request && context) {
    facts.reason = AdapterError::Reason::context_length_exceeded;
  }
  read_details(facts, report.details);
}

}  // namespace

Error gemini_error(const HttpResponseHead& head, std::string_view body) {
  ErrorFacts facts = facts_from_head(kGemini, head);
  const ErrorReport report = read_error(body);
  refine(facts, report);
  return provider_error(std::move(facts), report);
}

Error gemini_event_error(const Json& chunk) {
  const ErrorReport report = read_error(chunk);
  ErrorFacts facts{.provider = kGemini};
  const auto named = std::ranges::find(kStatuses, report.status, &std::pair<std::string_view, int>::first);
  if (named != kStatuses.end()) {
    facts.reason = reason_for_status(named->second);
  } else if (const Json* error = find_member(chunk, "error")) {
    const std::int64_t code = integer_member(*error, "code").value_or(0);
    facts.reason = reason_for_status(code >= 400 && code < 600 ? static_cast<int>(code) : 0);
  }
  refine(facts, report);
  return provider_error(std::move(facts), report);
}

}  // namespace allm
