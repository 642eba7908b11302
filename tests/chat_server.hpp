// A loopback server that answers like OpenAI's Chat Completions, and an engine that uses it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "runtime/test_waits.hpp"
#include "tests/http_server.hpp"
#include "tests/produced.hpp"
#include "tests/provider_rig.hpp"

namespace allm::testing {

inline constexpr const char* kStream = "text/event-stream";

// The streamed answer "Hello wörld".
inline const std::string& hello() {
  static const auto* const text = new std::string(
      "data: "
      "{\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
      "\"finish_reason\":null}]}\n\n"
      "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello \"},"
      "\"finish_reason\":null}]}\n\n"
      "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"w\\u00f6rld\"},"
      "\"finish_reason\":null}]}\n\n"
      "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
      "data: [DONE]\n\n");
  return *text;
}

inline void say_hello(Reply& reply) { send_stream(reply, hello()); }

inline const char* chat_key() { return provider_cases().front().key; }

inline Engine engine_at(const HttpServer& server, HttpOptions http = {}, RetryPolicy retry = RetryPolicy::off(),
                        std::shared_ptr<Runtime> runtime = nullptr) {
  http.ca_file = server.ca_file();
  return Engine({.adapter = openai({.base_url = server.url() + "/v1",
                                    .endpoint = OpenAiOptions::Endpoint::chat,
                                    .api_key = chat_key(),
                                    .http = http}),
                 .model = "gpt-4.1",
                 .retry = std::move(retry),
                 .telemetry = noting_telemetry(),
                 .runtime = std::move(runtime)});
}

inline RetryPolicy quick_retries() {
  return {.base_delay = std::chrono::milliseconds(1), .jitter = std::chrono::milliseconds(0)};
}

inline Result<Response> ask(const Engine& engine, const CallOptions& options = default_options()) {
  return generate(engine, {.messages = {user("hi")}}, options);
}

// The error of a call: returned, or in the response.
inline Error error_of(const Result<Response>& response) {
  const Error error = response ? response->error.value_or(Error(StreamError{}, "there is no error")) : response.error();
  note_produced(error);
  return error;
}

inline void expect_hello(const Result<Response>& response) {
  ASSERT_TRUE(response.has_value()) << response.error().message();
  EXPECT_EQ(response->text(), "Hello wörld");
  EXPECT_EQ(response->finish_reason, FinishReason::stop);
}

}  // namespace allm::testing
