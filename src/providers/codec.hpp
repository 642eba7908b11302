// The codec of a provider writes requests and decodes responses. It has no socket, no key and no clock, so that it can
// be tested byte by byte, fuzzed and replayed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/adapter.hpp"
#include "allm/event.hpp"
#include "allm/limits.hpp"

#include "http/exchange.hpp"

namespace allm {

// Limits of what a decoder keeps of one response. The defaults are those of HttpOptions and EngineOptions.
struct DecoderLimits {
  std::size_t max_body_bytes = 256U << 20U;
  std::size_t max_event_bytes = 64U << 20U;  // of one event of a stream
  AnswerLimits answer = {};
};

// Decodes one response body. One thread at a time. Produces the events that Adapter::open promises: MessageStarted, the
// model's events, and as the terminal event MessageCompleted or an ErrorEvent. Bytes after the terminal event are
// ignored. For any input, memory stays within the limits and nothing throws.
class BodyDecoder {
 public:
  virtual ~BodyDecoder() = default;

  // To be called before the first byte, if the limits are not the default ones.
  virtual void set_limits(const DecoderLimits& limits) = 0;
  // Decodes the next bytes, which may be split anywhere; appends their events.
  virtual void feed(std::string_view bytes, std::vector<Event>& events) = 0;
  // To be called at the end of the body: appends the terminal event if there was none.
  virtual void finish(std::vector<Event>& events) = 0;
  // Whether the terminal event was produced. The rest of the body need not be read then.
  virtual bool done() const = 0;
  // Whether the finish reason of a streamed answer has arrived. The answer is complete then, so that finish() gives it
  // even if the connection fails.
  virtual bool has_answer() const { return false; }
  // What telemetry should be told about the answer, since the last call.
  virtual std::vector<AdapterWarning> take_warnings() { return {}; }
};

// The form in which the provider is asked to answer.
enum class AnswerForm : std::uint8_t { whole, stream };
// The form that a call asks for: by the param `stream` of the call or its request, else by `Request::stream`.
AnswerForm answer_form(const AdapterCall& call);

// The request that is sent once after a server refused a part of the first one.
struct FallbackRequest {
  HttpRequest request = {};   // without its key
  std::string left_out = {};  // the setting of the caller that it does not have; "" if it has them all
};

// Safe to call from any thread.
class Codec {
 public:
  // Makes a decoder once the head of the response is known. The codec must outlive it; the call need not.
  using DecoderMaker = std::function<std::unique_ptr<BodyDecoder>(const HttpResponseHead& head)>;

  virtual ~Codec() = default;

  // The provider's name in error messages, metadata and the key store: "openai".
  virtual std::string_view provider() const = 0;
  // The request of a call, without its key. Fails with ValidationError for content that no provider accepts, and with
  // AdapterError `unsupported_feature` for features that this provider does not have.
  virtual Result<HttpRequest> write(const AdapterCall& call, AnswerForm form) const = 0;
  // Writes the request in the form that the call asks for.
  Result<HttpRequest> write(const AdapterCall& call) const { return write(call, answer_form(call)); }
  // The header that carries the key.
  virtual HttpHeader key_header(std::string_view key) const = 0;
  // For a response that is not an error; the content type decides between a stream and a whole body.
  virtual DecoderMaker decoding(const AdapterCall& call) const = 0;
  std::unique_ptr<BodyDecoder> decoder(const AdapterCall& call, const HttpResponseHead& head) const {
    return decoding(call)(head);
  }
  // The error of a response with status 400 or above. `body` may be truncated and may be anything.
  virtual Error error(const HttpResponseHead& head, std::string_view body) const = 0;
  // The fallback request to send, once, after that error: the same request without the field that the server does not
  // understand. nullopt if there is none.
  virtual std::optional<FallbackRequest> fallback_request(const HttpRequest& /*sent*/, const HttpResponseHead& /*head*/,
                                                          std::string_view /*body*/) const {
    return std::nullopt;
  }
};

}  // namespace allm
