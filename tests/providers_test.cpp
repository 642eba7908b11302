// Every provider through the public API, with a real TLS server on loopback, over HTTP/1.1 and HTTP/2.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/recording.hpp"
#include "allm/session_ops.hpp"

#include "testing/scenario/transcript_expect.hpp"
#include "testing/scenario/transcript_request.hpp"
#include "tests/http2_front.hpp"
#include "tests/produced.hpp"
#include "tests/provider_rig.hpp"
#include "tests/transcript_fixture.hpp"

namespace allm::providers_test {
namespace {

using testing::HttpServer;
using testing::ProviderCase;
using testing::Reply;
using testing::ServedRequest;

// A server that sends these streams in order and repeats the last one. It keeps the requests.
class Provider {
 public:
  Provider(std::vector<std::string> streams, bool http2)
      : streams_(std::move(streams)),
        server_([this](const ServedRequest& request, Reply& reply) { serve(request, reply); }, {.tls = !http2}) {
    if (http2) front_ = std::make_unique<testing::Http2Front>(server_);
  }

  std::string url() const { return front_ ? front_->url() : server_.url(); }
  std::string ca_file() const { return server_.ca_file(); }
  std::vector<ServedRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  Json body(std::size_t index) const { return Json::parse(requests().at(index).body); }

 private:
  void serve(const ServedRequest& request, Reply& reply) {
    std::string stream;
    {
      const std::lock_guard lock(mutex_);
      stream = streams_[std::min(requests_.size(), streams_.size() - 1)];
      requests_.push_back(request);
    }
    testing::send_stream(reply, stream);
  }

  const std::vector<std::string> streams_;
  mutable std::mutex mutex_;
  std::vector<ServedRequest> requests_;
  HttpServer server_;
  std::unique_ptr<testing::Http2Front> front_;
};

// The path of a temporary file for the running test.
std::string file_of_test() {
  std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::ranges::replace(name, '/', '_');
  return (std::filesystem::temp_directory_path() / (name + std::to_string(getpid()) + ".jsonl")).string();
}

struct Case {
  const ProviderCase* provider;
  bool http2;
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.provider->name << (one.http2 ? " over HTTP/2" : " over HTTP/1.1");
}
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const ProviderCase& provider : testing::provider_cases()) {
    cases.push_back({&provider, false});
    cases.push_back({&provider, true});
  }
  return cases;
}
std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.provider->name;
  std::erase(name, '-');
  return name + (info.param.http2 ? "_http2" : "_http1");
}

class Providers : public ::testing::TestWithParam<Case> {
 protected:
  const ProviderCase& provider() const { return *GetParam().provider; }
  Engine engine(const Provider& server) const { return engine_of(provider(), server.url(), server.ca_file()); }

  // The body that the provider's documentation has for this kind of request.
  Json documented(const char* name) const {
    const std::string path = std::string(ALLM_SOURCE_DIR) + "/tests/data/provider_requests.json";
    return Json::parse(file_text(path)).at(provider().name).at(name);
  }
  void expect_well_sent(const ServedRequest& request) const {
    EXPECT_EQ(request.target, std::string("/base") + provider().target);
    EXPECT_EQ(request.header(provider().key_header), std::string(provider().key_prefix) + provider().key);
    EXPECT_EQ(request.header("content-type"), "application/json");
    EXPECT_TRUE(request.header("user-agent").starts_with("allm/")) << request.header("user-agent");
    EXPECT_EQ(request.header("via").starts_with("2"), GetParam().http2) << request.header("via");
  }
};
INSTANTIATE_TEST_SUITE_P(All, Providers, ::testing::ValuesIn(all_cases()), name_of);

Response collected(EventStream events) {
  StreamCollector collector;
  for (const Event& event : events) collector.apply(event);
  const Result<Response> response = collector.response();
  EXPECT_TRUE(response.has_value()) << response.error().message();
  return response.value_or(Response());
}

