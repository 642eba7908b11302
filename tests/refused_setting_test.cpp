// A server that refuses a setting of an unknown model: one more request without it, and a warning in telemetry.
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/telemetry.hpp"

#include "tests/provider_rig.hpp"

namespace allm::refused_setting_test {
namespace {

using testing::HttpServer;
using testing::ProviderCase;
using testing::Reply;
using testing::ServedRequest;

// Refuses requests with one of the settings, and answers the others.
class Refusing {
 public:
  Refusing(const ProviderCase& provider, std::vector<std::string> settings)
      : provider_(provider),
        settings_(std::move(settings)),
        server_([this](const ServedRequest& request, Reply& reply) { serve(request, reply); }) {}

  std::string url() const { return server_.url(); }
  std::string ca_file() const { return server_.ca_file(); }
  std::vector<ServedRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve(const ServedRequest& request, Reply& reply) {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    for (const std::string& setting : settings_) {
      if (request.body.find('"' + setting + '"') == std::string::npos) continue;
      return reply.send(400, "application/json",
                        Json{{"error", {{"message", "`" + setting + "` is not supported by this model."}}}}.dump());
    }
    testing::send_stream(reply, provider_.answer("hello"));
  }

  const ProviderCase& provider_;
  const std::vector<std::string> settings_;
  mutable std::mutex mutex_;
  std::vector<ServedRequest> requests_;
  HttpServer server_;
};

struct Client {
  Client(const ProviderCase& provider, const Refusing& server)
      : engine({.adapter = provider.make(server.url(), provider.key, {.ca_file = server.ca_file()}),
                .model = "an-unknown-model",
                .telemetry = telemetry}) {}

  std::vector<Json> warnings() const {
    std::vector<Json> found;
    for (const auto& record : telemetry->records()) {
      if (record.name == "allm.adapter.warning") found.push_back(record.detail);
    }
    return found;
  }

  std::shared_ptr<CollectingTelemetry> telemetry = std::make_shared<CollectingTelemetry>();
  Engine engine;
};

TEST(RefusedSetting, OfAnUnknownModelIsLeftOutOfASecondRequest) {
  for (const ProviderCase& provider : testing::provider_cases()) {
    SCOPED_TRACE(provider.name);
    const Refusing server(provider, {"temperature"});
    const Client client(provider, server);
    const CallOptions options = {.temperature = 0.5, .params = {{"top_p", 0.9}}};
    const Result<ChatResult> result = chat(client.engine, {user("hi")}, options);
    ASSERT_TRUE(result.has_value()) << result.error().message();
    EXPECT_EQ(result->final_response->output_text, "hello");
    ASSERT_EQ(server.requests().size(), 2U);
    EXPECT_NE(server.requests()[1].body.find("0.9"), std::string::npos) << "other settings are sent";
    EXPECT_EQ(server.requests()[1].header(provider.key_header), server.requests()[0].header(provider.key_header));
    ASSERT_EQ(client.warnings().size(), 1U);
    EXPECT_NE(client.warnings()[0]["setting"].get<std::string>().find("temperature"), std::string::npos);
    EXPECT_NE(client.warnings()[0]["message"].get<std::string>().find("an-unknown-model"), std::string::npos);

    ASSERT_TRUE(chat(client.engine, {user("hi")}, options).has_value());
    EXPECT_EQ(server.requests().size(), 3U) << "the refusal is remembered";
    EXPECT_EQ(client.warnings().size(), 2U) << "each call reports it";
  }
}

TEST(RefusedSetting, IsTriedOnce) {
  for (const ProviderCase& provider : testing::provider_cases()) {
    SCOPED_TRACE(provider.name);
    const bool is_gemini = std::string(provider.name) == "gemini";
    const Refusing server(provider, {"temperature", is_gemini ? "topP" : "top_p"});
    const Client client(provider, server);
    const auto result = chat(client.engine, {user("hi")}, {.temperature = 0.5, .params = {{"top_p", 0.9}}});
    ASSERT_FALSE(result.has_value());
    EXPECT_TRUE(result.error().is<AdapterError>(AdapterError::Reason::invalid_request)) << result.error().message();
    EXPECT_EQ(server.requests().size(), 2U);
  }
}

TEST(RefusedSetting, OfAKnownModelIsNotSentAtAll) {
  for (const ProviderCase& provider : testing::provider_cases()) {
    if (std::string(provider.name) != "anthropic") continue;
    const Refusing server(provider, {"temperature"});
    const Client client(provider, server);
    const auto result = chat(client.engine, {user("hi")}, {.model = "claude-opus-5", .temperature = 0.5});
    ASSERT_TRUE(result.has_value()) << result.error().message();
    EXPECT_EQ(server.requests().size(), 1U);
    ASSERT_EQ(client.warnings().size(), 1U);
    EXPECT_EQ(
        client.warnings()[0],
        Json({{"setting", "temperature"},
              {"message", "temperature was not sent to the model 'claude-opus-5': the model does not accept it"}}));
    EXPECT_EQ(client.telemetry->tree(), R"(chat
  step
    generate claude-opus-5
      stream
      - adapter.warning
)");
  }
}

}  // namespace
}  // namespace allm::refused_setting_test
