#include "bench/streams.hpp"

#include <array>

#include <fmt/format.h>

#include "allm/json.hpp"

namespace allm::bench {
namespace {

// About the length of real tokens. One of the sixteen needs unescaping, two are not ASCII.
constexpr std::array<std::string_view, 16> kTokens = {"The",   " Pacific", " is",  " by",    " far", " the",
                                                      " lar",  "gest",     " of",  " Earth", "'s",   " oceans",
                                                      " (165", "\n\n",     " Mio", " km²"};
// OpenAI adds such padding to hide the length of the text in a chunk.
constexpr std::string_view kObfuscation = "Kp1zx8QbL0sVw3";

std::string plain_event(std::string_view json) { return fmt::format("data: {}\n\n", json); }
std::string named_event(std::string_view name, std::string_view json) {
  return fmt::format("event: {}\ndata: {}\n\n", name, json);
}
std::string quoted(std::string_view text) { return Json(text).dump(); }

// Appends one chunk for each token; `write(number, quoted token)` returns its bytes.
template <class Write>
void add_tokens(Stream& stream, std::size_t chunks, Write write) {
  for (std::size_t i = 0; i < chunks; ++i) {
    const std::string_view token = kTokens[i % kTokens.size()];
    stream.bytes += write(i, quoted(token));
    stream.text_bytes += token.size();
  }
  stream.chunks += chunks;
}

std::string_view obfuscation(std::size_t number) {
  return kObfuscation.substr(0, 1 + number * 7 % kObfuscation.size());
}

}  // namespace

std::string chat_chunk(std::string_view delta, std::string_view finish_reason) {
  return plain_event(fmt::format(
      R"({{"id":"chatcmpl-CQ7f2Xw9LbT4mVhZ1sKdN8yRjU3aG","object":"chat.completion.chunk","created":1767000000,)"
      R"("model":"gpt-4.1-2025-04-14","service_tier":"default","system_fingerprint":"fp_9ab3c1d2e4",)"
      R"("choices":[{{"index":0,"delta":{},"logprobs":null,"finish_reason":{}}}],"usage":null,"obfuscation":"{}"}})",
      delta, finish_reason, obfuscation(delta.size())));
}

Stream chat_stream(std::size_t chunks) {
  Stream stream;
  stream.bytes = chat_chunk(R"({"role":"assistant","content":"","refusal":null})");
  add_tokens(stream, chunks, [](std::size_t /*number*/, const std::string& token) {
    return chat_chunk(fmt::format(R"({{"content":{}}})", token));
  });
  stream.bytes += chat_chunk("{}", R"("stop")") + "data: [DONE]\n\n";
  return stream;
}

Stream responses_stream(std::size_t chunks) {
  constexpr std::string_view kResponse =
      R"({{"type":"response.{0}","response":{{"id":"resp_77aa","object":"response","created_at":1767000100,)"
      R"("status":"{0}","model":"gpt-5.5-2026-04-23","output":[],"usage":null}}}})";
  Stream stream;
  stream.bytes = named_event("response.created", fmt::format(kResponse, "in_progress"));
  add_tokens(stream, chunks, [](std::size_t number, const std::string& token) {
    return named_event(
        "response.output_text.delta",
        fmt::format(R"({{"type":"response.output_text.delta","sequence_number":{},)"
                    R"("item_id":"msg_68a1f0c2d4b88190a7e35b9c0d1e2f34","output_index":1,"content_index":0,)"
                    R"("delta":{},"logprobs":[],"obfuscation":"{}"}})",
                    number + 2, token, obfuscation(number)));
  });
  stream.bytes += named_event("response.completed", fmt::format(kResponse, "completed"));
  return stream;
}

Stream anthropic_stream(std::size_t chunks) {
  Stream stream;
  stream.bytes =
      named_event("message_start",
                  R"({"type":"message_start","message":{"id":"msg_01Kx","type":"message","role":"assistant",)"
                  R"("model":"claude-sonnet-4-6","content":[],"stop_reason":null,"stop_sequence":null,)"
                  R"("usage":{"input_tokens":50,"output_tokens":1}}})") +
      named_event("content_block_start",
                  R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})");
  add_tokens(stream, chunks, [](std::size_t /*number*/, const std::string& token) {
    return named_event(
        "content_block_delta",
        fmt::format(R"({{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{}}}}})", token));
  });
  stream.bytes +=
      named_event("content_block_stop", R"({"type":"content_block_stop","index":0})") +
      named_event("message_delta", R"({"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},)"
                                   R"("usage":{"output_tokens":50000}})") +
      named_event("message_stop", R"({"type":"message_stop"})");
  return stream;
}

Stream gemini_stream(std::size_t chunks) {
  Stream stream;
  add_tokens(stream, chunks, [&](std::size_t number, const std::string& token) {
    return plain_event(fmt::format(
        R"({{"candidates":[{{"content":{{"parts":[{{"text":{}}}],"role":"model"}},{}"index":0}}],)"
        R"("usageMetadata":{{"promptTokenCount":9,"candidatesTokenCount":{},"totalTokenCount":{},)"
        R"("promptTokensDetails":[{{"modality":"TEXT","tokenCount":9}}]}},"modelVersion":"gemini-3-flash-preview",)"
        R"("responseId":"kQ8raf3MEuyYvdIPn5TQ0Ac"}})",
        token, number + 1 == chunks ? R"("finishReason":"STOP",)" : "", number + 1, number + 10));
  });
  return stream;
}

}  // namespace allm::bench
