#include "testing/scenario/transcript.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <utility>

#include "allm/collector.hpp"
#include "allm/serialize.hpp"

#include "http/sse_parser.hpp"
#include "providers/anthropic/anthropic.hpp"
#include "providers/gemini/gemini.hpp"
#include "providers/openai/presets.hpp"
#include "testing/scenario/transcript_expect.hpp"
#include "testing/scenario/transcript_request.hpp"

namespace allm {
namespace {

using Mismatches = std::vector<std::string>;

struct Exchange {
  std::shared_ptr<const Codec> codec;
  WireForm form = WireForm::chat;
  AdapterCall call;
  HttpResponseHead head;
  std::string body;
};

std::string without_suffix(std::string url, std::string_view suffix) {
  const std::size_t at = url.find(suffix);
  if (at != std::string::npos) url.erase(at, suffix.size());
  return url;
}

// The server is recognised by its host name, because the transcripts call all of these servers openai-compatible.
OpenAiCodecOptions compatible(const std::string& url) {
  for (const OpenAiPreset& preset : openai_presets()) {
    const std::string name = preset.name == "azure" ? "openai.azure.com" : std::string(preset.name) + ".";
    if (url.find(name) != std::string::npos) return options_of(preset);
  }
  OpenAiCodecOptions options;
  options.provider = "openai-compatible";
  options.quirks.model_optional = true;
  return options;
}

void choose_codec(Exchange& exchange, const Json& transcript) {
  const auto provider = transcript.at("provider").get<std::string>();
  const auto url = transcript.at("request").at("url").get<std::string>();
  if (provider == "anthropic") {
    exchange.codec = anthropic_codec();
    exchange.form = WireForm::anthropic;
  } else if (provider == "gemini") {
    exchange.codec = gemini_codec();
    exchange.form = WireForm::gemini;
  } else {
    OpenAiCodecOptions options = provider == "openai" ? OpenAiCodecOptions() : compatible(url);
    const bool responses = transcript.at("endpoint") == "responses";
    exchange.form = responses ? WireForm::responses : WireForm::chat;
    options.endpoint = responses ? OpenAiCodecOptions::Endpoint::responses : OpenAiCodecOptions::Endpoint::chat;
    options.base_url = without_suffix(url, responses ? "/responses" : "/chat/completions");
    exchange.codec = openai_codec(std::move(options));
  }
}

std::string model_in_url(const std::string& url) {
  const std::size_t begin = url.find("/models/");
  if (begin == std::string::npos) return {};
  const std::size_t end = url.find(':', begin);
  return url.substr(begin + 8, end - begin - 8);
}

AdapterCall call_of(const Exchange& exchange, const Json& http, Request request) {
  AdapterCall call;
  if (exchange.form == WireForm::gemini) {
    // Gemini's URL names the model and the form of the answer.
    const auto url = http.at("url").get<std::string>();
    request.model = ModelRef(model_in_url(url));
    request.stream = url.find(":streamGenerateContent") != std::string::npos;
  }
  call.model = request.model;
  call.options = request.options;
  call.request = std::move(request);
  return call;
}

std::string body_of(const Json& response, const std::filesystem::path& folder) {
  if (!response.contains("body_file")) {
    const Json& body = response.at("body");
    return body.is_string() ? body.get<std::string>() : body.dump();
  }
  std::ifstream file(folder / response.at("body_file").get<std::string>(), std::ios::binary);
  if (!file) throw std::runtime_error("the file " + response.at("body_file").get<std::string>() + " cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

Exchange read_exchange(const Json& transcript, const std::filesystem::path& folder) {
  Exchange exchange;
  choose_codec(exchange, transcript);
  const Json& http = transcript.at("request");
  exchange.call = call_of(exchange, http, read_wire_request(http.at("body"), exchange.form));
  const Json& response = transcript.at("response");
  exchange.head.status = response.at("status");
  for (const auto& [name, value] : response.at("headers").items()) exchange.head.headers.push_back({name, value});
  exchange.body = body_of(response, folder);
  return exchange;
}

// Decodes the body in pieces of the given sizes, which are used again from the first when all are used.
std::vector<Event> decode(const Exchange& exchange, const std::vector<std::size_t>& sizes) {
  std::vector<Event> events;
  const auto decoder = exchange.codec->decoder(exchange.call, exchange.head);
  std::string_view left = exchange.body;
  for (std::size_t i = 0; !left.empty(); ++i) {
    const std::size_t size = std::min(left.size(), sizes[i % sizes.size()]);
    // A separate copy, so that a sanitizer finds reads past the piece.
    const std::vector<char> piece(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(size));
    decoder->feed({piece.data(), piece.size()}, events);
    left.remove_prefix(size);
  }
  decoder->finish(events);
  return events;
}

// The next request is made from a message that was written as JSON and read again, as in a saved session.
void check_next(const Exchange& exchange, const Json& next, const Response& response, Mismatches& mismatches) {
  Request request = read_wire_request(next.at("body"), exchange.form);
  const std::size_t turn = exchange.call.request.messages.size();
  std::vector<Message> messages(request.messages.begin(), request.messages.end());
  if (turn >= messages.size() || messages[turn].role != Role::assistant || !response.message) {
    mismatches.push_back("next_request: there is no answer of the model where one is expected");
    return;
  }
  Message said = *response.message;
  said.tool_calls = response.tool_calls;
  const Result<std::string> saved = to_json(said);
  const Result<Message> read = saved ? from_json<Message>(*saved) : std::unexpected(saved.error());
  if (!read) {
    mismatches.push_back("next_request: the answer does not survive as JSON: " + read.error().message());
    return;
  }
  messages[turn] = *read;
  request.messages = MessageList(std::move(messages));
  const Result<HttpRequest> http = exchange.codec->write(call_of(exchange, next, std::move(request)));
  if (!http) {
    mismatches.push_back("next_request: " + http.error().message());
    return;
  }
  const Json body = Json::parse(http->body);
  for (const auto& [name, value] : next.at("body").items()) {
    expect_equal("next_request." + name, value, body.value(name, Json(nullptr)), mismatches);
  }
}

void check_stream(const Exchange& exchange, const Json& transcript, Mismatches& mismatches) {
  const Json& expect = transcript.at("expect");
  const std::vector<Event> events = decode(exchange, {exchange.body.size() + 1});
  std::minstd_rand random(20261);
  std::vector<std::size_t> sizes(257);
  for (std::size_t& size : sizes) size = 1 + random() % 97;
  if (decode(exchange, sizes) != events) mismatches.emplace_back("random splits give other events than the whole body");
  if (decode(exchange, {1}) != events) mismatches.emplace_back("single bytes give other events than the whole body");

  MadeIds ids;
  if (expect.contains("events")) check_events(expect.at("events"), events, ids, mismatches);
  StreamCollector collector;
  for (const Event& event : events) collector.apply(event);
  const Result<Response> response = collector.response();
  if (!response) {
    if (expect.contains("error")) return check_error(expect.at("error"), response.error(), mismatches);
    mismatches.push_back("the call failed: " + response.error().message());
    return;
  }
  check_response(expect, *response, ids, mismatches);
  if (transcript.contains("next_request")) check_next(exchange, transcript.at("next_request"), *response, mismatches);
}

Json sse_event(const SseEvent& event) {
  return {{"event", event.event.empty() ? Json(nullptr) : Json(event.event)}, {"data", event.data}, {"id", event.id}};
}

void check_sse(const Json& transcript, const std::string& body, Mismatches& mismatches) {
  const Json& expect = transcript.at("expect");
  for (const std::size_t size : {body.size(), std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}}) {
    SseParser parser;
    Json events = Json::array();
    for (std::size_t at = 0; at < body.size(); at += size) {
      parser.feed(std::string_view(body).substr(at, size));
      while (const auto event = parser.next()) events.push_back(sse_event(*event));
    }
    const auto last = parser.finish();
    const std::string what = "in pieces of " + std::to_string(size) + ": ";
    expect_equal(what + "messages", expect.at("messages"), events, mismatches);
    expect_equal(what + "at_eof_lenient", expect.at("at_eof_lenient"), last ? sse_event(*last) : Json(nullptr),
                 mismatches);
    const auto retry = parser.retry_ms();
    expect_equal(what + "retry_ms", expect.at("retry_ms"), retry ? Json(*retry) : Json(nullptr), mismatches);
  }
}

}  // namespace

Result<std::vector<std::string>> check_transcript(const Json& transcript, const std::filesystem::path& folder) {
  try {
    Mismatches mismatches;
    if (transcript.at("endpoint") == "sse-parser") {
      check_sse(transcript, body_of(transcript.at("response"), folder), mismatches);
      return mismatches;
    }
    const Exchange exchange = read_exchange(transcript, folder);
    if (exchange.head.status >= 400) {
      check_error(transcript.at("expect").at("error"), exchange.codec->error(exchange.head, exchange.body), mismatches);
    } else {
      check_stream(exchange, transcript, mismatches);
    }
    return mismatches;
  } catch (const std::exception& exception) {
    return std::unexpected(validation_error(ValidationError::Reason::invalid_scenario, {}, "malformed",
                                            std::string("not a transcript: ") + exception.what()));
  }
}

}  // namespace allm
