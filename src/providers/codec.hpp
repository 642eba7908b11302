// A provider: a request written, bytes read. Codecs hold no socket, no key and no clock, so that what they do can be
// tested byte by byte, fuzzed and replayed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "allm/adapter.hpp"
#include "allm/event.hpp"

#include "http/exchange.hpp"

namespace allm {

// What one response may make its decoder keep: the defaults of HttpOptions.
struct DecoderLimits {
  std::size_t max_body_bytes = 256U << 20U;
  std::size_t max_event_bytes = 64U << 20U;  // of one event of a stream
};

// Reads one response body. One thread at a time. Gives what Adapter::open promises of a source: MessageStarted, the
// model's events and MessageCompleted; or an ErrorEvent, which ends it. Either of the two last ones is the terminal
// event; everything after it is ignored. Whatever the bytes are, memory stays within the limits and nothing throws.
class BodyDecoder {
 public:
  virtual ~BodyDecoder() = default;

  // Before the first byte, if the limits are not the default ones.
  virtual void set_limits(const DecoderLimits& limits) = 0;
  // The next bytes, however they are split; appends the events they give.
  virtual void feed(std::string_view bytes, std::vector<Event>& events) = 0;
  // The body is over: appends the terminal event if there was none.
  virtual void finish(std::vector<Event>& events) = 0;
  // Whether the terminal event was given, so that the rest of the body need not be read.
  virtual bool done() const = 0;
};

// How an answer is to come.
enum class AnswerForm : std::uint8_t { whole, stream };

// Any thread.
class Codec {
 public:
  // Makes a decoder once the head of the response is known. Outlived by its codec; holds what it needs of its call.
  using DecoderMaker = std::function<std::unique_ptr<BodyDecoder>(const HttpResponseHead& head)>;

  virtual ~Codec() = default;

  // For messages, metadata and keys: "openai".
  virtual std::string_view provider() const = 0;
  // The request of a call, without its key. Fails with ValidationError for content that can never be sent and with
  // AdapterError `unsupported_feature` for what this provider cannot do.
  virtual Result<HttpRequest> write(const AdapterCall& call, AnswerForm form) const = 0;
  // In the form that the call's request names.
  Result<HttpRequest> write(const AdapterCall& call) const {
    return write(call, call.request.stream ? AnswerForm::stream : AnswerForm::whole);
  }
  // How a key travels.
  virtual HttpHeader key_header(std::string_view key) const = 0;
  // For a response of a status below 400; tells streams from whole bodies by the content type.
  virtual DecoderMaker decoding(const AdapterCall& call) const = 0;
  std::unique_ptr<BodyDecoder> decoder(const AdapterCall& call, const HttpResponseHead& head) const {
    return decoding(call)(head);
  }
  // The error that a response of a status of 400 and above stands for. `body` may be cut off and may be anything.
  virtual Error failure(const HttpResponseHead& head, std::string_view body) const = 0;
  // What to send instead, once, after that failure: the request without something that the server does not understand,
  // and without its key.
  virtual std::optional<HttpRequest> simpler(const HttpRequest& /*sent*/, const HttpResponseHead& /*head*/,
                                             std::string_view /*body*/) const {
    return std::nullopt;
  }
};

}  // namespace allm
