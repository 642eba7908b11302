// One model call over HTTP: moves bytes from a transfer through a codec's decoder.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allm/keys.hpp"
#include "allm/runtime.hpp"
#include "allm/stream.hpp"

#include "http/transfer.hpp"
#include "providers/codec.hpp"

namespace allm {

// One thread at a time. Dropping it cancels the exchange.
class HttpSource : public EventSource {
 public:
  // Sends a request, its key added.
  using Send = std::function<std::unique_ptr<HttpTransfer>(HttpRequest)>;

  // `key` is the one that is sent; it is kept out of every error. `runtime` is the one whose loop `send` uses.
  HttpSource(std::shared_ptr<const Codec> codec, Codec::DecoderMaker make_decoder, ApiKey key,
             std::shared_ptr<Runtime> runtime, Send send, HttpRequest request, const DecoderLimits& limits);
  Poll poll(const Waker& waker) override;

 private:
  // Of an answer that is an error, this much is read: the message is at its beginning.
  static constexpr std::size_t kMaxErrorBody = 64U << 10U;
  static constexpr std::size_t kUsualEventBytes = 200;
  static constexpr std::size_t kManyEvents = 32;

  void begin(HttpResponseHead head);
  void body(std::string bytes);
  void end();
  // Of an answer that is an error.
  void end_failure();
  void fail(const HttpFailure& failure);
  void fail(Error error);

  std::shared_ptr<const Codec> codec_;
  const Codec::DecoderMaker make_decoder_;
  ApiKey key_;
  const DecoderLimits limits_;
  const std::shared_ptr<Runtime> runtime_;
  Send send_;  // null once a second try was made
  std::unique_ptr<HttpTransfer> transfer_;
  HttpResponseHead head_;
  std::unique_ptr<BodyDecoder> decoder_;  // null before the head, and for an answer that is an error
  std::string error_body_;
  std::string spare_;          // handed back to the transfer, so that two buffers serve the whole stream
  std::vector<Event> events_;  // from next_ on: to be given out
  std::size_t next_ = 0;
};

}  // namespace allm
