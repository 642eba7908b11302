// Base of the decoders of both endpoints: distinguishes streams from whole bodies and ensures that there is one
// terminal event.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/adapter.hpp"

#include "providers/codec.hpp"
#include "providers/openai/openai.hpp"
#include "providers/provider_errors.hpp"
#include "providers/sse_decoder.hpp"
#include "providers/whole_decoder.hpp"

namespace allm::openai_wire {

// The properties of the call that a decoder needs.
struct DecoderContext {
  std::string provider = {};
  OpenAiQuirks quirks = {};
  bool raw_chunks = false;
  bool whole_body = false;                               // see is_whole_response
  std::optional<std::string> request_id = std::nullopt;  // the provider's request id, from the head
  std::string id_seed = {};                              // makes generated ids unique among all calls
};
// All members except id_seed and raw_chunks, which depend on the call.
DecoderContext context_of(const HttpResponseHead& head, const OpenAiCodecOptions& options, AnswerForm asked_for);
std::string id_seed_of(const AdapterCall& call);

// One thread at a time. SseDecoder decodes streams, WholeDecoder whole bodies. The content type decides which of the
// two a body is, or its first byte, because some servers send a wrong content type.
class StreamDecoder : public SseDecoder {
 public:
  void feed(std::string_view bytes, std::vector<Event>& events) final;
  void finish(std::vector<Event>& events) final;
  bool done() const final { return has_ended() || whole_.done(); }
  void set_limits(const DecoderLimits& limits) final;
  bool has_answer() const final { return is_whole(); }

 protected:
  StreamDecoder(DecoderContext context, PiecePaths pieces);

  virtual void set_answer_limits(const AnswerLimits& limits) = 0;
  // Handles one event of the stream that has data.
  virtual void take(const SseEvent& event, std::vector<Event>& events) = 0;
  // Handles a body that is one JSON object and not an error.
  virtual void take_whole(const Json& body, std::vector<Event>& events) = 0;
  // Called at the end of the stream. `marked`: the stream sent its end mark.
  virtual void end_message(bool marked, std::vector<Event>& events) = 0;
  // Whether the message is complete according to the protocol.
  virtual bool is_whole() const = 0;

  const DecoderContext& context() const { return context_; }
  bool started() const { return started_; }
  // Produces MessageStarted at the first call.
  void start(std::vector<Event>& events);
  void complete(MessageCompleted completed, std::vector<Event>& events);
  // The chunk's value. If it is not a JSON object or contains an error, the stream ends with an error and nullopt is
  // returned.
  std::optional<Json> read_chunk(std::string_view data, std::vector<Event>& events);
  // Produces the events that precede those of a chunk: MessageStarted, and its RawChunk if that is asked for.
  void begin_chunk(const Json& chunk, std::vector<Event>& events);
  void fail_inband(const Json& chunk, const ErrorReport& report, std::vector<Event>& events);

 private:
  enum class Form : std::uint8_t { unknown, stream, whole };

  // Decodes a whole body and passes the document to its owner.
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
  // The error in the text between the events, if there is one.
  std::optional<Error> stray_error() const;

  DecoderContext context_;
  Whole whole_;
  Form form_ = Form::unknown;
  bool started_ = false;
};

}  // namespace allm::openai_wire
