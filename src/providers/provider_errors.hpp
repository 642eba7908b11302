// What all providers' errors have in common: statuses, waits, ids, the shapes of error bodies, and how they become an
// Error without secrets in it. Pure functions; any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "allm/error.hpp"
#include "allm/json.hpp"

#include "http/exchange.hpp"

namespace allm {

// What the status alone says. Below 400: `unknown`.
AdapterError::Reason reason_for_status(int status);

// How long the provider asks to wait: `retry-after-ms`, else `retry-after` as seconds (with or without a fraction) or
// as an HTTP date, seen from `now`. Rounded up; a date in the past is 0. Nothing if absent, negative or garbled.
std::optional<std::int64_t> retry_after_ms(const HttpHeaders& headers, std::chrono::system_clock::time_point now);
// The instant that the response's own Date header names, so that waits do not depend on this machine's clock; without
// one, this machine's.
std::chrono::system_clock::time_point response_time(const HttpHeaders& headers);
// A protobuf duration such as "31.504200731s", in milliseconds, rounded up. Nothing if it is anything else.
std::optional<std::int64_t> duration_ms(std::string_view text);

// The provider's id of the call: x-request-id, request-id, x-generation-id or mistral-correlation-id.
std::optional<std::string> provider_request_id(const HttpHeaders& headers);

// What an error body says, as it was written: not redacted yet. Everything absent is empty.
struct FailureReport {
  std::string message = {};
  std::string type = {};
  std::string code = {};    // a number in its decimal form
  std::string status = {};  // Google's name for it: RESOURCE_EXHAUSTED
  std::string param = {};
  std::string request_id = {};
  Json details = null_json();  // Google's list
  bool empty() const { return message.empty() && type.empty() && code.empty() && status.empty(); }
};
// Reads {"error": {…}}, {"error": "text"}, [{"error": …}], {"message", "type", …} and {"detail": …}; empty for
// everything else.
FailureReport read_failure(const Json& body);
FailureReport read_failure(std::string_view body);

// Whether the text holds the part, whatever the case of ASCII letters.
bool contains_word(std::string_view text, std::string_view part);

// What a provider wrote, fit for an error: redacted, valid UTF-8 and at most about 1,000 bytes.
std::string shown(std::string_view text);

struct FailureFacts {
  AdapterError::Reason reason = AdapterError::Reason::unknown;
  std::string_view provider = {};
  std::optional<int> status = std::nullopt;  // HTTP status; null for an error within a stream
  std::optional<std::int64_t> retry_after_ms = std::nullopt;
  std::optional<std::string> request_id = std::nullopt;
  // False: hopeless, although the reason is one that usually passes. Becomes `"retryable": false` in the metadata.
  bool retryable = true;
};
// The facts that the head of a response gives; `x-should-retry: false` makes it hopeless.
FailureFacts facts_from_head(std::string_view provider, const HttpResponseHead& head);

// The error. Without a message of the provider's it says "<provider> HTTP <status>". `code`, `type`, `status` and
// `param` go to the metadata, redacted.
Error provider_error(FailureFacts facts, const FailureReport& report);

// The stream gave something that is no event of its protocol. `payload` is shown redacted and cut.
Error malformed_event(std::string_view provider, std::string_view problem, std::string_view payload,
                      std::optional<std::int64_t> event_index = std::nullopt);
// What is wrong with an event beyond the limit.
std::string too_large_event(std::size_t max_bytes);
std::string too_large_body(std::size_t max_bytes);
// The body ended in the middle of the message.
Error truncated_stream(std::string_view provider);
// A whole body that is no answer of the provider's.
Error malformed_response(std::string_view provider, std::string_view problem, std::string_view payload);

}  // namespace allm