TEST_P(Providers, AnswerInText) {
  const Provider server({provider().answer("Hello wörld")}, GetParam().http2);
  const Engine engine = this->engine(server);
  const Request request{.messages = {system("Be brief."), user("Say hello.")}, .temperature = 0.5, .max_tokens = 100};
  const auto response = generate(engine, request);
  ASSERT_TRUE(response.has_value()) << response.error().message();
  EXPECT_EQ(response->text(), "Hello wörld");
  EXPECT_EQ(response->finish_reason, FinishReason::stop);
  EXPECT_EQ(response->usage.input_tokens, 3);
  EXPECT_EQ(response->usage.output_tokens, 2);
  const Response streamed = collected(stream_generate(engine, request));
  EXPECT_EQ(streamed.text(), response->text());
  EXPECT_EQ(streamed.usage, response->usage);
  EXPECT_EQ(server.body(0), documented("text"));
  EXPECT_EQ(server.body(1), documented("text"));
  expect_well_sent(server.requests()[0]);
  testing::note_produced(*to_json(*response));
}

TEST_P(Providers, AnswerInAFormat) {
  const std::string answer = R"({"city":"Oslo","celsius":4})";
  const bool forced = std::string_view(provider().name) == "anthropic";
  const Provider server({forced ? load_transcript("anthropic-structured-forced-tool").body : provider().answer(answer)},
                        GetParam().http2);
  const Json schema = {{"type", "object"},
                       {"properties", {{"city", {{"type", "string"}}}, {"celsius", {{"type", "integer"}}}}},
                       {"required", {"city", "celsius"}},
                       {"additionalProperties", false}};
  const auto response =
      generate(this->engine(server), {.messages = {user("Weather in Oslo?")},
                                      .max_tokens = 100,
                                      .response_format = ResponseFormat::json_schema("person", schema)});
  ASSERT_TRUE(response.has_value()) << response.error().message();
  EXPECT_EQ(response->finish_reason, FinishReason::stop);
  EXPECT_TRUE(response->tool_calls.empty());
  EXPECT_TRUE(parse_json(response->text().value_or(""))->is_object()) << response->text().value_or("");
  EXPECT_EQ(server.body(0), documented("structured"));
}

TEST_P(Providers, AcceptImages) {
  const Provider server({provider().answer("A dot.")}, GetParam().http2);
  std::vector<Part> parts = {TextPart{"What is it?"},
                             ImagePart{.image = *image_from_data_uri("data:image/png;base64,iVBORw0KGgo=")}};
  const std::string_view name = provider().name;
  if (name != "ollama" && name != "gemini") {
    parts.emplace_back(ImagePart{.image = {.source = ImageUrl{"https://example.org/dot.png"}}});
  }
  const auto response = generate(this->engine(server), {.messages = {user(std::move(parts))}, .max_tokens = 100});
  ASSERT_TRUE(response.has_value()) << response.error().message();
  EXPECT_EQ(response->text(), "A dot.");
  EXPECT_EQ(server.body(0), documented("image"));
}

TEST_P(Providers, CallToolsInALoop) {
  const Transcript transcript = load_transcript(provider().tools_file);
  const Provider server({transcript.body, provider().answer("Done.")}, GetParam().http2);
  std::vector<Tool> tools;
  for (const Json& call : transcript.expect()["tool_calls"]) {
    tools.push_back({.name = call["name"],
                     .description = "d",
                     .schema = {{"type", "object"}, {"properties", Json::object()}},
                     .handler = [](const Json& arguments, const ToolContext& context) {
                       return ok(context.tool_call().name + " of " + arguments.dump());
                     }});
  }
  const auto result = chat(this->engine(server).with_tools(tools), {user("go")}, {.max_tokens = 100});
  ASSERT_TRUE(result.has_value()) << result.error().message();
  EXPECT_EQ(result->text(), "Done.");
  EXPECT_EQ(result->steps.size(), 2U);
  EXPECT_EQ(server.body(0), documented("tools"));
  EXPECT_EQ(server.body(1), documented("tool_results"));
  testing::note_produced(*to_json(*result));
}

