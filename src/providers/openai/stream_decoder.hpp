// What the decoders of both endpoints share: telling a stream from a whole body, taking the stream apart, and seeing to
// it that there is one terminal event.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/adapter.hpp"

#include "providers/codec.hpp"
#include "providers/failures.hpp"
#include "providers/openai/openai.hpp"
#include "providers/sse_decoder.hpp"
#include "providers/whole_decoder.hpp"

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

// One thread at a time, as any decoder. A stream is taken apart by SseDecoder, a whole body by WholeDecoder; which of
// the two a body is, is told by the content type or, because servers get that wrong, by its first byte.
class StreamDecoder : public SseDecoder {
 public:
  void feed(std::string_view bytes, std::vector<Event>& events) final;
  void finish(std::vector<Event>& events) final;
  bool done() const final { return SseDecoder::done() || whole_.done(); }
  void set_limits(const DecoderLimits& limits) final;

 protected:
  explicit StreamDecoder(DecoderContext context);

  // One event of the stream, with data.
  virtual void take(const SseEvent& event, std::vector<Event>& events) = 0;
  // A body that is one JSON object, and no error.
  virtual void take_whole(const Json& body, std::vector<Event>& events) = 0;
  // Nothing more comes. `marked`: because the stream said so.
  virtual void end_message(bool marked, std::vector<Event>& events) = 0;
  // Whether the message is whole as far as the protocol says.
  virtual bool is_whole() const = 0;

  const DecoderContext& context() const { return context_; }
  bool started() const { return started_; }
  // MessageStarted, the first time.
  void start(std::vector<Event>& events);
  void complete(MessageCompleted completed, std::vector<Event>& events);
  // The chunk's value; nothing, and the end of the stream, if it is no JSON object or holds an error.
  std::optional<Json> read_chunk(std::string_view data, std::vector<Event>& events);
  // What precedes the events of a chunk: MessageStarted, and its RawChunk if wanted.
  void begin_chunk(const Json& chunk, std::vector<Event>& events);
  void fail_inband(const Json& chunk, const FailureReport& report, std::vector<Event>& events);

 private:
  enum class Form : std::uint8_t { unknown, stream, whole };

  // The decoder of a whole body, which gives its document to the decoder that it is a part of.
  class Whole final : public WholeDecoder {
   public:
    explicit Whole(StreamDecoder& owner);

   private:
    void take_document(const Json& document, std::vector<Event>& events) override;
    StreamDecoder& owner_;
  };

  void take_event(const SseEvent& event, std::vector<Event>& events) final;
  void end(std::string_view /*stray*/, std::vector<Event>& events) final { end_stream(false, events); }
  void end_stream(bool marked, std::vector<Event>& events);
  void take_document(const Json& document, std::vector<Event>& events);
  // The error in what came between the events, if there is one.
  std::optional<Error> stray_error() const;

  DecoderContext context_;
  Whole whole_;
  Form form_ = Form::unknown;
  bool started_ = false;
};

}  // namespace allm::openai_wire
