// Small answers in the format of every provider, for tests of rules that all decoders share. Texts and arguments are
// JSON strings as they are on the wire, with their quotes and escapes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "providers/anthropic/anthropic.hpp"
#include "providers/gemini/gemini.hpp"
#include "providers/openai/openai.hpp"

namespace allm::testing {

inline const HttpResponseHead kStreamHead{200, {{"content-type", "text/event-stream"}}};
inline const HttpResponseHead kWholeHead{200, {{"content-type", "application/json"}}};

enum class Piece { text, reasoning, arguments };

// One provider's format. The message has at most one call: "f", with the id "c1" where the format has ids.
struct WireFormat {
  const char* name;
  std::shared_ptr<const Codec> codec;
  const char* model;
  const char* calls_word;            // the finish reason of a message with calls
  const char* stop_word;             // and of one without
  const char* length_word;           // of a message that was cut off
  const char* filter_word;           // of a message that was filtered
  bool streams_arguments;            // false: the arguments of a call come in one piece
  std::string (*begin)();            // the events before the first piece
  std::string (*start)(Piece kind);  // the events before the first piece of a kind
  std::string (*piece)(Piece kind, const std::string& json_string);
  std::string (*finish)(const std::string& word);  // the events that give the finish reason
  std::string (*end)(const std::string& word);     // the events after it
  std::string (*whole)(const std::string& arguments_object, const std::string& word);  // a message with a call
};

inline std::string event_of(const std::string& json) { return "data: " + json + "\n\n"; }

namespace wire {

inline std::string nothing() { return ""; }
inline std::string nothing_for(Piece /*kind*/) { return ""; }
inline std::string nothing_after(const std::string& /*word*/) { return ""; }

// A JSON object as the content of a JSON string.
inline std::string quoted(const std::string& json) { return Json(json).dump(); }

inline std::string chat_delta(const std::string& members) {
  return event_of(R"({"id":"r","model":"m","choices":[{"index":0,"delta":{)" + members +
                  R"(},"finish_reason":null}]})");
}
inline std::string chat_start(Piece kind) {
  if (kind != Piece::arguments) return "";
  return chat_delta(R"("tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}])");
}
inline std::string chat_piece(Piece kind, const std::string& text) {
  if (kind == Piece::text) return chat_delta(R"("content":)" + text);
  if (kind == Piece::reasoning) return chat_delta(R"("reasoning_content":)" + text);
  return chat_delta(R"("tool_calls":[{"index":0,"function":{"arguments":)" + text + "}}]");
}
inline std::string chat_finish(const std::string& word) {
  return event_of(R"({"id":"r","choices":[{"index":0,"delta":{},"finish_reason":")" + word + R"("}]})");
}
inline std::string chat_end(const std::string& /*word*/) {
  return event_of(R"({"id":"r","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}})") +
         event_of("[DONE]");
}
inline std::string chat_whole(const std::string& arguments, const std::string& word) {
  return R"({"id":"r","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1",)"
         R"("type":"function","function":{"name":"f","arguments":)" +
         quoted(arguments) + R"(}}]},"finish_reason":")" + word + R"("}]})";
}

inline std::string responses_begin() {
  return event_of(R"({"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}})");
}
inline std::string responses_start(Piece kind) {
  if (kind != Piece::arguments) return "";
  return event_of(R"({"type":"response.output_item.added","output_index":0,"item":{"type":"function_call",)"
                  R"("id":"fc_1","call_id":"c1","name":"f","arguments":""}})");
}
inline std::string responses_piece(Piece kind, const std::string& text) {
  if (kind == Piece::text) return event_of(R"({"type":"response.output_text.delta","delta":)" + text + "}");
  if (kind == Piece::reasoning) return event_of(R"({"type":"response.reasoning_text.delta","delta":)" + text + "}");
  return event_of(R"({"type":"response.function_call_arguments.delta","item_id":"fc_1","delta":)" + text + "}");
}
// The members of a response that say how it ended: all words but "completed" are reasons of an incomplete one.
inline std::string responses_status(const std::string& word) {
  if (word == "completed") return R"("status":"completed","incomplete_details":null)";
  return R"("status":"incomplete","incomplete_details":{"reason":")" + word + R"("})";
}
inline std::string responses_finish(const std::string& word) {
  const std::string type = word == "completed" ? "completed" : "incomplete";
  return event_of(R"({"type":"response.)" + type + R"(","response":{"id":"r",)" + responses_status(word) +
                  R"(,"output":[]}})");
}
inline std::string responses_whole(const std::string& arguments, const std::string& word) {
  return R"({"id":"r","object":"response",)" + responses_status(word) +
         R"(,"output":[{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":)" +
         quoted(arguments) + "}]}";
}

