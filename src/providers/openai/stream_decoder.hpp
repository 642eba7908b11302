// What the decoders of both endpoints share: telling a stream from a whole body, taking the stream apart, and seeing to
// it that there is one terminal event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/adapter.hpp"

#include "http/sse_parser.hpp"
#include "providers/codec.hpp"
#include "providers/failures.hpp"
#include "providers/openai/openai.hpp"

namespace allm::openai_wire {

// What a decoder knows about its call.
struct DecoderContext {
  std::string provider = {};
  OpenAiQuirks quirks = {};
  bool raw_chunks = false;
  bool whole_body = false;                               // the content type says JSON
  std::optional<std::string> request_id = std::nullopt;  // the provider's, from the head
  std::string id_seed = {};                              // what makes ids of this call unlike those of any other
};
// All but what depends on the call.
DecoderContext context_of(const HttpResponseHead& head, const OpenAiCodecOptions& options);
std::string id_seed_of(const AdapterCall& call);

// One thread at a time, as any decoder.
class StreamDecoder : public BodyDecoder {
 public:
  void feed(std::string_view bytes, std::vector<Event>& events) final;
  void finish(std::vector<Event>& events) final;
  bool done() const final { return done_; }
  void set_limits(const DecoderLimits& limits) final;

 protected:
  explicit StreamDecoder(DecoderContext context) : context_(std::move(context)) {}

  // One event of the stream, with data.
  virtual void take(const SseEvent& event, std::vector<Event>& events) = 0;
  // A body that is one JSON object, and no error.
  virtual void take_whole(const Json& body, std::vector<Event>& events) = 0;
  // Nothing more comes. `marked`: because the stream said so.
  virtual void end(bool marked, std::vector<Event>& events) = 0;
  // Whether the message is whole as far as the protocol says.
  virtual bool is_whole() const = 0;

  const DecoderContext& context() const { return context_; }
  bool started() const { return started_; }
  // MessageStarted, the first time.
  void start(std::vector<Event>& events);
  void fail(Error error, std::vector<Event>& events);
  void fail_malformed(std::string_view problem, std::string_view payload, std::vector<Event>& events);
  void complete(MessageCompleted completed, std::vector<Event>& events);
  // The chunk's value; nothing, and the end of the stream, if it is no JSON object or holds an error.
  std::optional<Json> read_chunk(std::string_view data, std::vector<Event>& events);
  // What precedes the events of a chunk: MessageStarted, and its RawChunk if wanted.
  void begin_chunk(const Json& chunk, std::vector<Event>& events);
  void fail_inband(const Json& chunk, const FailureReport& report, std::vector<Event>& events);

 private:
  enum class Form : std::uint8_t { unknown, stream, whole };

  void take_stream(std::string_view bytes, std::vector<Event>& events);
  void dispatch(const SseEvent& event, std::vector<Event>& events);
  void end_stream(bool marked, std::vector<Event>& events);
  void finish_whole(std::vector<Event>& events);
  // The error in what came between the events, if there is one.
  std::optional<Error> stray_error() const;

  DecoderContext context_;
  SseParser parser_;
  std::string body_;  // of a whole body
  Form form_ = Form::unknown;
  std::size_t max_body_bytes_ = DecoderLimits().max_body_bytes;
  std::size_t received_ = 0;
  std::int64_t event_count_ = 0;
  bool started_ = false;
  bool done_ = false;
};

}  // namespace allm::openai_wire
