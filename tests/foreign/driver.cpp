// The program through which tests/foreign/*.mjs call models with allm. It reads one JSON object per line from standard
// input, runs each as a model call or an agent, eight at a time, and writes one JSON object per line to standard output
// when it ends. tests/foreign/README.md describes both objects. It ends when standard input ends and all calls have
// ended.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "allm/chat.hpp"
#include "allm/providers.hpp"
#include "allm/serialize.hpp"
#include "allm/tool.hpp"

namespace allm::foreign {
namespace {

constexpr int kThreads = 8;

std::chrono::milliseconds milliseconds(const Json& json, const char* name, std::int64_t fallback) {
  return std::chrono::milliseconds(json.value(name, fallback));
}

HttpOptions http_options(const Json& job) {
  HttpOptions http;
  http.connect_timeout = milliseconds(job, "connect_timeout", 5'000);
  http.receive_timeout = milliseconds(job, "receive_timeout", 10'000);
  http.stream_timeout = milliseconds(job, "stream_timeout", 10'000);
  const Json headers = job.value("headers", Json::object());
  for (const auto& [name, value] : headers.items()) {
    http.headers.emplace_back(name, value.get<std::string>());
  }
  return http;
}

OpenAiOptions::Endpoint endpoint_of(const std::string& provider) {
  return provider == "openai-chat" ? OpenAiOptions::Endpoint::chat : OpenAiOptions::Endpoint::responses;
}

Result<std::shared_ptr<Adapter>> adapter_of(const Json& job) {
  const std::string provider = job.at("provider");
  const std::string url = job.at("base_url");
  const ApiKey key = job.value("key", "the-key-of-the-test");
  const HttpOptions http = http_options(job);
  if (provider == "openai-chat" || provider == "openai-responses") {
    return openai({.base_url = url, .endpoint = endpoint_of(provider), .api_key = key, .http = http});
  }
  if (provider == "anthropic") {
    return anthropic({.base_url = url,
                      .api_key = key,
                      .native_structured_output = job.value("native_structured_output", false),
                      .http = http});
  }
  if (provider == "gemini") return gemini({.base_url = url, .api_key = key, .http = http});
  return compatible({.server = provider, .base_url = url, .api_key = key, .http = http});
}

RetryPolicy retry_policy(const Json& job) {
  RetryPolicy retry;
  retry.max_attempts = job.value("attempts", 1);
  retry.base_delay = std::chrono::milliseconds(1);
  retry.max_delay = std::chrono::milliseconds(5);
  retry.jitter = std::chrono::milliseconds(1);
  retry.respect_retry_after = false;
  return retry;
}

// A handler that answers with `result`, or fails if `result` is {"failure": reason}.
Handler handler_with(const Json& result) {
  return [result](const Json&) {
    if (result.is_object() && result.contains("failure")) return failure(result.at("failure").get<std::string>());
    return ok(result);
  };
}

Result<Request> request_of(const Json& job) {
  Result<Request> request = from_json_value<Request>(job.at("request"));
  if (!request) return request;
  const Json results = job.value("tool_results", Json::object());
  for (Tool& tool : request->tools) {
    if (results.contains(tool.name)) tool.handler = handler_with(results.at(tool.name));
  }
  return request;
}

// What the consumer of a stream sees.
struct Seen {
  std::string text;
  std::string reasoning;
  Json calls = Json::array();  // name and arguments of each handler that was started
  std::int64_t events = 0;
};

void see(Seen& seen, const Event& event) {
  ++seen.events;
  if (const auto* text = event.get_if<TextDelta>()) seen.text += text->delta;
  if (const auto* reasoning = event.get_if<ReasoningDelta>()) seen.reasoning += reasoning->delta;
  if (const auto* call = event.get_if<ToolExecutionStarted>()) {
    seen.calls.push_back({{"name", call->name}, {"arguments", call->arguments}});
  }
}

Json response_json(const Response& response) {
  Json json = to_json_value(response).at("data");
  json["text"] = response.text().value_or("");
  return json;
}

Json to_output(const Response& response) { return response_json(response); }

Json to_output(const ChatResult& result) {
  Json json = result.final_response ? response_json(*result.final_response) : Json::object();
  json["text"] = result.text();
  json["halted_reason"] = result.halted_reason();
  json["steps"] = result.steps.size();
  json["messages"] = to_json_value(result.thread).at("data").at("messages");
  if (result.error() != nullptr) json["error"] = to_json_value(*result.error());
  return json;
}

template <class Stream>
Json run_stream(Stream stream) {
  Seen seen;
  while (auto event = stream.next()) see(seen, *event);
  const auto result = stream.finish();
  Json output = {
      {"seen", {{"text", seen.text}, {"reasoning", seen.reasoning}, {"calls", seen.calls}, {"events", seen.events}}}};
  if (result) {
    output["result"] = to_output(*result);
  } else {
    output["error"] = to_json_value(result.error());
  }
  return output;
}

Json run(const Json& job) {
  Result<std::shared_ptr<Adapter>> adapter = adapter_of(job);
  if (!adapter) return {{"error", to_json_value(adapter.error())}};
  Result<Request> request = request_of(job);
  if (!request) return {{"error", to_json_value(request.error())}};
  const Engine engine({.adapter = *adapter, .model = job.at("model").get<std::string>(), .retry = retry_policy(job)});
  if (job.value("mode", "generate") == "chat") return run_stream(stream(engine, std::move(*request)));
  return run_stream(stream_generate(engine, std::move(*request)));
}

void serve(std::mutex& input, std::mutex& output) {
  for (std::string line;;) {
    {
      const std::lock_guard lock(input);
      if (!std::getline(std::cin, line)) return;
    }
    const Json job = Json::parse(line);
    const auto start = std::chrono::steady_clock::now();
    Json answer = run(job);
    answer["id"] = job.at("id");
    answer["milliseconds"] =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count();
    const std::lock_guard lock(output);
    std::cout << answer.dump() << std::endl;
  }
}

}  // namespace
}  // namespace allm::foreign

int main() {
  std::mutex input;
  std::mutex output;
  std::vector<std::jthread> threads;
  for (int i = 0; i < allm::foreign::kThreads; ++i) {
    threads.emplace_back([&] { allm::foreign::serve(input, output); });
  }
}
