// Every adapter of allm passes the conformance suite for third-party adapters.
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "allm/collector.hpp"
#include "allm/testing.hpp"

#include "runtime/test_waits.hpp"
#include "tests/http_server.hpp"
#include "tests/provider_rig.hpp"
#include "tests/transcript_fixture.hpp"

namespace allm::conformance_test {
namespace {

// A long timeout, for busy machines and sanitizers.
constexpr std::chrono::milliseconds kTimeout = testing::kWatchdog;

AdapterConformanceOptions options_for(ModelRef model) {
  return {.request = {.messages = {user("Say hello.")}, .max_tokens = 100},
          .tool_request = Request{.messages = {user("use tools")}, .max_tokens = 100},
          .failing_request = Request{.messages = {user("fail")}, .max_tokens = 100},
          .model = std::move(model),
          .max_blocking = kTimeout,
          .timeout = kTimeout};
}

TEST(Conformance, EveryProviderPasses) {
  for (const testing::ProviderCase& provider : testing::provider_cases()) {
    const std::string tools = load_transcript(provider.tools_file).body;
    const testing::HttpServer server([&](const testing::ServedRequest& request, testing::Reply& reply) {
      if (request.body.find("use tools") != std::string::npos) return testing::send_stream(reply, tools);
      if (request.body.find("fail") != std::string::npos) return reply.send(500, "application/json", R"({"error":{}})");
      testing::send_stream(reply, provider.answer("Hello wörld"));
    });
    HttpOptions http;
    http.ca_file = server.ca_file();
    const auto make = [&] { return provider.make(server.url() + "/base", provider.key, http); };
    const ConformanceReport report = check_adapter(make, options_for(provider.model));
    EXPECT_TRUE(report.passed()) << provider.name << "\n" << report.summary();
    for (const ConformanceCheck& check : report.checks) {
      EXPECT_EQ(check.outcome, ConformanceCheck::Outcome::passed) << provider.name << ": " << check.name;
    }
  }
}

std::shared_ptr<FakeAdapter> model() {
  return fake([](const Request& request) -> FakeCallScript {
    if (request.messages.back().text() == "fail") {
      return {fake_text("half"), fake_error(AdapterError::Reason::network_error)};
    }
    if (request.messages.back().text() == "use tools") {
      return {fake_tool_call("c0", "a", {{"x", 1}}), fake_finish(FinishReason::tool_calls)};
    }
    return {fake_text("Hel"), fake_text("lo"), fake_finish(FinishReason::stop)};
  });
}

TEST(Conformance, EveryProviderPassesWithoutStreams) {
  const Json calls =
      Json::parse(R"([{"id":"c1","name":"a","arguments":{"x":1}},{"id":"c2","name":"b","arguments":{}}])");
  for (const testing::ProviderCase& provider : testing::provider_cases()) {
    std::atomic<int> streams = 0;
    const testing::HttpServer server([&](const testing::ServedRequest& request, testing::Reply& reply) {
      if (testing::ProviderCase::asks_for_stream(request)) ++streams;
      if (request.body.find("fail") != std::string::npos) return reply.send(500, "application/json", R"({"error":{}})");
      const bool tools = request.body.find("use tools") != std::string::npos;
      reply.send(200, "application/json", provider.document("Hello wörld", tools ? calls : Json::array()).dump());
    });
    HttpOptions http;
    http.ca_file = server.ca_file();
    const auto make = [&] { return provider.make(server.url() + "/base", provider.key, http); };
    AdapterConformanceOptions options = options_for(provider.model);
    for (Request* request : {&options.request, &*options.tool_request, &*options.failing_request}) {
      request->stream = false;
    }
    const ConformanceReport report = check_adapter(make, options);
    EXPECT_TRUE(report.passed()) << provider.name << "\n" << report.summary();
    for (const ConformanceCheck& check : report.checks) {
      EXPECT_EQ(check.outcome, ConformanceCheck::Outcome::passed) << provider.name << ": " << check.name;
    }
    EXPECT_EQ(streams, 0) << provider.name;
  }
}

TEST(Conformance, EncodersAreCheckedWithValuesOfYourOwn) {
  // [conformance-encoder]
  auto encoder = std::make_shared<allm::JsonToolResultEncoder>();  // yours
  allm::ConformanceReport report = allm::check_encoder(encoder, {.values = {{{"rows", {1, 2, 3}}}}});
  EXPECT_TRUE(report.passed()) << report.summary();
  // [/conformance-encoder]
}

TEST(Conformance, RecordAndReplayPass) {
  const std::string path = ::testing::TempDir() + "allm-conformance-" + std::to_string(::getpid()) + ".jsonl";
  const auto recording = record(model(), path);
  ASSERT_TRUE(recording.has_value()) << recording.error().message();
  const ConformanceReport recorded = check_adapter([&] { return *recording; }, options_for({}));
  EXPECT_TRUE(recorded.passed()) << recorded.summary();

  // Records complete exchanges only, because dropped ones end with an error in the replay.
  const AdapterConformanceOptions options = options_for({});
  const auto once = record(model(), path);
  ASSERT_TRUE(once.has_value());
  for (const Request& request : {options.request, *options.tool_request, *options.failing_request}) {
    auto source = (*once)->open(
        {.request = request, .model = options.model, .request_id = "conformance", .runtime = Runtime::process()});
    ASSERT_TRUE(source.has_value());
    EventStream events(*std::move(source));
    while (events.next()) {
    }
  }
  const ConformanceReport replayed = check_adapter(
      [&] {
        auto adapter = replay(path, {.reuse = true});
        EXPECT_TRUE(adapter.has_value()) << adapter.error().message();
        return *adapter;
      },
      options);
  EXPECT_TRUE(replayed.passed()) << replayed.summary();
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace allm::conformance_test
