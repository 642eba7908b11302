// Reads a response that is a stream of server-sent events with JSON in them. What an event means is the provider's;
// here is what all of them share: limits, broken events, and that the terminal event is the last one. One thread at a
// time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "http/sse_parser.hpp"
#include "providers/codec.hpp"

namespace allm {

class SseDecoder : public BodyDecoder {
 public:
  void feed(std::string_view bytes, std::vector<Event>& events) override;
  void finish(std::vector<Event>& events) override;
  bool done() const override { return done_; }
  void set_limits(const DecoderLimits& limits) override;

 protected:
  SseDecoder(std::string_view provider, bool include_raw_chunks);

  // One event of the stream. By default: end marks are skipped, common events go to take_common, others to take_chunk.
  virtual void take_event(const SseEvent& event, std::vector<Event>& events);

  // Takes the common events without making values of them. False, and nothing done, for every other one. At least
  // kSsePadding readable bytes follow the data.
  virtual bool take_common(std::string_view /*data*/, std::vector<Event>& /*events*/) { return false; }
  virtual void take_chunk(std::string_view /*name*/, const Json& /*chunk*/, std::vector<Event>& /*events*/) {}
  // The body is over without a terminal event. `stray` is what was no event, within limits. Gives the terminal event.
  virtual void end(std::string_view stray, std::vector<Event>& events) = 0;
  // Called before an error is given.
  virtual void before_error(std::vector<Event>& /*events*/) {}

  void complete(MessageCompleted message, std::vector<Event>& events);
  void fail(Error error, std::vector<Event>& events);
  // The event just taken makes no sense.
  void fail_malformed(std::string_view problem, std::string_view payload, std::vector<Event>& events);
  std::string_view provider() const { return provider_; }
  bool include_raw_chunks() const { return include_raw_chunks_; }
  // What was no event so far, within limits.
  std::string_view stray() const { return parser_.stray(); }
  bool has_events() const { return event_index_ >= 0; }

 private:
  void take(const SseEvent& event, std::vector<Event>& events);
  void check_size(std::vector<Event>& events);

  std::string provider_;
  bool include_raw_chunks_;
  bool done_ = false;
  std::size_t max_body_bytes_ = DecoderLimits().max_body_bytes;
  std::size_t received_ = 0;
  std::int64_t event_index_ = -1;
  SseParser parser_;
};

}  // namespace allm
