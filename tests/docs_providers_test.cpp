// The code of docs/providers.md. scripts/check_snippets.py compares the regions with the document.
#include <string>

#include <gtest/gtest.h>

#include "allm/allm.hpp"

#include "tests/chat_server.hpp"

namespace allm::docs_providers_test {
namespace {

using testing::HttpServer;
using testing::Reply;
using testing::ServedRequest;

TEST(DocsProviders, Adapters) {
  const HttpServer server([](const ServedRequest&, Reply& reply) { testing::say_hello(reply); });
  const std::string gateway = server.url() + "/v1";
  const std::string ca_file = server.ca_file();
  // [providers-adapter]
  const allm::Engine engine({
      .adapter = allm::openai({
          .base_url = gateway,  // default: api.openai.com
          .endpoint = allm::OpenAiOptions::Endpoint::chat,
          .api_key = "the-key",  // default: OPENAI_API_KEY
          .http = {.stream_timeout = std::chrono::seconds(20), .ca_file = ca_file},
      }),
      .model = "gpt-4.1-mini",
      .catalogue = allm::builtin_catalogue(),
  });
  // [/providers-adapter]
  testing::expect_hello(generate(engine, {.messages = {user("hi")}}));

  // [providers-compatible]
  allm::Result<std::shared_ptr<allm::Adapter>> server_of_mine =
      allm::compatible({.server = "mine", .base_url = gateway, .http = {.ca_file = ca_file}});
  // [/providers-compatible]
  ASSERT_TRUE(server_of_mine.has_value());
  testing::expect_hello(generate(Engine({.adapter = *server_of_mine, .model = "m"}), {.messages = {user("hi")}}));
}

TEST(DocsProviders, Names) {
  // [providers-names]
  const allm::Result<allm::ModelName> name = allm::parse_model_name("openai@http://localhost:8080/v1:local");
  // name->provider == "openai", name->base_url == "http://localhost:8080/v1", name->model == "local"
  // [/providers-names]
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->provider, "openai");
  EXPECT_EQ(name->base_url, "http://localhost:8080/v1");
  EXPECT_EQ(name->model, "local");
  EXPECT_EQ(parse_model_name("ollama:qwen3:8b")->model, "qwen3:8b");
  EXPECT_FALSE(parse_model_name("gpt-4.1").has_value());
}

TEST(DocsProviders, Keys) {
  const HttpServer server([](const ServedRequest& request, Reply& reply) {
    const std::string key = request.header("authorization");
    if (key == "Bearer of-this-call" || key == "Bearer of-the-store") return testing::say_hello(reply);
    reply.send(401, "application/json", R"({"error":{"message":"no"}})");
  });
  EngineOptions made = testing::engine_at(server).options();
  const Engine engine(std::move(made));
  // [providers-keys]
  allm::set_key("openai", "of-the-store");  // for every engine of this process
  const auto first = allm::generate(engine, {.messages = {allm::user("hi")}});
  const auto second = allm::generate(engine, {.messages = {allm::user("hi")}}, {.api_key = "of-this-call"});
  allm::forget_key("openai");
  // [/providers-keys]
  testing::expect_hello(first);
  testing::expect_hello(second);
}

TEST(DocsProviders, Options) {
  const HttpServer server([](const ServedRequest& request, Reply& reply) {
    const Json body = Json::parse(request.body);
    EXPECT_EQ(body["top_p"], 0.9);
    EXPECT_EQ(body["seed"], 7);
    testing::say_hello(reply);
  });
  const Engine engine = testing::engine_at(server);
  // [providers-params]
  const auto response = allm::generate(
      engine, {.messages = {allm::user("hi")}},
      {.temperature = 0.2, .max_tokens = 500, .params = {{"top_p", 0.9}, {"seed", 7}, {"stream_timeout", 20'000}}});
  // [/providers-params]
  testing::expect_hello(response);
}

TEST(DocsProviders, Headers) {
  const HttpServer server([](const ServedRequest& request, Reply& reply) {
    const bool is_right = request.header("x-team") == "blue" && request.header("x-gateway-token") == "the-token";
    is_right ? testing::say_hello(reply) : reply.send(403, "text/plain", "who are you?");
  });
  const std::string gateway = server.url();
  const std::string ca_file = server.ca_file();
  // [providers-headers]
  const allm::HttpOptions http = {
      .ca_file = ca_file,
      .headers = {{"X-Team", "blue"}, {"X-Gateway-Token", "the-token"}},  // the token is redacted in errors
  };
  const auto adapter = allm::openai({.base_url = gateway, .api_key = "the-key", .http = http});
  // [/providers-headers]
  testing::expect_hello(generate(Engine({.adapter = adapter, .model = "gpt-4.1"}), {.messages = {user("hi")}}));
}

TEST(DocsProviders, WholeAnswers) {
  const HttpServer server([](const ServedRequest& request, Reply& reply) {
    EXPECT_FALSE(Json::parse(request.body).contains("stream"));
    reply.send(200, "application/json",
               testing::provider_cases().front().document("Hello wörld", Json::array()).dump());
  });
  const auto adapter = testing::engine_at(server).adapter();
  // [providers-whole]
  const allm::Engine engine({
      .adapter = adapter,
      .model = "gpt-4.1-mini",
      .defaults = {.stream = false},  // for every call; or Request::stream, or CallOptions::stream
  });
  const allm::Result<allm::ChatResult> result = allm::chat(engine, {allm::user("hi")});
  // [/providers-whole]
  ASSERT_TRUE(result.has_value()) << result.error().message();
  EXPECT_EQ(result->text(), "Hello wörld");
}

TEST(DocsProviders, LimitsOfAnswers) {
  const HttpServer server([](const ServedRequest&, Reply& reply) { testing::say_hello(reply); });
  const auto adapter = testing::engine_at(server).adapter();
  // [providers-answer-limits]
  const allm::Engine engine({
      .adapter = adapter,
      .model = "gpt-4.1-mini",
      .answer_limits = {.max_calls = 100, .max_argument_bytes = 64 << 10},
  });
  // [/providers-answer-limits]
  ASSERT_TRUE(chat(engine, {user("hi")}).has_value());
  EXPECT_EQ(engine.options().answer_limits.max_calls, 100U);
}

TEST(DocsProviders, Retries) {
  const HttpServer server([](const ServedRequest&, Reply& reply) { testing::say_hello(reply); });
  const auto adapter = testing::engine_at(server).adapter();
  // [providers-retries]
  const allm::Engine engine({
      .adapter = adapter,
      .model = "gpt-4.1-mini",
      .retry = {.max_attempts = 5, .max_retry_after = std::chrono::seconds(20)},
  });
  const auto result = allm::chat(engine, {allm::user("hi")}, {.run_timeout = std::chrono::seconds(60)});
  // [/providers-retries]
  ASSERT_TRUE(result.has_value()) << result.error().message();
  const Error busy(AdapterError{.reason = AdapterError::Reason::rate_limited});
  EXPECT_TRUE(is_retryable(engine.options().retry, busy));
  EXPECT_FALSE(is_retryable(RetryPolicy::off(), busy));
}

}  // namespace
}  // namespace allm::docs_providers_test
