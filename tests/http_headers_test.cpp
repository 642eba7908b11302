// The headers of requests: allm's own, those of the program, and how they are kept secret.
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/recording.hpp"

#include "tests/chat_server.hpp"
#include "tests/transcript_fixture.hpp"

namespace allm::http_headers_test {
namespace {

using testing::HttpServer;
using testing::ProviderCase;
using testing::Reply;
using testing::ServedRequest;
using Headers = std::vector<std::pair<std::string, std::string>>;

// Answers every request and keeps the last one.
class Server {
 public:
  explicit Server(const ProviderCase& provider)
      : provider_(provider), server_([this](const ServedRequest& request, Reply& reply) {
          {
            const std::lock_guard lock(mutex_);
            last_ = request;
          }
          testing::send_stream(reply, provider_.answer("Hello"));
        }) {}

  Engine engine(Headers headers, ApiKey key) const {
    HttpOptions http;
    http.ca_file = server_.ca_file();
    http.headers = std::move(headers);
    return Engine({.adapter = provider_.make(server_.url() + "/base", std::move(key), http),
                   .model = provider_.model,
                   .retry = RetryPolicy::off(),
                   .telemetry = testing::noting_telemetry()});
  }
  ServedRequest request() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  std::size_t requests() const { return server_.requests(); }

