#include "providers/openai/errors.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace allm::openai_wire {
namespace {

using Reason = AdapterError::Reason;

// The account's quota or credit is exhausted; a retry does not help.
constexpr std::array<std::string_view, 5> kQuotaCodes = {
    "insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded",
    "project_spend_limit_exceeded", "organization_usage_limit_exceeded"};
constexpr std::array<std::string_view, 3> kContextMessages = {
    "maximum context length", "exceeds the available context size", "exceed_context_size"};

// Reasons by parts of types and codes, for errors without a status. The first match is used.
struct Word {
  std::string_view part;
  Reason reason;
};
constexpr std::array<Word, 17> kWords = {{
    {"rate_limit", Reason::rate_limited},
    {"quota", Reason::rate_limited},
    {"limit_exceeded", Reason::rate_limited},
    {"too_many_requests", Reason::rate_limited},
    {"timeout", Reason::timeout},
    {"authentication", Reason::authentication_failed},
    {"api_key", Reason::authentication_failed},
    {"permission", Reason::authentication_failed},
    {"overloaded", Reason::provider_unavailable},
    {"unavailable", Reason::provider_unavailable},
    {"server_error", Reason::provider_unavailable},
    {"internal", Reason::provider_unavailable},
    {"api_error", Reason::provider_unavailable},
    {"invalid", Reason::invalid_request},
    {"image", Reason::invalid_request},
    {"bad_request", Reason::invalid_request},
    {"not_found", Reason::invalid_request},
}};

bool either_contains(const ErrorReport& report, std::string_view part) {
  return contains_word(report.code, part) || contains_word(report.type, part);
}

bool is_quota(const ErrorReport& report) {
  return std::ranges::any_of(kQuotaCodes,
                             [&](std::string_view code) { return report.code == code || report.type == code; });
}

bool is_context_length(const ErrorReport& report) {
  return either_contains(report, "context_length_exceeded") || either_contains(report, "exceed_context_size") ||
         std::ranges::any_of(kContextMessages,
                             [&](std::string_view part) { return contains_word(report.message, part); });
}

// Finds a more precise reason for a refused request.
Reason refine(Reason reason, const ErrorReport& report) {
  if (either_contains(report, "content_filter")) return Reason::content_filter;
  if (is_context_length(report)) return Reason::context_length_exceeded;
  return reason;
}

Reason inband_reason(const ErrorReport& report) {
  int status = 0;
  const char* end = report.code.data() + report.code.size();
  if (std::from_chars(report.code.data(), end, status).ptr == end && status >= 400 && status < 600) {
    return reason_for_status(status);
  }
  for (const Word& word : kWords) {
    if (either_contains(report, word.part)) return word.reason;
  }
  return Reason::unknown;
}

}  // namespace

Error http_error(std::string_view provider, const HttpResponseHead& head, std::string_view body) {
  const ErrorReport report = read_error(body);
  ErrorFacts facts = facts_from_head(provider, head);
  if (facts.reason == Reason::invalid_request) facts.reason = refine(facts.reason, report);
  if (is_quota(report)) facts.retryable = false;
  return provider_error(std::move(facts), report);
}

Error inband_error(std::string_view provider, const ErrorReport& report) {
  const Reason reason = inband_reason(report);
  ErrorFacts facts{.reason = reason, .provider = provider};
  if (reason == Reason::invalid_request || reason == Reason::unknown) facts.reason = refine(reason, report);
  facts.retryable = !is_quota(report);
  if (is_quota(report)) facts.reason = Reason::rate_limited;
  return provider_error(std::move(facts), report);
}

}  // namespace allm::openai_wire