inline std::string anthropic_index(Piece kind) { return std::to_string(static_cast<int>(kind)); }
inline std::string anthropic_begin() {
  return event_of(
      R"({"type":"message_start","message":{"id":"r","model":"m","content":[],"usage":{"input_tokens":1}}})");
}
inline std::string anthropic_start(Piece kind) {
  const std::string block = kind == Piece::text        ? R"({"type":"text","text":""})"
                            : kind == Piece::reasoning ? R"({"type":"thinking","thinking":"","signature":""})"
                                                       : R"({"type":"tool_use","id":"c1","name":"f","input":{}})";
  return event_of(R"({"type":"content_block_start","index":)" + anthropic_index(kind) + R"(,"content_block":)" + block +
                  "}");
}
inline std::string anthropic_piece(Piece kind, const std::string& text) {
  const std::string delta = kind == Piece::text        ? R"({"type":"text_delta","text":)"
                            : kind == Piece::reasoning ? R"({"type":"thinking_delta","thinking":)"
                                                       : R"({"type":"input_json_delta","partial_json":)";
  return event_of(R"({"type":"content_block_delta","index":)" + anthropic_index(kind) + R"(,"delta":)" + delta + text +
                  "}}");
}
inline std::string anthropic_finish(const std::string& word) {
  return event_of(R"({"type":"message_delta","delta":{"stop_reason":")" + word + R"("},"usage":{"output_tokens":1}})");
}
inline std::string anthropic_end(const std::string& /*word*/) { return event_of(R"({"type":"message_stop"})"); }
inline std::string anthropic_whole(const std::string& arguments, const std::string& word) {
  return R"({"id":"r","type":"message","content":[{"type":"tool_use","id":"c1","name":"f","input":)" + arguments +
         R"(}],"stop_reason":")" + word + R"("})";
}

inline std::string gemini_part(const std::string& part) {
  return event_of(R"({"candidates":[{"content":{"parts":[)" + part + R"(],"role":"model"},"index":0}]})");
}
inline std::string gemini_piece(Piece kind, const std::string& text) {
  if (kind == Piece::text) return gemini_part(R"({"text":)" + text + "}");
  if (kind == Piece::reasoning) return gemini_part(R"({"text":)" + text + R"(,"thought":true})");
  // The arguments are an object, not a string.
  return gemini_part(R"({"functionCall":{"name":"f","args":)" + Json::parse(text).get<std::string>() + "}}");
}
inline std::string gemini_finish(const std::string& word) {
  return event_of(R"({"candidates":[{"finishReason":")" + word + R"(","index":0}]})");
}
inline std::string gemini_whole(const std::string& arguments, const std::string& word) {
  return R"({"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":)" + arguments +
         R"(}}],"role":"model"},"finishReason":")" + word + R"(","index":0}]})";
}

}  // namespace wire

// openai-chat, openai-responses, anthropic and gemini.
inline std::vector<WireFormat> wire_formats() {
  using namespace wire;
  return {
      {"openai-chat", openai_codec({}), "gpt-4.1", "tool_calls", "stop", "length", "content_filter", true, nothing,
       chat_start, chat_piece, chat_finish, chat_end, chat_whole},
      {"openai-responses", openai_codec({}), "gpt-5", "completed", "completed", "max_output_tokens", "content_filter",
       true, responses_begin, responses_start, responses_piece, responses_finish, nothing_after, responses_whole},
      {"anthropic", anthropic_codec({}), "claude-haiku-4-5", "tool_use", "end_turn", "max_tokens", "refusal", true,
       anthropic_begin, anthropic_start, anthropic_piece, anthropic_finish, anthropic_end, anthropic_whole},
      {"gemini", gemini_codec({}), "gemini-2.5-flash", "STOP", "STOP", "MAX_TOKENS", "SAFETY", false, nothing,
       nothing_for, gemini_piece, gemini_finish, nothing_after, gemini_whole},
  };
}

inline AdapterCall call_for(const WireFormat& format) {
  AdapterCall call;
  call.model = format.model;
  call.request_id = "run1";
  call.request.messages = {user("hi")};
  return call;
}

// A streamed message with a call.
inline std::string streamed_call(const WireFormat& format, const std::string& arguments, const std::string& word) {
  return format.begin() + format.start(Piece::arguments) + format.piece(Piece::arguments, wire::quoted(arguments)) +
         format.finish(word) + format.end(word);
}

}  // namespace allm::testing
