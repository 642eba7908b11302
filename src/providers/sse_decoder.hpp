// Base of the decoders of streams: server-sent events that contain JSON. It enforces limits, reports malformed events,
// and ensures that nothing follows the terminal event. Derived classes interpret the events. One thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "http/sse_parser.hpp"
#include "providers/codec.hpp"
#include "providers/provider_json.hpp"

namespace allm {

class SseDecoder : public BodyDecoder {
 public:
  void feed(std::string_view bytes, std::vector<Event>& events) override;
  void finish(std::vector<Event>& events) override;
  bool done() const override { return done_; }
  void set_limits(const DecoderLimits& limits) override;
  bool has_answer() const override = 0;

 protected:
  // `pieces` must outlive the decoder.
  SseDecoder(std::string_view provider, bool include_raw_chunks, PiecePaths pieces);

  // Handles one event of the stream. By default, end marks are skipped, and events that take_common does not handle go
  // to take_chunk.
  virtual void take_event(const SseEvent& event, std::vector<Event>& events);

  // Handles the most common events without making JSON values. Returns false, without any effect, for all others. At
  // least kSsePadding readable bytes follow the data.
  virtual bool take_common(std::string_view /*data*/, std::vector<Event>& /*events*/) { return false; }
  virtual void take_chunk(std::string_view /*name*/, const Json& /*chunk*/, std::vector<Event>& /*events*/) {}
  // Called if the body ended without a terminal event; must produce it. `stray` is the text that was not part of an
  // event, truncated to a limit.
  virtual void end(std::string_view stray, std::vector<Event>& events) = 0;
  // Called before an error event is produced.
  virtual void before_error(std::vector<Event>& /*events*/) {}

  void complete(MessageCompleted message, std::vector<Event>& events);
  void fail(Error error, std::vector<Event>& events);
  // Ends the stream with an error if the body had no event and is a text that is not JSON, such as a page of HTML.
  // Returns whether it did.
  bool fail_if_text(std::vector<Event>& events);
  // Ends the stream with an error: the current event is malformed.
  void fail_malformed(std::string_view message, std::string_view payload, std::vector<Event>& events);
  // Whether a terminal event was produced.
  bool has_ended() const { return done_; }
  std::string_view provider() const { return provider_; }
  bool include_raw_chunks() const { return include_raw_chunks_; }
  PiecePaths pieces() const { return pieces_; }
  // The text so far that was not part of an event, truncated to a limit.
  std::string_view stray() const { return parser_.stray(); }
  bool has_events() const { return event_index_ >= 0; }

 private:
  void take(const SseEvent& event, std::vector<Event>& events);
  void check_size(std::vector<Event>& events);

  std::string provider_;
  bool include_raw_chunks_;
  PiecePaths pieces_;
  bool done_ = false;
  std::size_t max_body_bytes_ = DecoderLimits().max_body_bytes;
  std::size_t received_ = 0;
  std::int64_t event_index_ = -1;
  SseParser parser_;
};

}  // namespace allm
