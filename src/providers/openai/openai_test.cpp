// Whole exchanges: transcripts, and the requests that follow them.
#include "providers/openai/openai.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "providers/openai/presets.hpp"
#include "tests/transcript_fixture.hpp"

namespace allm::openai_test {
namespace {

std::shared_ptr<const Codec> codec_for(const Transcript& transcript) {
  const std::string name = transcript.json["case"];
  if (const OpenAiPreset* preset = find_openai_preset(name.substr(0, name.find('-')))) {
    OpenAiCodecOptions options = options_of(*preset);
    if (options.base_url.empty()) options.base_url = "https://res1.openai.azure.com/openai/deployments/gpt-4o";
    return openai_codec(std::move(options));
  }
  return openai_codec();
}

AdapterCall call_for(const Transcript& transcript) {
  AdapterCall call;
  call.model = transcript.json["request"]["body"].value("model", "gpt-4o");
  call.options["endpoint"] = transcript.json["endpoint"];
  return call;
}

class OpenAiTranscript : public ::testing::TestWithParam<const char*> {};
TEST_P(OpenAiTranscript, IsDecodedForEverySplit) {
  const Transcript transcript = load_transcript(GetParam());
  const auto codec = codec_for(transcript);
  const std::vector<Event> events = expect_transcript(*codec, call_for(transcript), transcript);
  const Response response = folded(events);
  const Json& expected = transcript.expect();
  if (expected.contains("metadata")) {
    EXPECT_EQ(response.metadata, expected["metadata"]);
  }
  if (expected.contains("id")) {
    EXPECT_EQ(response.id, expected["id"].get<std::string>());
  }
  if (expected.contains("model")) {
    EXPECT_EQ(response.model, expected["model"].get<std::string>());
  }
  if (expected.contains("provider_request_id")) {
    EXPECT_EQ(response.metadata["provider_request_id"], expected["provider_request_id"]);
  }
}
TEST_P(OpenAiTranscript, IsReadTheSameWithRawChunks) {
  const Transcript transcript = load_transcript(GetParam());
  const auto codec = codec_for(transcript);
  AdapterCall call = call_for(transcript);
  const std::vector<Event> plain = decoded(*codec, call, transcript.head, transcript.body);
  call.include_raw_chunks = true;
  std::vector<Event> raw = decoded(*codec, call, transcript.head, transcript.body);
  EXPECT_GT(std::erase_if(raw, [](const Event& event) { return event.tag() == EventTag::raw_chunk; }), 0U);
  EXPECT_TRUE(raw == plain);
}
INSTANTIATE_TEST_SUITE_P(All, OpenAiTranscript,
                         ::testing::Values("openai-chat-content-filter", "openai-chat-length",
                                           "openai-chat-midstream-error", "openai-chat-no-done",
                                           "openai-chat-parallel-interleaved", "openai-chat-refusal",
                                           "openai-chat-single-tool", "openai-chat-text", "openai-responses-failed",
                                           "openai-responses-json", "openai-responses-parallel-tools",
                                           "openai-responses-text-reasoning", "deepseek-reasoning",
                                           "vllm-reasoning-field"));

class OpenAiHttpError : public ::testing::TestWithParam<const char*> {};
TEST_P(OpenAiHttpError, IsClassified) {
  const Transcript transcript = load_transcript(GetParam());
  const Json& expected = transcript.expect()["error"];
  const Error error = codec_for(transcript)->error(transcript.head, transcript.body);
  expect_error(error, expected);
  const auto reason = error.get_if<AdapterError>()->reason;
  const bool usually_passes = reason == AdapterError::Reason::rate_limited ||
                              reason == AdapterError::Reason::provider_unavailable ||
                              reason == AdapterError::Reason::timeout;
  EXPECT_EQ(usually_passes && error.metadata().value("retryable", true), expected["retryable"].get<bool>());
  for (const Json& secret : expected.value("message_must_not_contain", Json::array())) {
    EXPECT_EQ(to_json(error)->find(secret.get<std::string>()), std::string::npos);
  }
  for (const Json& part : expected.value("message_contains", Json::array())) {
    EXPECT_NE(error.message().find(part.get<std::string>()), std::string::npos) << error.message();
  }
}
INSTANTIATE_TEST_SUITE_P(All, OpenAiHttpError,
                         ::testing::Values("openai-chat-400-context", "openai-chat-429", "openai-chat-429-quota",
                                           "openai-chat-stream-401", "azure-400-content-filter",
                                           "mistral-400-tool-id"));

// The messages of a transcript's request, as far as the tests need them.
MessageList asked(const Transcript& transcript) {
  const Json& body = transcript.json["request"]["body"];
  MessageList messages;
  for (const Json& message : body.contains("input") ? body["input"] : body["messages"]) {
    messages.push_back(user(message["content"].get<std::string>()));
  }
  return messages;
}

class OpenAiNextRequest : public ::testing::TestWithParam<const char*> {};
TEST_P(OpenAiNextRequest, CarriesTheProvidersState) {
  const Transcript transcript = load_transcript(GetParam());
  const auto codec = codec_for(transcript);
  AdapterCall call = call_for(transcript);
  call.request.messages = asked(transcript);
  call.request.messages.push_back(stored_message(decoded(*codec, call, transcript.head, transcript.body)));
  const Json& expected = transcript.json["next_request"]["body"];
  const char* list = expected.contains("input") ? "input" : "messages";
  for (const Json& item : expected[list]) {
    if (item.contains("output")) call.request.messages.push_back(tool_result(item["call_id"], item["output"]));
    if (item.value("role", "") == "tool") {
      call.request.messages.push_back(tool_result(item["tool_call_id"], item["content"]));
    }
  }
  const Json& last = expected[list].back();
  if (last.value("role", "") == "user") call.request.messages.push_back(user(last["content"].get<std::string>()));
  const Result<HttpRequest> request = codec->write(call);
  ASSERT_TRUE(request.has_value()) << request.error().message();
  EXPECT_EQ(Json(request->url), transcript.json["next_request"]["url"]);
  const Json body = *parse_json(request->body);
  EXPECT_TRUE(json_equal(body[list], expected[list])) << body[list] << "\nexpected " << expected[list];
  if (expected.contains("include")) {
    EXPECT_EQ(body["include"], expected["include"]);
  }
  if (expected.contains("store")) {
    EXPECT_EQ(body["store"], expected["store"]);
  }
}
INSTANTIATE_TEST_SUITE_P(All, OpenAiNextRequest,
                         ::testing::Values("openai-chat-single-tool", "openai-responses-parallel-tools",
                                           "openai-responses-text-reasoning"));

}  // namespace
}  // namespace allm::openai_test
