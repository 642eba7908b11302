#include "tests/provider_rig.hpp"

#include "tests/produced.hpp"

namespace allm::testing {
namespace {

std::string data(const Json& json) { return "data: " + json.dump() + "\n\n"; }
std::string event(const Json& json) { return "event: " + json["type"].get<std::string>() + "\n" + data(json); }

Json chat_chunk(Json delta, Json finish) {
  return {{"id", "chatcmpl-1"},
          {"object", "chat.completion.chunk"},
          {"model", "m"},
          {"choices", {{{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish)}}}}};
}

std::string chat_answer(const std::string& text) {
  return data(chat_chunk({{"role", "assistant"}, {"content", ""}}, nullptr)) +
         data(chat_chunk({{"content", text}}, nullptr)) + data(chat_chunk(Json::object(), "stop")) +
         data({{"id", "chatcmpl-1"},
               {"choices", Json::array()},
               {"usage", {{"prompt_tokens", 3}, {"completion_tokens", 2}, {"total_tokens", 5}}}}) +
         "data: [DONE]\n\n";
}

std::string responses_answer(const std::string& text) {
  const Json part = {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}};
  const Json item = {{"id", "msg_1"},
                     {"type", "message"},
                     {"status", "completed"},
                     {"role", "assistant"},
                     {"content", Json::array({part})}};
  Json response = {{"id", "resp_1"}, {"object", "response"}, {"model", "m"}, {"status", "in_progress"}};
  std::string stream = event({{"type", "response.created"}, {"response", response}});
  stream += event({{"type", "response.output_text.delta"},
                   {"item_id", "msg_1"},
                   {"output_index", 0},
                   {"content_index", 0},
                   {"delta", text}});
  stream += event({{"type", "response.output_item.done"}, {"output_index", 0}, {"item", item}});
  response["status"] = "completed";
  response["output"] = Json::array({item});
  response["usage"] = {{"input_tokens", 3}, {"output_tokens", 2}, {"total_tokens", 5}};
  return stream + event({{"type", "response.completed"}, {"response", response}});
}

std::string anthropic_answer(const std::string& text) {
  return event({{"type", "message_start"},
                {"message",
                 {{"id", "msg_1"},
                  {"type", "message"},
                  {"role", "assistant"},
                  {"model", "m"},
                  {"content", Json::array()},
                  {"usage", {{"input_tokens", 3}, {"output_tokens", 1}}}}}}) +
         event({{"type", "content_block_start"}, {"index", 0}, {"content_block", {{"type", "text"}, {"text", ""}}}}) +
         event({{"type", "content_block_delta"}, {"index", 0}, {"delta", {{"type", "text_delta"}, {"text", text}}}}) +
         event({{"type", "content_block_stop"}, {"index", 0}}) +
         event({{"type", "message_delta"},
                {"delta", {{"stop_reason", "end_turn"}, {"stop_sequence", nullptr}}},
                {"usage", {{"output_tokens", 2}}}}) +
         event({{"type", "message_stop"}});
}

std::string gemini_answer(const std::string& text) {
  const Json content = {{"role", "model"}, {"parts", {{{"text", text}}}}};
  return data({{"candidates", {{{"index", 0}, {"content", content}, {"finishReason", "STOP"}}}},
               {"usageMetadata", {{"promptTokenCount", 3}, {"candidatesTokenCount", 2}, {"totalTokenCount", 5}}},
               {"modelVersion", "m"},
               {"responseId", "r1"}});
}

Json chat_document(const std::string& text, const Json& calls) {
  Json message = {{"role", "assistant"}, {"content", text}};
  for (const Json& call : calls) {
    message["tool_calls"].push_back({{"id", call["id"]},
                                     {"type", "function"},
                                     {"function", {{"name", call["name"]}, {"arguments", call["arguments"].dump()}}}});
  }
  return {{"id", "chatcmpl-1"},
          {"object", "chat.completion"},
          {"model", "m"},
          {"choices", {{{"index", 0}, {"message", message}, {"finish_reason", calls.empty() ? "stop" : "tool_calls"}}}},
          {"usage", {{"prompt_tokens", 3}, {"completion_tokens", 2}, {"total_tokens", 5}}}};
}

Json responses_document(const std::string& text, const Json& calls) {
  const Json part = {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}};
  Json output = Json::array({{{"id", "msg_1"},
                              {"type", "message"},
                              {"status", "completed"},
                              {"role", "assistant"},
                              {"content", Json::array({part})}}});
  for (const Json& call : calls) {
    output.push_back({{"id", "fc_1"},
                      {"type", "function_call"},
                      {"status", "completed"},
                      {"call_id", call["id"]},
                      {"name", call["name"]},
                      {"arguments", call["arguments"].dump()}});
  }
  return {{"id", "resp_1"},   {"object", "response"},
          {"model", "m"},     {"status", "completed"},
          {"output", output}, {"usage", {{"input_tokens", 3}, {"output_tokens", 2}, {"total_tokens", 5}}}};
}

