// One model call over HTTP: passes the bytes of a transfer to a codec's decoder.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allm/runtime.hpp"
#include "allm/stream.hpp"

#include "http/transfer.hpp"
#include "providers/codec.hpp"

namespace allm {

// One thread at a time. The destructor cancels the exchange.
class HttpSource : public EventSource {
 public:
  // Adds the key to a request and sends it.
  using Send = std::function<std::unique_ptr<HttpTransfer>(HttpRequest)>;
  // Called inside poll() with the setting that the server refused and that the fallback request does not have.
  using OnLeftOut = std::function<void(const std::string& setting)>;

  // Called inside poll() with a warning of the decoder. May be empty.
  using Warn = std::function<void(const AdapterWarning&)>;

  // Completes an error of the exchange: adds facts about it and removes secrets. `status` is 0 if there was no answer.
  using CompleteError = std::function<Error(const Error& error, int status)>;

  // `runtime` owns the loop that `send` uses.
  HttpSource(std::shared_ptr<const Codec> codec, Codec::DecoderMaker make_decoder, CompleteError complete_error,
             std::shared_ptr<Runtime> runtime, Send send, OnLeftOut on_left_out, Warn warn, HttpRequest request,
             const DecoderLimits& limits);
  Poll poll(const Waker& waker) override;

 private:
  // How much of an error response is kept: the message is at its beginning.
  static constexpr std::size_t kMaxErrorBody = 64U << 10U;
  static constexpr std::size_t kUsualEventBytes = 200;
  static constexpr std::size_t kManyEvents = 32;
  // How many bytes are decoded at once: about a millisecond, whatever they are. Only one event that is larger takes
  // longer.
  static constexpr std::size_t kSliceBytes = 16U << 10U;
  // How many bytes without an event are decoded before poll() returns, so that the consumer can look at its deadline.
  static constexpr std::size_t kQuietBytes = 64U << 10U;

  // Takes the next piece of the response; false if there is none yet.
  bool advance(const Waker& waker);
  void begin(HttpResponseHead head);
  void body(std::string bytes);
  // Decodes the next slice of the bytes.
  void decode();
  void report_warnings();
  void end();
  // Handles the end of an error response.
  void end_with_error();
  void fail(const HttpError& error);
  void fail(Error error);

  std::shared_ptr<const Codec> codec_;
  const Codec::DecoderMaker make_decoder_;
  const CompleteError complete_error_;
  const DecoderLimits limits_;
  const std::shared_ptr<Runtime> runtime_;
  Send send_;  // null once the fallback request was tried
  OnLeftOut on_left_out_;
  const Warn warn_;
  std::unique_ptr<HttpTransfer> transfer_;
  HttpResponseHead head_;
  std::unique_ptr<BodyDecoder> decoder_;  // null before the head, and for an error response
  std::string error_body_;
  std::string bytes_;  // from decoded_ on: to be decoded
  std::size_t decoded_ = 0;
  std::string spare_;          // returned to the transfer, so that two buffers are enough for the whole stream
  std::vector<Event> events_;  // from next_ on: to be delivered
  std::size_t next_ = 0;
};

}  // namespace allm
