// Ways by which a key could leave the program unencrypted or become part of another header: proxies of the environment,
// proxies for http URLs, and line breaks.
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/chat_server.hpp"

namespace allm::network_keys_test {
namespace {

using testing::ask;
using testing::chat_key;
using testing::error_of;
using testing::expect_hello;
using testing::HttpServer;
using testing::Reply;
using testing::say_hello;
using testing::ServedRequest;

// An environment variable that has its old value again afterwards.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* old = std::getenv(name_.c_str())) old_ = old;
    setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Variable() { old_ ? setenv(name_.c_str(), old_->c_str(), 1) : unsetenv(name_.c_str()); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::string name_;
  std::optional<std::string> old_;
};

Engine engine_with(const std::string& base_url, HttpOptions http, ApiKey key = chat_key()) {
  return Engine({.adapter = openai({.base_url = base_url,
                                    .endpoint = OpenAiOptions::Endpoint::chat,
                                    .api_key = std::move(key),
                                    .http = std::move(http)}),
                 .model = "gpt-4.1",
                 .retry = RetryPolicy::off(),
                 .telemetry = testing::noting_telemetry()});
}

class AttackKeys : public ::testing::Test {
 protected:
  std::string at(const char* host) const { return std::string("http://") + host + ":" + port_ + "/v1"; }
  void expect_refused(const std::string& url, const HttpOptions& http, std::string_view option) {
    const Error error = error_of(ask(engine_with(url, http)));
    EXPECT_TRUE(error.is<EngineError>(EngineError::Reason::invalid_engine)) << error.message();
    EXPECT_NE(error.message().find(option), std::string::npos) << error.message();
    EXPECT_EQ(proxy_.connections(), 0U);
  }

