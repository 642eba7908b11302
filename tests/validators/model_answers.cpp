#include "tests/validators/model_answers.hpp"

#include "allm/json.hpp"

namespace allm::testing {
namespace {

std::string data(const Json& json) { return "data: " + json.dump() + "\n\n"; }
std::string named(const Json& json) { return "event: " + json["type"].get<std::string>() + "\n" + data(json); }

std::string chat_chunk(const Json& delta, const Json& finish = nullptr) {
  return data({{"id", "chatcmpl-1"},
               {"object", "chat.completion.chunk"},
               {"model", "m"},
               {"choices", {{{"index", 0}, {"delta", delta}, {"finish_reason", finish}}}}});
}

Json object_or_empty(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_object() ? value : Json::object();
}

// The events of one block of an Anthropic message.
std::string block(std::size_t index, const Json& start, const std::vector<Json>& deltas) {
  std::string events = named({{"type", "content_block_start"}, {"index", index}, {"content_block", start}});
  for (const Json& delta : deltas) {
    events += named({{"type", "content_block_delta"}, {"index", index}, {"delta", delta}});
  }
  return events + named({{"type", "content_block_stop"}, {"index", index}});
}

}  // namespace

std::string chat_answer(const Answer& answer) {
  std::string body = chat_chunk({{"role", "assistant"}, {"content", ""}});
  if (!answer.reasoning.empty()) body += chat_chunk({{"reasoning_content", answer.reasoning}});
  if (!answer.signature.empty()) {
    body += chat_chunk(
        {{"reasoning_details", {{{"type", "reasoning.encrypted"}, {"index", 0}, {"data", answer.signature}}}}});
  }
  if (!answer.text.empty()) body += chat_chunk({{"content", answer.text}});
  for (std::size_t i = 0; i < answer.calls.size(); ++i) {
    const AnsweredCall& call = answer.calls[i];
    const Json function = {{"name", call.name}, {"arguments", call.arguments}};
    body +=
        chat_chunk({{"tool_calls", {{{"index", i}, {"id", call.id}, {"type", "function"}, {"function", function}}}}});
  }
  const char* finish = answer.is_cut ? "length" : answer.calls.empty() ? "stop" : "tool_calls";
  return body + chat_chunk(Json::object(), finish) + "data: [DONE]\n\n";
}

std::string responses_answer(const Answer& answer) {
  Json output = Json::array();
  if (!answer.signature.empty()) {
    output.push_back({{"type", "reasoning"},
                      {"id", "rs_1"},
                      {"summary", {{{"type", "summary_text"}, {"text", answer.reasoning}}}},
                      {"encrypted_content", answer.signature},
                      {"status", nullptr}});
  }
  if (!answer.text.empty()) {
    const Json part = {{"type", "output_text"}, {"text", answer.text}, {"annotations", Json::array()}};
    output.push_back({{"type", "message"}, {"id", "msg_1"}, {"role", "assistant"}, {"content", {part}}});
  }
  for (const AnsweredCall& call : answer.calls) {
    output.push_back({{"type", "function_call"},
                      {"id", "fc_" + call.id},
                      {"call_id", call.id},
                      {"name", call.name},
                      {"arguments", call.arguments}});
  }
  Json response = {{"id", "resp_1"}, {"model", "m"}, {"status", "in_progress"}, {"output", Json::array()}};
  std::string body = named({{"type", "response.created"}, {"response", response}});
  for (std::size_t i = 0; i < output.size(); ++i) {
    body += named({{"type", "response.output_item.done"}, {"output_index", i}, {"item", output[i]}});
  }
  response["status"] = answer.is_cut ? "incomplete" : "completed";
  if (answer.is_cut) response["incomplete_details"] = {{"reason", "max_output_tokens"}};
  response["output"] = output;
  const char* last = answer.is_cut ? "response.incomplete" : "response.completed";
  return body + named({{"type", last}, {"response", response}});
}

std::string anthropic_answer(const Answer& answer) {
  std::string body = named(
      {{"type", "message_start"},
       {"message",
        {{"id", "msg_1"}, {"type", "message"}, {"role", "assistant"}, {"model", "m"}, {"content", Json::array()}}}});
  std::size_t index = 0;
  if (!answer.signature.empty()) {
    body += block(index++, {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}},
                  {{{"type", "thinking_delta"}, {"thinking", answer.reasoning}},
                   {{"type", "signature_delta"}, {"signature", answer.signature}}});
    body += block(index++, {{"type", "redacted_thinking"}, {"data", answer.signature}}, {});
  }
  if (!answer.text.empty()) {
    body += block(index++, {{"type", "text"}, {"text", ""}}, {{{"type", "text_delta"}, {"text", answer.text}}});
  }
  for (const AnsweredCall& call : answer.calls) {
    body += block(index++, {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", Json::object()}},
                  {{{"type", "input_json_delta"}, {"partial_json", call.arguments}}});
  }
  const char* reason = answer.is_cut ? "max_tokens" : answer.calls.empty() ? "end_turn" : "tool_use";
  return body + named({{"type", "message_delta"}, {"delta", {{"stop_reason", reason}, {"stop_sequence", nullptr}}}}) +
         named({{"type", "message_stop"}});
}

std::string gemini_answer(const Answer& answer) {
  Json parts = Json::array();
  if (!answer.reasoning.empty()) parts.push_back({{"text", answer.reasoning}, {"thought", true}});
  if (!answer.text.empty()) parts.push_back({{"text", answer.text}});
  const std::size_t first_call = parts.size();
  for (const AnsweredCall& call : answer.calls) {
    Json function = {{"name", call.name}, {"args", object_or_empty(call.arguments)}};
    if (!call.id.starts_with("gemini-")) function["id"] = call.id;
    parts.push_back({{"functionCall", function}});
  }
  if (!answer.signature.empty()) {
    // On the first call, or on a last part without text.
    if (first_call == parts.size()) parts.push_back({{"text", ""}});
    parts[first_call]["thoughtSignature"] = answer.signature;
  }
  return data({{"candidates",
                {{{"index", 0},
                  {"content", {{"role", "model"}, {"parts", parts}}},
                  {"finishReason", answer.is_cut ? "MAX_TOKENS" : "STOP"}}}},
               {"modelVersion", "m"},
               {"responseId", "r1"}});
}

}  // namespace allm::testing