TEST_P(Providers, AreRecordedAndReplayed) {
  const std::string path = file_of_test();
  EngineOptions options;
  Request request{.messages = {user("Say hello.")}, .max_tokens = 100};
  Result<Response> live = std::unexpected(Error(StreamError{}));
  {
    const Provider server({provider().answer("Hello")}, GetParam().http2);
    options = this->engine(server).options();
    options.adapter = *record(options.adapter, path);
    live = generate(Engine(options), request, {.api_key = provider().key});
    expect_well_sent(server.requests()[0]);
  }
  ASSERT_TRUE(live.has_value()) << live.error().message();
  testing::note_produced(file_text(path));
  const auto adapter = replay(path);
  ASSERT_TRUE(adapter.has_value()) << adapter.error().message();
  options.adapter = *adapter;
  Result<Response> replayed = generate(Engine(options), request);
  ASSERT_TRUE(replayed.has_value()) << replayed.error().message();
  replayed->request_id = live->request_id;
  EXPECT_EQ(*replayed, *live);
  std::filesystem::remove(path);
}

TEST(Gemini, RefusesImagesByUrl) {
  const Provider server({"unused"}, false);
  const std::vector<Part> parts = {ImagePart{.image = {.source = ImageUrl{"https://example.org/dot.png"}}}};
  const Engine engine = engine_of(testing::provider_cases()[3], server.url(), server.ca_file());
  const auto response = generate(engine, {.messages = {user(parts)}});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().reason(), "unsupported_feature");
  EXPECT_TRUE(server.requests().empty());
}

// Transcripts whose message has tool calls or state of the provider.
class SavedSessions : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, SavedSessions,
                         ::testing::Values("openai-chat-single-tool", "openai-responses-parallel-tools",
                                           "openai-responses-text-reasoning", "anthropic-thinking-tool-use",
                                           "gemini-thought-signature-roundtrip"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

const ProviderCase& provider_of(std::string_view transcript) {
  for (const ProviderCase& provider : testing::provider_cases()) {
    if (transcript.starts_with(provider.name)) return provider;
  }
  throw std::runtime_error("no provider of that transcript");
}

TEST_P(SavedSessions, SendTheProvidersStateBack) {
  const Transcript transcript = load_transcript(GetParam());
  const ProviderCase& provider = provider_of(GetParam());
  const std::string_view name = provider.name;
  const WireForm form = name == "anthropic"          ? WireForm::anthropic
                        : name == "gemini"           ? WireForm::gemini
                        : name == "openai-responses" ? WireForm::responses
                                                     : WireForm::chat;
  const Json& next = transcript.json["next_request"]["body"];
  const Request first = read_wire_request(transcript.json["request"]["body"], form);
  const Request second = read_wire_request(next, form);
  const Provider server({transcript.body, provider.answer("Done.")}, false);
  EngineOptions options = engine_of(provider, server.url(), server.ca_file()).options();
  options.tools = first.tools;
  if (first.model) options.model = first.model;
  options.params = first.options;
  const Engine engine(std::move(options));
  const CallOptions manual{.max_tokens = first.max_tokens, .mode = Mode::manual};

  const auto turn = session_start(engine, {.id = "s", .thread = Thread(first.messages)}, manual);
  ASSERT_TRUE(turn.has_value()) << turn.error().message();
  const std::string saved = *to_json(turn->session);
  testing::note_produced(saved);
  Result<Session> session = from_json<Session>(saved);
  ASSERT_TRUE(session.has_value()) << session.error().message();
  EXPECT_EQ(*session, turn->session);

  Content reply;
  for (const Message& message : second.messages) {
    if (message.role == Role::tool) session = submit_tool_result(*session, *message.tool_call_id, message.text());
    ASSERT_TRUE(session.has_value()) << session.error().message();
    if (message.role == Role::user) reply = message.content;
  }
  const auto end = transcript.expect()["tool_calls"].empty() ? session_reply(engine, *session, reply, manual)
                                                             : session_continue(engine, *session, std::nullopt, manual);
  ASSERT_TRUE(end.has_value()) << end.error().message();
  EXPECT_EQ(end->session.status, SessionStatus::completed);
  const Json sent = server.body(1);
  Mismatches mismatches;
  for (const auto& [field, value] : next.items()) {
    expect_equal(field, value, sent.value(field, Json(nullptr)), mismatches);
  }
  for (const std::string& mismatch : mismatches) ADD_FAILURE() << mismatch;
}

}  // namespace
}  // namespace allm::providers_test
