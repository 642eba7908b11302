// A run that begins with one provider and continues with another, over loopback TLS and with the real codecs.
#include "allm/fallback.hpp"

#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/provider_rig.hpp"
#include "tests/transcript_fixture.hpp"

namespace allm::fallback_providers_test {
namespace {

using testing::HttpServer;
using testing::ProviderCase;
using testing::Reply;
using testing::ServedRequest;

// A server that answers the first request with the stream of a transcript, and is unavailable afterwards.
class FailsLater {
 public:
  explicit FailsLater(const std::string& transcript)
      : body_(load_transcript(transcript).body),
        server_([this](const ServedRequest&, Reply& reply) { serve(reply); }) {}
  const HttpServer& server() const { return server_; }

 private:
  void serve(Reply& reply) {
    const std::lock_guard lock(mutex_);
    if (served_++ == 0) return testing::send_stream(reply, body_);
    reply.send(503, "application/json", R"({"error": {"type": "overloaded_error", "message": "busy"}})");
  }
  const std::string body_;
  std::mutex mutex_;
  std::size_t served_ = 0;
  HttpServer server_;
};

// A server that always gives the same answer and keeps the requests.
class Answers {
 public:
  explicit Answers(std::string body)
      : body_(std::move(body)),
        server_([this](const ServedRequest& request, Reply& reply) { serve(request, reply); }) {}
  const HttpServer& server() const { return server_; }
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve(const ServedRequest& request, Reply& reply) {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request.body);
    }
    testing::send_stream(reply, body_);
  }
  const std::string body_;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  HttpServer server_;
};

const ProviderCase& provider(const std::string& name) {
  for (const ProviderCase& each : testing::provider_cases()) {
    if (each.name == name) return each;
  }
  throw std::invalid_argument(name);
}

struct Switch {
  const char* from;
  const char* transcript;          // the model calls tools and sends state for the next request
  std::vector<std::string> state;  // texts that must not be sent to another provider
};
const std::vector<Switch>& switches() {
  static const std::vector<Switch> all = {
      {"anthropic", "anthropic-thinking-tool-use", {"EqMBCkYI", "redacted_thinking", "forecast first"}},
      {"gemini", "gemini-thought-signature-roundtrip", {"thoughtSignature"}},
      {"openai-responses", "openai-responses-parallel-tools", {"encrypted_content"}}};
  return all;
}

TEST(FallbackBetweenProviders, StateOfOneProviderDoesNotReachAnother) {
  for (const Switch& from : switches()) {
    for (const ProviderCase& to : testing::provider_cases()) {
      if (std::string(from.from) == to.name) continue;
      SCOPED_TRACE(std::string(from.from) + " to " + to.name);
      const FailsLater first(from.transcript);
      const Answers second(to.answer("done"));
      const std::vector<Tool> tools = {
          {.name = "get_weather", .handler = [](const Json&) { return ok("mild"); }, .validate_arguments = false},
          {.name = "get_time", .handler = [](const Json&) { return ok("noon"); }, .validate_arguments = false}};
      const Engine primary =
          testing::engine_of(provider(from.from), first.server().url(), first.server().ca_file()).with_tools(tools);
      const Engine engine =
          fallback({primary, testing::engine_of(to, second.server().url(), second.server().ca_file())});
      const auto result = chat(engine, {user("Weather?")}, {.on_unknown_tool = OnUnknownTool::report});
      ASSERT_TRUE(result.has_value()) << result.error().message();
      EXPECT_EQ(result->halted_reason(), "completed");
      EXPECT_EQ(result->text(), "done");
      EXPECT_EQ(result->steps.at(0).response.metadata["fallback"]["engine"], 0);
      EXPECT_EQ(result->steps.at(1).response.metadata["fallback"]["engine"], 1);
      ASSERT_EQ(second.requests().size(), 1U);
      const std::string body = second.requests()[0];
      for (const std::string& state : from.state) EXPECT_EQ(body.find(state), std::string::npos) << body;
      EXPECT_NE(body.find("mild"), std::string::npos) << body;
    }
  }
}

}  // namespace
}  // namespace allm::fallback_providers_test
