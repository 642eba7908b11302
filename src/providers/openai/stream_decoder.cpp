#include "providers/openai/stream_decoder.hpp"

#include <algorithm>
#include <utility>

#include "providers/call_settings.hpp"
#include "providers/openai/errors.hpp"
#include "providers/provider_json.hpp"

namespace allm::openai_wire {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

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
  // Builds of llama.cpp from 2025 send errors in a field of this name.
  if (text.starts_with("error:")) text.remove_prefix(6);
  const ErrorReport report = read_error(text);
  if (report.empty()) return std::nullopt;
  return inband_error(provider, report);
}

}  // namespace

DecoderContext context_of(const HttpResponseHead& head, const OpenAiCodecOptions& options, AnswerForm asked_for) {
  return {.provider = options.provider,
          .quirks = options.quirks,
          .whole_body = is_whole_response(head, asked_for),
          .request_id = provider_request_id(head.headers)};
}

std::string id_seed_of(const AdapterCall& call) {
  return call.request_id + '/' + std::to_string(call.request.messages.size());
}

StreamDecoder::StreamDecoder(DecoderContext context, PiecePaths pieces)
    : SseDecoder(context.provider, context.raw_chunks, pieces), context_(std::move(context)), whole_(*this) {}

StreamDecoder::Whole::Whole(StreamDecoder& owner)
    : WholeDecoder(owner.context_.provider, owner.context_.raw_chunks), owner_(owner) {}

void StreamDecoder::Whole::take_document(const Json& document, std::vector<Event>& events) {
  owner_.take_document(document, events);
}

void StreamDecoder::set_limits(const DecoderLimits& limits) {
  SseDecoder::set_limits(limits);
  whole_.set_limits(limits);
  set_answer_limits(limits.answer);
}

void StreamDecoder::feed(std::string_view bytes, std::vector<Event>& events) {
  if (form_ == Form::unknown) {
    // Servers send blank lines to keep the connection alive before they answer.
    bytes = trimmed_front(bytes);
    if (bytes.empty()) return;
    const bool is_json = bytes.front() == '{' || bytes.front() == '[';
    form_ = context_.whole_body || is_json ? Form::whole : Form::stream;
  }
  if (form_ == Form::whole) {
    whole_.feed(bytes, events);
  } else {
    SseDecoder::feed(bytes, events);
  }
}

void StreamDecoder::finish(std::vector<Event>& events) {
  const bool is_whole_body = form_ == Form::whole || (form_ == Form::unknown && context_.whole_body);
  if (is_whole_body) {
    whole_.finish(events);
  } else {
    SseDecoder::finish(events);
  }
}

void StreamDecoder::take_event(const SseEvent& event, std::vector<Event>& events) {
  const std::string_view data = trimmed_front(event.data);
  if (data.empty()) return;
  if (data.starts_with("[DONE]")) return end_stream(true, events);
  take(event, events);
}

void StreamDecoder::end_stream(bool marked, std::vector<Event>& events) {
  if (!is_whole()) {
    if (std::optional<Error> error = stray_error()) return fail(*std::move(error), events);
    if (fail_if_text(events)) return;
    if (!started_) return fail(truncated_stream(context_.provider), events);
  }
  end_message(marked, events);
}

std::optional<Error> StreamDecoder::stray_error() const {
  std::string_view rest = stray();
  if (std::optional<Error> error = error_in(rest, context_.provider)) return error;
  while (!rest.empty()) {
    const std::size_t line_end = std::min(rest.find('\n'), rest.size());
    if (std::optional<Error> error = error_in(rest.substr(0, line_end), context_.provider)) return error;
    rest.remove_prefix(std::min(line_end + 1, rest.size()));
  }
  return std::nullopt;
}

void StreamDecoder::take_document(const Json& document, std::vector<Event>& events) {
  if (is_error(document) || !document.is_object()) {
    const ErrorReport report = read_error(document);
    if (!report.empty()) return fail(inband_error(context_.provider, report), events);
  }
  if (!document.is_object()) {
    return fail(malformed_response(context_.provider, context_.provider + "'s response is not a JSON object",
                                   write_json(document).value_or("")),
                events);
  }
  take_whole(document, events);
}

std::optional<Json> StreamDecoder::read_chunk(std::string_view data, std::vector<Event>& events) {
  std::optional<Json> chunk = parse_event_json(data, pieces());
  if (chunk && (is_error(*chunk) || chunk->is_array())) {
    const ErrorReport report = read_error(*chunk);
    if (chunk->is_object() || !report.empty()) {
      fail_inband(*chunk, report, events);
      return std::nullopt;
    }
  }
  if (!chunk || !chunk->is_object()) {
    fail_malformed("an event of the stream is not a JSON object" + std::string(too_many_values(data)), data, events);
    return std::nullopt;
  }
  return chunk;
}

void StreamDecoder::begin_chunk(const Json& chunk, std::vector<Event>& events) {
  start(events);
  if (context_.raw_chunks) events.emplace_back(RawChunk{without_halves(chunk)});
}

void StreamDecoder::fail_inband(const Json& chunk, const ErrorReport& report, std::vector<Event>& events) {
  // An error before the message fails the call, which may be retried only if no event precedes the error.
  if (context_.raw_chunks && started_) events.emplace_back(RawChunk{without_halves(chunk)});
  fail(inband_error(context_.provider, report), events);
}

void StreamDecoder::start(std::vector<Event>& events) {
  if (std::exchange(started_, true)) return;
  events.emplace_back(MessageStarted{assistant("")});
}

void StreamDecoder::complete(MessageCompleted completed, std::vector<Event>& events) {
  if (context_.request_id) completed.metadata["provider_request_id"] = *context_.request_id;
  SseDecoder::complete(std::move(completed), events);
}

}  // namespace allm::openai_wire
