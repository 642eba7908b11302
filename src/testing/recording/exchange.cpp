#include "testing/recording/exchange.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "allm/serialize.hpp"

#include "testing/recording/event_json.hpp"
#include "testing/recording/member_reader.hpp"
#include "testing/recording/redact_json.hpp"

namespace allm {
namespace {

constexpr std::array<std::string_view, 3> kEnds = {"completed", "failed", "dropped"};

// Only the length of the line is limited here; the writer limits the depth.
Result<Json> parse_line(std::string_view line) {
  constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
  return parse_json(line, {.max_depth = kUnlimited,
                           .max_bytes = kMaxRecordingLine,
                           .max_string_bytes = kUnlimited,
                           .max_items = kUnlimited});
}

bool read_end(MemberReader& reader, Exchange::End& out) {
  std::string word;
  if (!reader.text("end", word)) return false;
  for (std::size_t i = 0; i < kEnds.size(); ++i) {
    if (word != kEnds[i]) continue;
    out = static_cast<Exchange::End>(i);
    return true;
  }
  return reader.fail("end", "atom_decode_failed", "must be completed, failed or dropped");
}

bool read_events(MemberReader& reader, std::vector<Event>& out) {
  const Json* events = reader.take("events");
  if (events == nullptr) return reader.fail_missing("events");
  if (!events->is_array()) return reader.fail("events", "invalid_type", "must be an array");
  for (const Json& json : *events) {
    Result<Event> event = event_from_json(json);
    if (!event) {
      return reader.fail({std::string("events"), static_cast<std::int64_t>(out.size())}, event.error());
    }
    out.push_back(*std::move(event));
  }
  return true;
}

// `end` is failed if and only if the last event is an error; no other event may be one.
bool check_errors(MemberReader& reader, const Exchange& exchange) {
  const auto is_error = [](const Event& event) { return event.tag() == EventTag::error; };
  const auto first = std::ranges::find_if(exchange.events, is_error);
  const bool ends_with_error = !exchange.events.empty() && first + 1 == exchange.events.end();
  if (exchange.end == Exchange::End::failed ? ends_with_error : first == exchange.events.end()) return true;
  return reader.fail("end", "invalid", "is failed if an error is the last of the events, and only then");
}

}  // namespace

Json request_form(const AdapterCall& call) {
  Json form = Json::object();
  form["model"] = call.model ? to_json_value(*call.model) : Json(nullptr);
  form["request"] = to_json_value(call.request);
  form["options"] = call.options;
  redact_value(form, call.api_key.reveal());
  return form;
}

Result<std::string> write_exchange(std::string_view provider, const AdapterCall& call, const std::vector<Event>& events,
                                   Exchange::End end) {
  Json line = Json::object();
  line["provider"] = provider;
  line["request"] = request_form(call);
  Json written = Json::array();
  for (const Event& event : events) {
    Result<Json> json = event_to_json(event);
    if (!json) return std::unexpected(json.error());
    written.push_back(*std::move(json));
  }
  redact_events(written, call.api_key.reveal());
  line["events"] = std::move(written);
  line["end"] = kEnds[static_cast<std::size_t>(end)];
  Result<std::string> text = write_json(line);
  if (text && text->size() > kMaxRecordingLine) {
    return std::unexpected(validation_error(
        ValidationError::Reason::invalid_request, {}, "too_large",
        "it has " + std::to_string(text->size()) + " bytes, and a line at most " + std::to_string(kMaxRecordingLine)));
  }
  return text;
}

Result<Exchange> read_exchange(std::string_view line) {
  const Result<Json> json = parse_line(line);
  if (!json) return std::unexpected(json.error());
  MemberReader reader(*json);
  Exchange exchange;
  if (reader.text("provider", exchange.provider) && reader.object("request", exchange.request) &&
      read_events(reader, exchange.events) && read_end(reader, exchange.end)) {
    check_errors(reader, exchange);
  }
  if (std::optional<Error> error = reader.finish()) return std::unexpected(*std::move(error));
  return exchange;
}

std::string recording_header() { return R"({"allm_recording":)" + std::to_string(kRecordingVersion) + "}"; }

Status check_header(std::string_view line) {
  const Result<Json> json = parse_line(line);
  if (!json || !json->is_object() || !json->contains("allm_recording")) {
    return std::unexpected(validation_error(ValidationError::Reason::invalid_request, {}, "missing_type_tag",
                                            "this is no recording: it must begin with " + recording_header()));
  }
  if ((*json)["allm_recording"] == kRecordingVersion) return {};
  return std::unexpected(
      validation_error(ValidationError::Reason::invalid_request, {"allm_recording"}, "unsupported_version",
                       "the recording is of a version that this allm cannot read: it reads version " +
                           std::to_string(kRecordingVersion)));
}

}  // namespace allm
