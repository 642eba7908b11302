#include "providers/openai/stream_decoder.hpp"

#include <algorithm>
#include <utility>

#include "providers/openai/failure.hpp"
#include "providers/provider_json.hpp"

namespace allm::openai_wire {
namespace {

constexpr std::string_view kBlank = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view trimmed_front(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kBlank), text.size()));
}

bool is_error(const Json& chunk) {
  if (text_member(chunk, "object") == "error") return true;
  const Json* error = find_member(chunk, "error");
  return error != nullptr && *error != false && *error != Json("") && !(error->is_object() && error->empty());
}

std::optional<Error> error_in(std::string_view text, std::string_view provider) {
  text = trimmed_front(text);
  // Builds of llama.cpp from 2025 have a field of this name.
  if (text.starts_with("error:")) text.remove_prefix(6);
  const FailureReport report = read_failure(text);
  if (report.empty()) return std::nullopt;
  return inband_failure(provider, report);
}

}  // namespace

DecoderContext context_of(const HttpResponseHead& head, const OpenAiCodecOptions& options) {
  const std::string* type = find_header(head.headers, "content-type");
  return {.provider = options.provider,
          .quirks = options.quirks,
          .whole_body = type != nullptr && contains_word(*type, "json") && !contains_word(*type, "event-stream"),
          .request_id = provider_request_id(head.headers)};
}

std::string id_seed_of(const AdapterCall& call) {
  return call.request_id + '/' + std::to_string(call.request.messages.size());
}

void StreamDecoder::set_limits(const DecoderLimits& limits) {
  max_body_bytes_ = limits.max_body_bytes;
  parser_.set_max_event_bytes(limits.max_event_bytes);
}

void StreamDecoder::feed(std::string_view bytes, std::vector<Event>& events) {
  if (done_) return;
  received_ += bytes.size();
  // What a message gathers is kept until its end, so this bounds memory.
  if (received_ > max_body_bytes_) {
    return fail_malformed("the response cannot be read: " + too_large_body(max_body_bytes_), {}, events);
  }
  if (form_ == Form::unknown) {
    // Servers send blank lines to keep the connection alive before they answer.
    bytes = trimmed_front(bytes);
    if (bytes.empty()) return;
    const bool is_json = bytes.front() == '{' || bytes.front() == '[';
    form_ = context_.whole_body || is_json ? Form::whole : Form::stream;
  }
  if (form_ == Form::whole) {
    body_ += bytes;
  } else {
    take_stream(bytes, events);
  }
}

void StreamDecoder::take_stream(std::string_view bytes, std::vector<Event>& events) {
  parser_.feed(bytes);
  while (!done_) {
    const std::optional<SseEvent> event = parser_.next();
    if (!event) break;
    dispatch(*event, events);
  }
  if (!done_ && parser_.too_large()) fail_malformed(too_large_event(parser_.limits().max_event_bytes), {}, events);
}

void StreamDecoder::dispatch(const SseEvent& event, std::vector<Event>& events) {
  ++event_count_;
  const std::string_view data = trimmed_front(event.data);
  if (data.empty()) return;
  if (data.starts_with("[DONE]")) return end_stream(true, events);
  take(event, events);
}

void StreamDecoder::finish(std::vector<Event>& events) {
  if (done_) return;
  if (form_ == Form::whole || (form_ == Form::unknown && context_.whole_body)) return finish_whole(events);
  while (!done_) {
    const std::optional<SseEvent> event = parser_.finish();
    if (!event) break;
    dispatch(*event, events);
  }
  if (!done_ && parser_.too_large()) fail_malformed(too_large_event(parser_.limits().max_event_bytes), {}, events);
  if (!done_) end_stream(false, events);
}

void StreamDecoder::end_stream(bool marked, std::vector<Event>& events) {
  if (!is_whole()) {
    if (std::optional<Error> error = stray_error()) return fail(*std::move(error), events);
    if (event_count_ == 0 && !parser_.stray().empty()) {
      return fail(
          malformed_response(context_.provider, context_.provider + " answered with something that is no event stream",
                             parser_.stray()),
          events);
    }
    if (!started_) return fail(truncated_stream(context_.provider), events);
  }
  end(marked, events);
}

std::optional<Error> StreamDecoder::stray_error() const {
  std::string_view rest = parser_.stray();
  if (std::optional<Error> error = error_in(rest, context_.provider)) return error;
  while (!rest.empty()) {
    const std::size_t line_end = std::min(rest.find('\n'), rest.size());
    if (std::optional<Error> error = error_in(rest.substr(0, line_end), context_.provider)) return error;
    rest.remove_prefix(std::min(line_end + 1, rest.size()));
  }
  return std::nullopt;
}

void StreamDecoder::finish_whole(std::vector<Event>& events) {
  std::string_view text = body_;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::optional<Json> body = parse_provider_json(text);
  const std::string problem = context_.provider + "'s answer is no JSON object";
  if (!body) return fail(malformed_response(context_.provider, problem, text), events);
  if (is_error(*body) || !body->is_object()) {
    const FailureReport report = read_failure(*body);
    if (!report.empty()) return fail(inband_failure(context_.provider, report), events);
  }
  if (!body->is_object()) return fail(malformed_response(context_.provider, problem, text), events);
  take_whole(*body, events);
}

std::optional<Json> StreamDecoder::read_chunk(std::string_view data, std::vector<Event>& events) {
  std::optional<Json> chunk = parse_provider_json(data);
  if (chunk && (is_error(*chunk) || chunk->is_array())) {
    const FailureReport report = read_failure(*chunk);
    if (chunk->is_object() || !report.empty()) {
      fail_inband(*chunk, report, events);
      return std::nullopt;
    }
  }
  if (!chunk || !chunk->is_object()) {
    fail_malformed("an event of the stream is no JSON object", data, events);
    return std::nullopt;
  }
  return chunk;
}

void StreamDecoder::begin_chunk(const Json& chunk, std::vector<Event>& events) {
  start(events);
  if (context_.raw_chunks) events.emplace_back(RawChunk{chunk});
}

void StreamDecoder::fail_inband(const Json& chunk, const FailureReport& report, std::vector<Event>& events) {
  // Before the message begins an error is the failure of the call, which may be tried again: nothing may precede it.
  if (context_.raw_chunks && started_) events.emplace_back(RawChunk{chunk});
  fail(inband_failure(context_.provider, report), events);
}

void StreamDecoder::start(std::vector<Event>& events) {
  if (std::exchange(started_, true)) return;
  events.emplace_back(MessageStarted{assistant("")});
}

void StreamDecoder::fail(Error error, std::vector<Event>& events) {
  done_ = true;
  events.emplace_back(ErrorEvent{std::move(error)});
}

void StreamDecoder::fail_malformed(std::string_view problem, std::string_view payload, std::vector<Event>& events) {
  fail(malformed_event(context_.provider, problem, payload, event_count_ > 0 ? event_count_ - 1 : 0), events);
}

void StreamDecoder::complete(MessageCompleted completed, std::vector<Event>& events) {
  done_ = true;
  if (context_.request_id) completed.metadata["provider_request_id"] = *context_.request_id;
  events.emplace_back(std::move(completed));
}

}  // namespace allm::openai_wire
