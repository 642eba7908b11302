#include "providers/provider_errors.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "data/ascii.hpp"
#include "data/utf8_repair.hpp"
#include "providers/provider_json.hpp"
#include "providers/redact.hpp"

namespace allm {
namespace {

constexpr std::size_t kMaxLine = 200;
constexpr std::array<std::string_view, 4> kRequestIdHeaders = {"x-request-id", "request-id", "x-generation-id",
                                                               "mistral-correlation-id"};

std::string as_text(const Json* value) {
  if (value == nullptr) return {};
  if (value->is_string()) return value->get<std::string>();
  if (value->is_number_integer()) return value->dump();
  return {};
}

// {"detail": "text"}, {"detail": {…}} or {"detail": [{"loc": […], "msg": "text"}]}.
std::string detail_text(const Json& detail) {
  if (detail.is_string()) return detail.get<std::string>();
  if (detail.is_object()) return as_text(find_member(detail, "message"));
  std::string joined;
  if (!detail.is_array()) return joined;
  for (const Json& entry : detail) {
    const std::string_view message = text_member(entry, "msg");
    if (message.empty()) continue;
    if (!joined.empty()) joined += "; ";
    joined += message;
  }
  return joined;
}

// Both texts, unless one of them contains the other.
std::string joined(std::string first, const std::string& second) {
  // The search is quadratic, and an error in a stream can be as long as an event.
  constexpr std::size_t kMaxSearched = 4096;
  const bool is_searched = first.size() <= kMaxSearched && second.size() <= kMaxSearched;
  if (second.empty() || (is_searched && contains_word(first, second))) return first;
  if (first.empty() || (is_searched && contains_word(second, first))) return second;
  return std::move(first) + ": " + second;
}

void read_object(const Json& error, ErrorReport& report) {
  report.message = as_text(find_member(error, "message"));
  report.type = as_text(find_member(error, "type"));
  report.code = as_text(find_member(error, "code"));
  report.status = as_text(find_member(error, "status"));
  report.param = as_text(find_member(error, "param"));
  if (const Json* details = find_member(error, "details")) report.details = *details;
  if (report.type.empty()) {
    if (const Json* metadata = find_member(error, "metadata")) report.type = text_member(*metadata, "error_type");
  }
  if (report.message.empty()) {
    if (const Json* message = find_member(error, "message")) report.message = detail_text(*message);
  }
}

std::string_view first_line(std::string_view text) {
  text = trimmed(text);
  return trimmed(text.substr(0, text.find_first_of("\r\n")));
}

// The title of an HTML page, or "".
std::string_view title_of(std::string_view page) {
  const auto after = [&page](std::string_view part) {
    const auto found = std::ranges::search(page, part, {}, to_lower, to_lower);
    return found.empty() ? std::string_view() : page.substr(static_cast<std::size_t>(found.end() - page.begin()));
  };
  std::string_view title = after("<title");
  title.remove_prefix(std::min(title.find('>'), title.size()));
  if (title.empty()) return title;
  return trimmed(title.substr(1, title.find('<', 1) - 1));
}

bool is_html(std::string_view text) {
  constexpr std::size_t kBeginning = 1000;
  const std::string_view beginning = trimmed(text).substr(0, kBeginning);
  return beginning.starts_with('<') &&
         (contains_word(beginning, "<html") || contains_word(beginning, "<!doctype html") ||
          contains_word(beginning, "<body") || contains_word(beginning, "<title"));
}

void note(Json& metadata, const char* name, std::string_view text) {
  if (!text.empty()) metadata[name] = shown(text);
}

std::string with_payload(std::string_view text, std::string_view payload) {
  std::string message(text);
  if (!payload.empty()) message += ": " + shown(payload);
  return message;
}

}  // namespace

AdapterError::Reason reason_for_status(int status) {
  using enum AdapterError::Reason;
  switch (status) {
    case 400:
    case 404:
    case 413:
    case 422:
      return invalid_request;
    case 401:
    case 403:
      return authentication_failed;
    case 408:
      return timeout;
    case 429:
      return rate_limited;
    case 500:
    case 502:
    case 503:
    case 504:
    case 529:
      return provider_unavailable;
    default:
      return unknown;
  }
}

std::optional<std::string> provider_request_id(const HttpHeaders& headers) {
  for (const std::string_view name : kRequestIdHeaders) {
    const std::string* value = find_header(headers, name);
    if (value != nullptr && !value->empty()) return shown(*value);
  }
  return std::nullopt;
}

ErrorReport read_error(const Json& body) {
  ErrorReport report;
  if (body.is_array()) return body.size() == 1 && body.front().is_object() ? read_error(body.front()) : report;
  if (!body.is_object()) return report;
  if (const Json* error = find_member(body, "error")) {
    if (error->is_object()) {
      read_object(*error, report);
    } else {
      report.message = as_text(error);
      report.type = text_member(body, "type");
      report.code = as_text(find_member(body, "code"));
    }
    report.message = joined(std::move(report.message), as_text(find_member(body, "message")));
  } else if (const Json* detail = find_member(body, "detail")) {
    report.message = detail_text(*detail);
  } else if (find_member(body, "message") != nullptr) {
    read_object(body, report);
  }
  report.request_id = text_member(body, "request_id");
  return report;
}

ErrorReport read_error(std::string_view body) {
  const std::optional<Json> value = parse_provider_json(body);
  ErrorReport report = value ? read_error(*value) : ErrorReport{};
  if (report.empty()) report.unread = value ? shown(first_line(body), kMaxLine) : describe_text(body);
  return report;
}

bool contains_word(std::string_view text, std::string_view part) {
  return !std::ranges::search(text, part, {}, to_lower, to_lower).empty();
}

std::string shown(std::string_view text, std::size_t max_bytes) {
  std::string result = repair_utf8(redact(text));
  if (result.size() <= max_bytes) return result;
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(result[end]) & 0xC0U) == 0x80U) --end;
  result.resize(end);
  return result + "…";
}