 private:
  const ProviderCase& provider_;
  mutable std::mutex mutex_;
  ServedRequest last_;
  HttpServer server_;
};

class OwnHeadersOf : public ::testing::TestWithParam<ProviderCase> {};
INSTANTIATE_TEST_SUITE_P(All, OwnHeadersOf, ::testing::ValuesIn(testing::provider_cases()), testing::case_name);

TEST_P(OwnHeadersOf, AreSentWithEveryRequest) {
  const Server server(GetParam());
  ASSERT_TRUE(testing::ask(server.engine({}, GetParam().key)).has_value());
  EXPECT_TRUE(server.request().header("user-agent").starts_with("allm/0.")) << server.request().header("user-agent");

  const Headers own = {{"X-Team", "blue"}, {"x-empty", ""}, {"user-agent", "mine/1"}, {"X-Team", "green"}};
  ASSERT_TRUE(testing::ask(server.engine(own, GetParam().key)).has_value());
  const ServedRequest request = server.request();
  EXPECT_EQ(request.header("x-team"), "green") << "the last one of a name is sent";
  EXPECT_EQ(request.header("user-agent"), "mine/1");
  EXPECT_EQ(request.header(GetParam().key_header), std::string(GetParam().key_prefix) + GetParam().key);
  std::size_t empty = 0;
  std::size_t agents = 0;
  for (const auto& [name, value] : request.headers) {
    if (name == "x-empty") ++empty;
    if (name == "user-agent") ++agents;
  }
  EXPECT_EQ(empty, 1U) << "a header without a value is sent, too";
  EXPECT_EQ(agents, 1U);
}

TEST_P(OwnHeadersOf, ReplaceTheKey) {
  const Server server(GetParam());
  ASSERT_TRUE(testing::ask(server.engine({{GetParam().key_header, "Bearer of-the-gateway"}}, {})).has_value());
  EXPECT_EQ(server.request().header(GetParam().key_header), "Bearer of-the-gateway");
}

TEST_P(OwnHeadersOf, ThatCannotBeSentAreErrors) {
  const Server server(GetParam());
  using namespace std::string_literals;
  const Headers wrong = {{"Content-Length", "7"},
                         {"content-type", "text/plain"},
                         {"HOST", "elsewhere"},
                         {"Transfer-Encoding", "x"},
                         {"Connection", "close"},
                         {"", "x"},
                         {"X Y", "x"},
                         {"X:", "x"},
                         {"X-A", "secret\r\nX-B: c"},
                         {"X-A", "secret\nX-B: c"},
                         {"X-A", "secret\0x"s},
                         {"X-\r\nB", "x"}};
  for (const auto& [name, value] : wrong) {
    const Result<Response> response = testing::ask(server.engine({{name, value}}, GetParam().key));
    ASSERT_FALSE(response.has_value()) << name;
    EXPECT_TRUE(response.error().is<ValidationError>(ValidationError::Reason::invalid_option)) << name;
    EXPECT_EQ(to_string(response.error().get_if<ValidationError>()->errors.at(0).path), "headers." + name);
    EXPECT_NE(response.error().message().find("the header '" + name + "'"), std::string::npos)
        << response.error().message();
    EXPECT_EQ(response.error().message().find("secret"), std::string::npos) << response.error().message();
  }
  EXPECT_EQ(server.requests(), 0U);
}

// The program looks for these in everything that it produces; see tests/produced.hpp.
constexpr const char* kToken = "gw-9fZ8eY7dX6cW5bV4aU3";
constexpr const char* kCookie = "sid-7hQ2kM9pL4wN6tR8";

TEST_P(OwnHeadersOf, AreRedactedIfTheyLookLikeAKey) {
  testing::expect_secret(kToken);
  testing::expect_secret(kCookie);
  const std::string path = ::testing::TempDir() + "allm_headers_" + std::to_string(getpid()) + GetParam().name;
  const HttpServer server([](const ServedRequest& request, Reply& reply) {
    const std::string echoed = request.header("x-gateway-auth-token") + " and " + request.header("cookie");
    if (request.body.find("as text") != std::string::npos) return reply.send(200, "text/plain", "refused: " + echoed);
    reply.send(403, "application/json",
               Json({{"error", {{"message", "refused: " + echoed}, {"code", echoed}, {"param", "9fZ8eY7"}}}}).dump());
  });
  HttpOptions http;
  http.ca_file = server.ca_file();
  http.headers = {{"X-Gateway-Auth-Token", kToken}, {"Cookie", std::string("session=") + kCookie + "; theme=dark"}};
  Result<std::shared_ptr<Adapter>> adapter =
      record(GetParam().make(server.url() + "/base", GetParam().key, http), path);
  ASSERT_TRUE(adapter.has_value()) << adapter.error().message();
  const Engine engine({.adapter = *adapter,
                       .model = GetParam().model,
                       .retry = RetryPolicy::off(),
                       .telemetry = testing::noting_telemetry()});
  for (const char* text : {"as JSON", "as text"}) {
    const Result<Response> response = generate(engine, {.messages = {user(text)}, .max_tokens = 9});
    const Error error = testing::error_of(response);
    EXPECT_NE(error.message().find("refused: [REDACTED] and session=[REDACTED]; theme=dark"), std::string::npos)
        << error.message();
  }
  testing::note_produced(file_text(path));
  std::filesystem::remove(path);
}

TEST(OwnHeaders, ThatLookLikeAKeyAreNotSentWithoutTls) {
  const auto error_with = [](Headers headers, bool allowed) {
    HttpOptions http;
    http.headers = std::move(headers);
    http.allow_insecure_key = allowed;
    http.connect_timeout = std::chrono::milliseconds(1);
    const auto adapter = compatible({.server = "mine", .base_url = "http://192.0.2.1/v1", .http = http});
    return testing::error_of(testing::ask(Engine({.adapter = *adapter, .model = "m", .retry = RetryPolicy::off()})));
  };
  const Error error = error_with({{"X-Api-Key", kToken}}, false);
  EXPECT_TRUE(error.is<EngineError>(EngineError::Reason::invalid_engine)) << error.message();
  EXPECT_NE(error.message().find("the header X-Api-Key is not sent to 192.0.2.1 without TLS"), std::string::npos);
  EXPECT_EQ(error_with({{"X-Api-Key", kToken}}, true).kind(), "AdapterError") << "the request was tried";
  EXPECT_EQ(error_with({{"X-Team", "blue"}}, false).kind(), "AdapterError");
}

TEST(OwnHeaders, OfACompatibleServerComeLast) {
  const ProviderCase& provider = testing::provider_cases().back();
  std::string team;
  const HttpServer server([&](const ServedRequest& request, Reply& reply) {
    team = request.header("x-team") + "," + request.header("x-title");
    testing::send_stream(reply, provider.answer("Hello"));
  });
  const auto adapter =
      compatible({.server = "mine",
                  .base_url = server.url(),
                  .headers = {{"X-Team", "green"}},
                  .http = {.ca_file = server.ca_file(), .headers = {{"X-Team", "blue"}, {"X-Title", "t"}}}});
  ASSERT_TRUE(testing::ask(Engine({.adapter = *adapter, .model = "m"})).has_value());
  EXPECT_EQ(team, "green,t");
}

TEST(Anthropic, HasAVersion) {
  std::string version;
  const HttpServer server([&](const ServedRequest& request, Reply& reply) {
    version = request.header("anthropic-version");
    reply.send(400, "application/json", "{}");
  });
  const auto asked = [&](AnthropicOptions options) {
    options.base_url = server.url();
    options.api_key = "the-key-of-this-test";
    options.http.ca_file = server.ca_file();
    (void)testing::ask(Engine({.adapter = anthropic(std::move(options)), .model = "m"}));
    return version;
  };
  EXPECT_EQ(asked({}), "2023-06-01");
  EXPECT_EQ(asked({.version = "2026-01-01"}), "2026-01-01");
}

}  // namespace
}  // namespace allm::http_headers_test
