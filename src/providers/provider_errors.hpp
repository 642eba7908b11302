// Common parts of all providers' errors: statuses, retry delays, ids and the forms of error bodies. Secrets are
// redacted. Pure functions; safe to call from any thread.
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

// The reason that follows from the HTTP status alone. `unknown` below 400.
AdapterError::Reason reason_for_status(int status);

// The delay that the provider asks for: `retry-after-ms`, else `retry-after` in seconds (with or without a fraction) or
// as an HTTP date relative to `now`. Rounded up; a date in the past gives 0. nullopt if absent, negative or malformed.
std::optional<std::int64_t> retry_after_ms(const HttpHeaders& headers, std::chrono::system_clock::time_point now);
// The time in the response's Date header, so that delays do not depend on this machine's clock; without that header,
// this machine's time.
std::chrono::system_clock::time_point response_time(const HttpHeaders& headers);
// A protobuf duration such as "31.504200731s", in milliseconds, rounded up. nullopt for anything else.
std::optional<std::int64_t> duration_ms(std::string_view text);

// The provider's id of the call: x-request-id, request-id, x-generation-id or mistral-correlation-id.
std::optional<std::string> provider_request_id(const HttpHeaders& headers);

// The members of an error body, not redacted yet. Absent members are empty.
struct ErrorReport {
  std::string message = {};
  std::string type = {};
  std::string code = {};    // a number in its decimal form
  std::string status = {};  // Google's name of the error: RESOURCE_EXHAUSTED
  std::string param = {};
  std::string request_id = {};
  Json details = null_json();  // Google's list
  std::string unread = {};     // what the body is, if none of the above was found in it: "HTML instead of JSON: <html>"
  bool empty() const { return message.empty() && type.empty() && code.empty() && status.empty(); }
};
// Reads {"error": {…}}, {"error": "text"}, [{"error": …}], {"message", "type", …} and {"detail": …}; empty for
// everything else. If a body has several of them, their texts are joined.
ErrorReport read_error(const Json& body);
ErrorReport read_error(std::string_view body);

// Whether the text contains the part. ASCII letters are compared without regard to case.
bool contains_word(std::string_view text, std::string_view part);

// A provider's text in a form that is safe for an error: redacted, valid UTF-8 and at most about `max_bytes`.
std::string shown(std::string_view text, std::size_t max_bytes = 1000);
// Whether a body that cannot be read as JSON was never meant to be JSON: it is not blank and does not begin as an
// object or array does.
bool is_plain_text(std::string_view body);
// Says what a body is that cannot be read as JSON: "HTML instead of JSON: ", "text instead of JSON: " or "invalid JSON:
// " and its first line, with the title of a page. Redacted and short. "" for a blank body.
std::string describe_text(std::string_view body);

struct ErrorFacts {
  AdapterError::Reason reason = AdapterError::Reason::unknown;
  std::string_view provider = {};
  std::optional<int> status = std::nullopt;  // HTTP status; null for an error within a stream
  std::optional<std::int64_t> retry_after_ms = std::nullopt;
  std::optional<std::string> request_id = std::nullopt;
  // False if a retry cannot help, although errors with this reason are usually transient. Becomes `"retryable": false`
  // in the metadata.
  bool retryable = true;
};
// The facts in the head of a response; `x-should-retry: false` makes the error not retryable.
ErrorFacts facts_from_head(std::string_view provider, const HttpResponseHead& head);

// Makes the error. Its message is the provider's, or "<provider> HTTP <status>" and what the body is if there is none.
// `code`, `type`, `status` and `param` go into the metadata, redacted.
Error provider_error(ErrorFacts facts, const ErrorReport& report);
// The error with further members in its metadata. Members that it has already are kept.
Error with_metadata(const Error& error, const Json& members);

// The error of a stream that sent something that is not an event of its protocol. `payload` is redacted and truncated.
Error malformed_event(std::string_view provider, std::string_view message, std::string_view payload,
                      std::optional<std::int64_t> event_index = std::nullopt);
// Error messages for an event and for a body that exceed their limit.
std::string too_large_event(std::size_t max_bytes);
std::string too_large_body(std::size_t max_bytes);
// The error of a body that ended in the middle of the message.
Error truncated_stream(std::string_view provider);
// The error of a whole body that is not a response of the provider.
Error malformed_response(std::string_view provider, std::string_view message, std::string_view payload);
// The same for a body that is not JSON.
Error text_response(std::string_view provider, std::string_view text);

}  // namespace allm
