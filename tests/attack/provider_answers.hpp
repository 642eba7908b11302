// Answers of a hostile provider, in each protocol, and how to decode them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "allm/event.hpp"

#include "providers/anthropic/anthropic.hpp"
#include "providers/codec.hpp"
#include "providers/gemini/gemini.hpp"
#include "providers/openai/openai.hpp"

namespace allm::provider_attack {

struct Call {
  std::string id;
  std::string arguments = "{}";
};

struct Protocol {
  const char* name;
  std::shared_ptr<const Codec> codec;
  const char* model;
  std::string (*stream)(const std::vector<Call>& calls);
  std::string (*whole)(const std::vector<Call>& calls);
};

inline std::string quoted(const std::string& text) { return Json(text).dump(); }
inline std::string event(const std::string& data) { return "data: " + data + "\n\n"; }

inline std::string chat_stream(const std::vector<Call>& calls) {
  std::string body;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    body +=
        event(R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":)" + std::to_string(i) + R"(,"id":)" +
              quoted(calls[i].id) + R"(,"function":{"name":"f","arguments":)" + quoted(calls[i].arguments) + "}}]}}]}");
  }
  return body + event(R"({"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]})") + event("[DONE]");
}

inline std::string chat_whole(const std::vector<Call>& calls) {
  std::string list;
  for (const Call& call : calls) {
    list += (list.empty() ? "" : ",") + (R"({"id":)" + quoted(call.id) + R"(,"function":{"name":"f","arguments":)") +
            quoted(call.arguments) + "}}";
  }
  return R"({"choices":[{"index":0,"message":{"tool_calls":[)" + list + R"(]},"finish_reason":"tool_calls"}]})";
}

inline std::string responses_output(const std::vector<Call>& calls) {
  std::string list;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    list += (i == 0 ? "" : ",") + (R"({"type":"function_call","id":"i)" + std::to_string(i)) + R"(","call_id":)" +
            quoted(calls[i].id) + R"(,"name":"f","arguments":)" + quoted(calls[i].arguments) + "}";
  }
  return R"({"id":"r","status":"completed","output":[)" + list + "]}";
}

inline std::string responses_stream(const std::vector<Call>& calls) {
  std::string body = event(R"({"type":"response.created","response":{"id":"r"}})");
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string item = R"({"type":"function_call","id":"i)" + std::to_string(i) + R"(","call_id":)" +
                             quoted(calls[i].id) + R"(,"name":"f","arguments":)";
    const std::string place = R"("output_index":)" + std::to_string(i) + ",";
    body += event(R"({"type":"response.output_item.added",)" + place + R"("item":)" + item + "\"\"}}");
    body += event(R"({"type":"response.output_item.done",)" + place + R"("item":)" + item + quoted(calls[i].arguments) +
                  "}}");
  }
  return body + event(R"({"type":"response.completed","response":)" + responses_output(calls) + "}");
}

inline std::string anthropic_stream(const std::vector<Call>& calls) {
  std::string body = event(R"({"type":"message_start","message":{"id":"m"}})");
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string place = R"("index":)" + std::to_string(i);
    body += event(R"({"type":"content_block_start",)" + place + R"(,"content_block":{"type":"tool_use","id":)" +
                  quoted(calls[i].id) + R"(,"name":"f","input":{}}})");
    body += event(R"({"type":"content_block_delta",)" + place +
                  R"(,"delta":{"type":"input_json_delta","partial_json":)" + quoted(calls[i].arguments) + "}}");
    body += event(R"({"type":"content_block_stop",)" + place + "}");
  }
  return body + event(R"({"type":"message_delta","delta":{"stop_reason":"tool_use"}})") +
         event(R"({"type":"message_stop"})");
}

inline std::string anthropic_whole(const std::vector<Call>& calls) {
  std::string list;
  for (const Call& call : calls) {
    list += (list.empty() ? "" : ",") + (R"({"type":"tool_use","id":)" + quoted(call.id)) + R"(,"name":"f","input":)" +
            call.arguments + "}";
  }
  return R"({"type":"message","id":"m","content":[)" + list + R"(],"stop_reason":"tool_use"})";
}

inline std::string gemini_part(const Call& call) {
  return R"({"functionCall":{"name":"f","id":)" + quoted(call.id) + R"(,"args":)" + call.arguments + "}}";
}

inline std::string gemini_stream(const std::vector<Call>& calls) {
  std::string body;
  for (const Call& call : calls) body += event(R"({"candidates":[{"content":{"parts":[)" + gemini_part(call) + "]}}]}");
  return body + event(R"({"candidates":[{"finishReason":"STOP"}]})");
}

inline std::string gemini_whole(const std::vector<Call>& calls) {
  std::string list;
  for (const Call& call : calls) list += (list.empty() ? "" : ",") + gemini_part(call);
  return R"({"candidates":[{"content":{"parts":[)" + list + R"(]},"finishReason":"STOP"}]})";
}

inline std::vector<Protocol> protocols() {
  return {{"chat", openai_codec({}), "gpt-4.1", chat_stream, chat_whole},
          {"responses", openai_codec({}), "gpt-5", responses_stream, responses_output},
          {"anthropic", anthropic_codec({}), "claude-haiku-4-5", anthropic_stream, anthropic_whole},
          {"gemini", gemini_codec({}), "gemini-2.5-flash", gemini_stream, gemini_whole}};
}

// Calls f for both forms of an answer with these calls.
inline void for_each_answer(const std::vector<Call>& calls,
                            const std::function<void(const Protocol& protocol, const HttpResponseHead& head,
                                                     const std::string& body, const std::string& name)>& f) {
  static const HttpResponseHead kStream{200, {{"content-type", "text/event-stream"}}};
  static const HttpResponseHead kWhole{200, {{"content-type", "application/json"}}};
  for (const Protocol& protocol : protocols()) {
    f(protocol, kStream, protocol.stream(calls), std::string(protocol.name) + ", stream");
    f(protocol, kWhole, protocol.whole(calls), std::string(protocol.name) + ", whole answer");
  }
}

inline AdapterCall call_for(const Protocol& protocol) {
  AdapterCall call;
  call.model = protocol.model;
  call.request.messages = {user("hi")};
  return call;
}

inline std::vector<Event> decoded(const Protocol& protocol, const HttpResponseHead& head, std::string_view body,
                                  const AnswerLimits& limits = {}) {
  const std::unique_ptr<BodyDecoder> decoder = protocol.codec->decoder(call_for(protocol), head);
  decoder->set_limits({.answer = limits});
  std::vector<Event> events;
  for (; !body.empty(); body.remove_prefix(std::min<std::size_t>(body.size(), 16U << 10U))) {
    decoder->feed(body.substr(0, 16U << 10U), events);
  }
  decoder->finish(events);
  return events;
}

// The message of the error that ends the events; "" if they end with a message.
inline std::string error_in(const std::vector<Event>& events) {
  const auto* failed = events.empty() ? nullptr : events.back().get_if<ErrorEvent>();
  return failed == nullptr ? "" : failed->error.message();
}

}  // namespace allm::provider_attack
