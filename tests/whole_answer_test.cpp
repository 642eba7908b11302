// Requests that are not streamed: every provider is asked for one document, and the run is the same.
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "providers/anthropic/anthropic.hpp"
#include "providers/gemini/gemini.hpp"
#include "providers/openai/openai.hpp"
#include "tests/chat_server.hpp"
#include "tests/generators.hpp"
#include "tests/transcript_fixture.hpp"

namespace allm::whole_answer_test {
namespace {

using testing::HttpServer;
using testing::ProviderCase;
using testing::Reply;
using testing::ServedRequest;

// Answers in the form that the request asks for, and keeps the requests.
class Server {
 public:
  explicit Server(const ProviderCase& provider)
      : provider_(provider), server_([this](const ServedRequest& request, Reply& reply) { serve(request, reply); }) {}

  Engine engine() const { return engine_of(provider_, server_.url(), server_.ca_file()); }
  // The last request.
  ServedRequest request() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  void serve(const ServedRequest& request, Reply& reply) {
    const bool stream = ProviderCase::asks_for_stream(request);
    {
      const std::lock_guard lock(mutex_);
      last_ = request;
    }
    if (stream) return testing::send_stream(reply, provider_.answer("Hello wörld 😀"));
    const bool calls = Json::parse(request.body).contains("tools") && request.body.find("sunny") == std::string::npos;
    const Json call = {{"id", "call00001"}, {"name", "weather"}, {"arguments", {{"city", "Rome"}}}};
    reply.send(200, "application/json",
               provider_.document("Hello wörld 😀", calls ? Json::array({call}) : Json::array()).dump());
  }

  const ProviderCase& provider_;
  mutable std::mutex mutex_;
  ServedRequest last_;
  HttpServer server_;
};

class WholeAnswers : public ::testing::TestWithParam<ProviderCase> {};
INSTANTIATE_TEST_SUITE_P(All, WholeAnswers, ::testing::ValuesIn(testing::provider_cases()), testing::case_name);

void expect_whole(const ServedRequest& request) {
  EXPECT_FALSE(ProviderCase::asks_for_stream(request)) << request.target << "\n" << request.body;
  EXPECT_EQ(request.target.find("alt=sse"), std::string::npos) << request.target;
  const Json body = Json::parse(request.body);
  EXPECT_FALSE(body.contains("stream")) << request.body;
  EXPECT_FALSE(body.contains("stream_options")) << request.body;
}

// The tags of the events; deltas of the same kind count as one.
std::vector<EventTag> tags_of(EventStream events) {
  std::vector<EventTag> tags;
  for (const Event& event : events) {
    if (tags.empty() || tags.back() != event.tag()) tags.push_back(event.tag());
  }
  return tags;
}

TEST_P(WholeAnswers, HaveTheEventsAndTheResultOfAStream) {
  const Server server(GetParam());
  const Engine engine = server.engine();
  Request request{.messages = {system("Be brief."), user("Say hello.")}, .max_tokens = 100};
  request.stream = true;
  const std::vector<EventTag> tags = tags_of(stream_generate(engine, request));
  Result<Response> streamed = generate(engine, request);
  ASSERT_TRUE(streamed.has_value()) << streamed.error().message();
  EXPECT_TRUE(ProviderCase::asks_for_stream(server.request()));

  request.stream = false;
  EXPECT_EQ(tags_of(stream_generate(engine, request)), tags);
  expect_whole(server.request());
  const Result<Response> whole = generate(engine, request);
  ASSERT_TRUE(whole.has_value()) << whole.error().message();
  expect_whole(server.request());
  streamed->request_id = whole->request_id;
  EXPECT_EQ(*whole, *streamed);
}

TEST_P(WholeAnswers, AreAskedForByEverySetting) {
  const Server server(GetParam());
  const Engine engine = server.engine();
  const Request request{.messages = {user("hi")}, .max_tokens = 100};
  ASSERT_TRUE(generate(engine, request, {.stream = false}).has_value());
  expect_whole(server.request());
  ASSERT_TRUE(generate(engine, request, {.params = {{"stream", false}}}).has_value());
  expect_whole(server.request());
  ASSERT_TRUE(generate(engine.with_defaults({.stream = false}), request).has_value());
  expect_whole(server.request());
  ASSERT_TRUE(generate(engine.with_params({{"stream", false}}), request).has_value());
  expect_whole(server.request());
  ASSERT_TRUE(generate(engine.with_params({{"stream", false}}), request, {.stream = true}).has_value());
  EXPECT_TRUE(ProviderCase::asks_for_stream(server.request()));
}

TEST_P(WholeAnswers, CallToolsInALoop) {
  const Server server(GetParam());
  const Tool weather = {.name = "weather",
                        .schema = {{"type", "object"}, {"properties", {{"city", {{"type", "string"}}}}}},
                        .handler = [](const Json& arguments) { return ok("sunny in " + arguments["city"].dump()); }};
  const auto result = chat(server.engine().with_tools({weather}), {user("hi")}, {.max_tokens = 100, .stream = false});
  ASSERT_TRUE(result.has_value()) << result.error().message();
  ASSERT_EQ(result->steps.size(), 2U);
  EXPECT_EQ(result->steps[0].tool_results.at(0).text(), "sunny in \"Rome\"");
  EXPECT_EQ(result->text(), "Hello wörld 😀");
  expect_whole(server.request());
}

// The decoders of whole answers: any text and any calls arrive unchanged, however the body is split.
RC_GTEST_PROP(WholeBodies, HoldAnyTextAndAnyCalls, (const gen::Source& source)) {
  gen::Random random(source);
  const std::string text = random.text() + "x";  // an empty text has no event
  Json calls = Json::array();
  for (std::size_t i = random.below(3); i > 0; --i) {
    calls.push_back({{"id", "c" + std::to_string(i)}, {"name", "n" + random.text()}, {"arguments", random.object(2)}});
  }
  AdapterCall call;
  call.request.stream = false;
  const std::vector<std::shared_ptr<const Codec>> codecs = {
      openai_codec({.endpoint = OpenAiCodecOptions::Endpoint::chat}),
      openai_codec({.endpoint = OpenAiCodecOptions::Endpoint::responses}), anthropic_codec(), gemini_codec()};
  for (std::size_t i = 0; i < codecs.size(); ++i) {
    const std::string body = testing::provider_cases()[i].document(text, calls).dump();
    // Some servers send JSON with the content type of a text.
    const HttpResponseHead head{.status = 200,
                                .headers = {{"content-type", random.chance() ? "application/json" : "text/plain"}}};
    const std::vector<Event> events =
        decoded(*codecs[i], call, head, body, [&random] { return 1 + random.below(200); });
    StreamCollector collector;
    for (const Event& event : events) collector.apply(event);
    const Result<Response> response = collector.response();
    RC_ASSERT(response.has_value());
    RC_ASSERT(response->text() == text);
    RC_ASSERT(response->tool_calls.size() == calls.size());
    for (std::size_t j = 0; j < calls.size(); ++j) {
      RC_ASSERT(response->tool_calls[j].name == calls[j]["name"].get<std::string>());
      RC_ASSERT(json_equal(response->tool_calls[j].arguments, calls[j]["arguments"]));
    }
  }
}

}  // namespace
}  // namespace allm::whole_answer_test