Json anthropic_document(const std::string& text, const Json& calls) {
  Json content = Json::array({{{"type", "text"}, {"text", text}}});
  for (const Json& call : calls) {
    content.push_back({{"type", "tool_use"}, {"id", call["id"]}, {"name", call["name"]}, {"input", call["arguments"]}});
  }
  return {{"id", "msg_1"},
          {"type", "message"},
          {"role", "assistant"},
          {"model", "m"},
          {"content", content},
          {"stop_reason", calls.empty() ? "end_turn" : "tool_use"},
          {"stop_sequence", nullptr},
          {"usage", {{"input_tokens", 3}, {"output_tokens", 2}}}};
}

Json gemini_document(const std::string& text, const Json& calls) {
  Json parts = Json::array({{{"text", text}}});
  for (const Json& call : calls) {
    parts.push_back({{"functionCall", {{"id", call["id"]}, {"name", call["name"]}, {"args", call["arguments"]}}}});
  }
  const Json content = {{"role", "model"}, {"parts", parts}};
  return {{"candidates", {{{"index", 0}, {"content", content}, {"finishReason", "STOP"}}}},
          {"usageMetadata", {{"promptTokenCount", 3}, {"candidatesTokenCount", 2}, {"totalTokenCount", 5}}},
          {"modelVersion", "m"},
          {"responseId", "r1"}};
}

std::shared_ptr<Adapter> make_chat(std::string url, ApiKey key, HttpOptions http) {
  return openai({.base_url = std::move(url),
                 .endpoint = OpenAiOptions::Endpoint::chat,
                 .api_key = std::move(key),
                 .http = std::move(http)});
}
std::shared_ptr<Adapter> make_responses(std::string url, ApiKey key, HttpOptions http) {
  return openai({.base_url = std::move(url),
                 .endpoint = OpenAiOptions::Endpoint::responses,
                 .api_key = std::move(key),
                 .http = std::move(http)});
}
std::shared_ptr<Adapter> make_anthropic(std::string url, ApiKey key, HttpOptions http) {
  return anthropic({.base_url = std::move(url), .api_key = std::move(key), .http = std::move(http)});
}
std::shared_ptr<Adapter> make_gemini(std::string url, ApiKey key, HttpOptions http) {
  return gemini({.base_url = std::move(url), .api_key = std::move(key), .http = std::move(http)});
}
std::shared_ptr<Adapter> make_ollama(std::string url, ApiKey key, HttpOptions http) {
  return *compatible(
      {.server = "ollama", .base_url = std::move(url), .api_key = std::move(key), .http = std::move(http)});
}

}  // namespace

bool ProviderCase::asks_for_stream(const ServedRequest& request) {
  return request.target.find(":streamGenerateContent") != std::string::npos ||
         Json::parse(request.body).value("stream", false);
}

const std::vector<ProviderCase>& provider_cases() {
  static const auto* const cases = [] {
    auto* const all = new std::vector<ProviderCase>{
        {"openai-chat", "gpt-4.1", "/chat/completions", "sk-proj-Qx7vJ2mNbR4tLw9ZcE5yHk", "authorization", "Bearer ",
         "openai-chat-parallel-interleaved", make_chat, chat_answer, chat_document},
        {"openai-responses", "gpt-5.5", "/responses", "sk-proj-W3fTg8KpYd6sXa1VuB0qMz", "authorization", "Bearer ",
         "openai-responses-parallel-tools", make_responses, responses_answer, responses_document},
        {"anthropic", "claude-sonnet-4-6", "/messages", "sk-ant-api03-Rj5nCv9LeS2wPh7GxT4kFb", "x-api-key", "",
         "anthropic-parallel-tools", make_anthropic, anthropic_answer, anthropic_document},
        {"gemini", "gemini-2.5-flash", "/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
         "AIza-Sy8Ud1ZoNq3Bt6MrEj0WvKl5Xc9Ga2Hf", "x-goog-api-key", "", "gemini-thought-signature-roundtrip",
         make_gemini, gemini_answer, gemini_document},
        {"ollama", "qwen3:8b", "/chat/completions", "ollama-Pt4yDn8QkVs1JmXe7RbGw2", "authorization", "Bearer ",
         "openai-chat-parallel-interleaved", make_ollama, chat_answer, chat_document},
    };
    for (const ProviderCase& provider : *all) expect_secret(provider.key);
    return all;
  }();
  return *cases;
}

Engine engine_of(const ProviderCase& provider, const std::string& url, const std::string& ca_file) {
  HttpOptions http;
  http.ca_file = ca_file;
  return Engine({.adapter = provider.make(url + "/base", provider.key, http),
                 .model = provider.model,
                 .retry = RetryPolicy::off(),
                 .telemetry = noting_telemetry()});
}

void send_stream(Reply& reply, const std::string& body) {
  reply.begin(200, "text/event-stream");
  reply.chunk(body);
  reply.end();
}

}  // namespace allm::testing
