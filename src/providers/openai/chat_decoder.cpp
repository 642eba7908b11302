// Decodes responses of Chat Completions, and of the servers that imitate it.
#include <array>
#include <utility>

#include "providers/openai/chat_message.hpp"
#include "providers/openai/chunk_template.hpp"
#include "providers/openai/decoders.hpp"
#include "providers/openai/errors.hpp"
#include "providers/provider_json.hpp"

namespace allm::openai_wire {
namespace {

constexpr std::array<std::string_view, 9> kChatPieces = {
    "choices.delta.content",
    "choices.delta.content.text",
    "choices.delta.content.thinking.text",
    "choices.delta.content.refusal",
    "choices.delta.reasoning_content",
    "choices.delta.reasoning",
    "choices.delta.refusal",
    "choices.delta.tool_calls.function.arguments",
    "choices.delta.function_call.arguments",
};

class ChatDecoder final : public StreamDecoder {
 public:
  explicit ChatDecoder(DecoderContext given)
      : StreamDecoder(std::move(given), kChatPieces),
        message_(context().provider, context().quirks, context().id_seed) {}

 private:
  void set_answer_limits(const AnswerLimits& limits) override { message_.set_limits(limits); }

  void take(const SseEvent& event, std::vector<Event>& events) override {
    if (!context().raw_chunks) {
      if (const auto text = template_.match(event.data)) return message_.add_text(*text, events);
      if (read_fast_chunk(event.data, message_.lacks_head(), chunk_)) {
        start(events);
        if (message_.add(chunk_, events)) {
          if (chunk_.is_text()) template_.learn(event.data);
          return;
        }
      }
    }
    const std::optional<Json> chunk = read_chunk(event.data, events);
    if (!chunk) return;
    begin_chunk(*chunk, events);
    add(*chunk, event.data, events);
  }

  void take_whole(const Json& body, std::vector<Event>& events) override {
    if (find_member(body, "choices") == nullptr) {
      const ErrorReport report = read_error(body);
      if (!report.empty()) return fail_inband(body, report, events);
      return fail(malformed_response(context().provider, context().provider + "'s answer has no choices",
                                     write_json(body).value_or("")),
                  events);
    }
    begin_chunk(body, events);
    add(body, {}, events);
    if (!has_ended()) end_message(true, events);
  }

  bool is_whole() const override { return message_.has_finish(); }

  void end_message(bool marked, std::vector<Event>& events) override {
    if (!marked && !message_.has_finish()) return fail(truncated_stream(context().provider), events);
    std::expected<MessageCompleted, std::string> completed = message_.complete(events);
    if (!completed) {
      return fail(malformed_response(context().provider,
                                     context().provider + "'s answer cannot be read: " + completed.error(), {}),
                  events);
    }
    complete(*std::move(completed), events);
  }

  void add(const Json& chunk, std::string_view data, std::vector<Event>& events) {
    if (const auto error = message_.add(chunk, events)) return fail_malformed(*error, data, events);
    if (message_.finish() != "error") return;
    fail(inband_error(context().provider,
                      {.message = context().provider + " ended the message with an error and gave no reason",
                       .code = "server_error"}),
         events);
  }

  ChunkTemplate template_{"content"};
  FastChunk chunk_;
  ChatMessage message_;
};

}  // namespace

std::unique_ptr<BodyDecoder> chat_decoder(DecoderContext context) {
  return std::make_unique<ChatDecoder>(std::move(context));
}

}  // namespace allm::openai_wire