  const HttpServer proxy_{[this](const ServedRequest& request, Reply& reply) {
                            seen_ = request;
                            reply.send(502, "text/plain", "no");
                          },
                          {.tls = false}};
  const HttpServer server_{[](const ServedRequest&, Reply& reply) { say_hello(reply); }, {.tls = false}};
  const std::string port_ = std::to_string(server_.port());
  ServedRequest seen_;
};

TEST_F(AttackKeys, NoProxyOfTheEnvironmentIsUsedForThisMachine) {
  const HttpServer tls([](const ServedRequest&, Reply& reply) { say_hello(reply); });
  for (const char* name : {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}) {
    for (const std::string& proxy : {proxy_.url(), "socks5h://127.0.0.1:" + std::to_string(proxy_.port())}) {
      const Variable variable(name, proxy);
      for (const char* host : {"127.0.0.1", "localhost", "LocalHost", "models.localhost", "127.1", "0x7f000001"}) {
        SCOPED_TRACE(std::string(name) + " " + host);
        expect_hello(ask(engine_with(at(host), {})));
      }
      expect_hello(ask(engine_with(tls.url() + "/v1", {.ca_file = tls.ca_file()})));
    }
  }
  EXPECT_EQ(proxy_.connections(), 0U);
}

TEST_F(AttackKeys, AKeyIsNotSentThroughAProxyWithoutTls) {
  for (const std::string& proxy : {proxy_.url(), "socks5://127.0.0.1:" + std::to_string(proxy_.port()),
                                   "https://localhost:" + std::to_string(proxy_.port())}) {
    expect_refused(at("127.0.0.1"), {.proxy = proxy}, "allow_key_to_proxy");
    expect_refused("http://model.test/v1", {.proxy = proxy}, "allow_insecure_key");
    expect_refused("http://model.test/v1", {.proxy = proxy, .allow_insecure_key = true}, "allow_key_to_proxy");
    for (const char* name : {"http_proxy", "all_proxy", "ALL_PROXY"}) {
      const Variable variable(name, proxy);
      expect_refused("http://model.test/v1", {.allow_insecure_key = true}, "allow_key_to_proxy");
      expect_refused("HTTP://model.test/v1", {.allow_insecure_key = true}, "allow_key_to_proxy");
    }
  }
}

TEST_F(AttackKeys, OtherSecretsAreNotSentThroughAProxyWithoutTls) {
  const auto error_with = [&](const std::string& url, HttpOptions http) {
    http.proxy = proxy_.url();
    const auto adapter = compatible({.server = "mine", .base_url = url, .http = http});
    return error_of(ask(Engine({.adapter = *adapter, .model = "m", .retry = RetryPolicy::off()})));
  };
  HttpOptions secret;
  secret.headers = {{"X-Gateway-Token", "gw-3fK9sL2mQ8xW"}};
  for (const Error& error :
       {error_with(at("localhost"), secret), error_with("http://user:password@localhost:" + port_ + "/v1", {})}) {
    EXPECT_TRUE(error.is<EngineError>(EngineError::Reason::invalid_engine)) << error.message();
    EXPECT_NE(error.message().find("allow_key_to_proxy"), std::string::npos) << error.message();
  }
  EXPECT_EQ(proxy_.connections(), 0U);
  EXPECT_EQ(error_with(at("localhost"), {}).reason(), "provider_unavailable") << "without a secret the proxy is used";
}

TEST_F(AttackKeys, APasswordInAUrlIsNotSentWithoutTls) {
  const auto adapter = compatible({.server = "mine", .base_url = "http://user:password@192.0.2.1/v1"});
  const Error error = error_of(ask(Engine({.adapter = *adapter, .model = "m", .retry = RetryPolicy::off()})));
  EXPECT_TRUE(error.is<EngineError>(EngineError::Reason::invalid_engine)) << error.message();
}

TEST_F(AttackKeys, AProgramCanAllowAProxyToReadTheKey) {
  const Variable variable("http_proxy", proxy_.url());
  const Error error =
      error_of(ask(engine_with("http://model.test/v1", {.allow_insecure_key = true, .allow_key_to_proxy = true})));
  EXPECT_EQ(error.reason(), "provider_unavailable") << error.message();
  EXPECT_EQ(seen_.target, "http://model.test/v1/chat/completions");
  EXPECT_EQ(seen_.header("authorization"), std::string("Bearer ") + chat_key());
}

TEST_F(AttackKeys, HostsInNoProxyNeedNoProxy) {
  const Variable proxy("http_proxy", proxy_.url());
  for (const char* list : {"model.invalid", "a,.model.invalid", "invalid", "*", "a MODEL.INVALID"}) {
    const Variable excepted("no_proxy", list);
    const Error error = error_of(ask(engine_with("http://model.invalid/v1", {.allow_insecure_key = true})));
    EXPECT_EQ(error.reason(), "network_error") << list << ": " << error.message();
  }
  EXPECT_EQ(proxy_.connections(), 0U);
}

constexpr const char* kSecret = "sk-attack-4Tz8pQ1vR7nB3wX5";

std::vector<std::string> broken_keys() {
  using namespace std::string_literals;
  return {kSecret + "\n"s, kSecret + "\r\n"s, kSecret + "\nX-Evil: 1"s,   kSecret + "\rX"s,
          "\n"s + kSecret, kSecret + "\0x"s,  kSecret + "\r\n\r\nGET /"s, kSecret + "\x7f"s};
}

class AttackKeysOf : public ::testing::TestWithParam<testing::ProviderCase> {
 protected:
  void expect_refused(const std::function<Result<Response>(const std::string& key)>& call) {
    for (const std::string& key : broken_keys()) {
      const Error error = error_of(call(key));
      EXPECT_TRUE(error.is<ValidationError>(ValidationError::Reason::invalid_option)) << error.message();
      EXPECT_EQ(error.message().find(kSecret), std::string::npos) << error.message();
      EXPECT_EQ(to_json(error).value_or("").find(kSecret), std::string::npos);
    }
    EXPECT_EQ(server_.requests(), 0U);
  }
  Engine engine(const ApiKey& key) const {
    return Engine({.adapter = GetParam().make(server_.url() + "/base", key, {.ca_file = server_.ca_file()}),
                   .model = GetParam().model,
                   .retry = RetryPolicy::off()});
  }
  const HttpServer server_{[](const ServedRequest&, Reply& reply) { reply.send(500, "text/plain", "no"); }};
};
INSTANTIATE_TEST_SUITE_P(All, AttackKeysOf, ::testing::ValuesIn(testing::provider_cases()), testing::case_name);

TEST_P(AttackKeysOf, WithLineBreaksAreRefused) {
  expect_refused([&](const std::string& key) { return ask(engine(key)); });
  expect_refused([&](const std::string& key) { return ask(engine("sk-good"), {.api_key = key}); });
  const std::string provider(engine("").adapter()->provider());
  expect_refused([&](const std::string& key) {
    set_key(provider, key);
    const auto response = ask(engine(""));
    forget_key(provider);
    return response;
  });
}

TEST(AttackHeaders, OfOptionsWithLineBreaksAreRefused) {
  const HttpServer server([](const ServedRequest&, Reply& reply) { reply.send(500, "text/plain", "no"); });
  const std::string evil = std::string(kSecret) + "\r\nX-Evil: 1";
  const HttpOptions http{.ca_file = server.ca_file()};
  const std::string url = server.url() + "/v1";
  for (const auto& adapter : {openai({.base_url = url, .api_key = "k", .organization = evil, .http = http}),
                              openai({.base_url = url, .api_key = "k", .project = evil, .http = http}),
                              anthropic({.base_url = url, .api_key = "k", .version = evil, .http = http}),
                              anthropic({.base_url = url, .api_key = "k", .beta = {"a", evil}, .http = http})}) {
    const Error error = error_of(ask(Engine({.adapter = adapter, .model = "m", .retry = RetryPolicy::off()})));
    EXPECT_TRUE(error.is<ValidationError>(ValidationError::Reason::invalid_option)) << error.message();
    EXPECT_EQ(error.message().find(kSecret), std::string::npos) << error.message();
  }
  EXPECT_EQ(server.requests(), 0U);
}

}  // namespace
}  // namespace allm::network_keys_test