bool is_plain_text(std::string_view body) {
  const std::string_view line = first_line(body);
  return !line.empty() && line.front() != '{' && line.front() != '[';
}

std::string describe_text(std::string_view body) {
  const std::string_view line = first_line(body);
  if (line.empty()) return {};
  if (!is_plain_text(body)) return "invalid JSON: " + shown(line, kMaxLine);
  if (!is_html(body)) return "text instead of JSON: " + shown(line, kMaxLine);
  const std::string_view title = title_of(body);
  std::string description = "HTML instead of JSON: " + shown(line, kMaxLine);
  if (!title.empty() && !contains_word(line, title)) description += " (" + shown(title, kMaxLine) + ")";
  return description;
}

ErrorFacts facts_from_head(std::string_view provider, const HttpResponseHead& head) {
  const std::string* should_retry = find_header(head.headers, "x-should-retry");
  return {.reason = reason_for_status(head.status),
          .provider = provider,
          .status = head.status,
          .retry_after_ms = retry_after_ms(head.headers, response_time(head.headers)),
          .request_id = provider_request_id(head.headers),
          .retryable = head.status != 402 && (should_retry == nullptr || *should_retry != "false")};
}

Error provider_error(ErrorFacts facts, const ErrorReport& report) {
  std::string message = shown(report.message);
  if (message.empty() && facts.status) {
    message = std::string(facts.provider) + " HTTP " + std::to_string(*facts.status);
    if (!report.unread.empty()) message += ": the server sent " + report.unread;
  }
  Json metadata = Json::object();
  note(metadata, "code", report.code);
  note(metadata, "type", report.type);
  note(metadata, "status", report.status);
  note(metadata, "param", report.param);
  if (!facts.retryable) metadata["retryable"] = false;
  if (!facts.request_id && !report.request_id.empty()) facts.request_id = shown(report.request_id);
  return Error(AdapterError{.reason = facts.reason,
                            .provider = std::string(facts.provider),
                            .status = facts.status,
                            .retry_after_ms = facts.retry_after_ms,
                            .request_id = std::move(facts.request_id)},
               std::move(message), std::move(metadata));
}

Error with_metadata(const Error& error, const Json& members) {
  Json metadata = error.metadata();
  for (const auto& [name, value] : members.items()) {
    if (!metadata.contains(name)) metadata[name] = value;
  }
  return std::visit(
      [&](const auto& detail) { return Error(detail, error.message(), std::move(metadata), error.reported_cause()); },
      error.detail());
}

Error malformed_event(std::string_view provider, std::string_view message, std::string_view payload,
                      std::optional<std::int64_t> event_index) {
  return Error(StreamError{.reason = StreamError::Reason::malformed_event,
                           .provider = std::string(provider),
                           .event_index = event_index},
               with_payload(message, payload));
}

std::string too_large_body(std::size_t max_bytes) {
  return "it has more than the " + std::to_string(max_bytes) + " bytes of max_body_bytes";
}

std::string too_large_event(std::size_t max_bytes) {
  return "an event has more than " + std::to_string(max_bytes) + " bytes; it was not read";
}

Error truncated_stream(std::string_view provider) {
  return Error(AdapterError{.reason = AdapterError::Reason::network_error, .provider = std::string(provider)},
               std::string(provider) + "'s stream ended in the middle of a message: the connection was cut; try again");
}

Error malformed_response(std::string_view provider, std::string_view message, std::string_view payload) {
  return Error(AdapterError{.reason = AdapterError::Reason::malformed_response, .provider = std::string(provider)},
               with_payload(message, payload));
}

Error text_response(std::string_view provider, std::string_view text) {
  return malformed_response(provider, "the server of " + std::string(provider) + " sent " + describe_text(text), {});
}

}  // namespace allm
