// The prompt prefix that providers cache never changes: a later request of a conversation is the earlier request with
// messages added at the end of its list. All other bytes are the same.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

#include "providers/anthropic/anthropic.hpp"
#include "providers/gemini/gemini.hpp"
#include "providers/openai/openai.hpp"
#include "providers/openai/presets.hpp"

namespace allm::prompt_prefix_test {
namespace {

struct CodecCase {
  std::string name;
  std::string model;
  std::shared_ptr<const Codec> codec;
};

std::vector<CodecCase> all_codecs() {
  std::vector<CodecCase> codecs = {
      {"openai chat", "gpt-4.1", openai_codec({.endpoint = OpenAiCodecOptions::Endpoint::chat})},
      {"openai responses", "gpt-5", openai_codec({.endpoint = OpenAiCodecOptions::Endpoint::responses})},
      {"anthropic", "claude-sonnet-4-6", anthropic_codec({})},
      {"gemini", "gemini-2.5-pro", gemini_codec({})},
  };
  for (const OpenAiPreset& preset : openai_presets()) {
    OpenAiCodecOptions options = options_of(preset);
    if (options.base_url.empty()) options.base_url = "https://example.test/v1";
    codecs.push_back({std::string(preset.name), "some-model", openai_codec(std::move(options))});
  }
  return codecs;
}

std::vector<Tool> tools() {
  const Json city = {{"type", "object"}, {"properties", {{"city", {{"type", "string"}}}}}, {"required", {"city"}}};
  return {
      {.name = "weather",
       .description = "The weather of a city.",
       .schema = city,
       .handler = [](const Json&) { return ok({{"temperature", 21}, {"sky", "clear"}}); }},
      {.name = "fails", .description = "Fails.", .handler = [](const Json&) { return failure("no"); }},
      {.name = "brief",
       .description = "A short form. And more.",
       .schema = city,
       .handler = [](const Json&) { return ok(1); },
       .compact = true},
  };
}

// The calls that the adapter receives in two turns of a session; tools run in both turns.
std::vector<AdapterCall> calls_of_a_conversation(const PromptCache& cache) {
  const FakeCallScript calls_tools = {fake_text("Let me see."), fake_tool_call("call_1", "weather", {{"city", "Rome"}}),
                                      fake_tool_call("call_2", "fails"), fake_finish(FinishReason::tool_calls)};
  const FakeCallScript calls_one = {fake_tool_call("call_3", "brief", {{"city", "Oslo"}}),
                                    fake_finish(FinishReason::tool_calls)};
  const FakeCallScript answers = {fake_reasoning("hm"), fake_text("Clear."), fake_finish(FinishReason::stop)};
  const auto adapter = fake({calls_tools, calls_one, answers, calls_one, answers}, {.record = true});
  const Engine engine({.adapter = adapter, .tools = tools()});
  Session session{.id = "s1"};
  session.thread.messages.push_back(system("Be brief. " + std::string(2'000, 'x')));
  const CallOptions options{.temperature = 0.5, .max_tokens = 100, .prompt_cache = cache};
  for (const char* question : {"Rome?", "And Oslo?"}) {
    const auto turn = session_reply(engine, session, question, options);
    EXPECT_TRUE(turn.has_value());
    if (turn) session = turn->session;
  }
  return adapter->requests();
}

std::string body_of(const CodecCase& one, AdapterCall call) {
  call.model = one.model;
  const Result<HttpRequest> request = one.codec->write(call, AnswerForm::stream);
  EXPECT_TRUE(request.has_value()) << one.name << ": " << (request ? "" : request.error().message());
  return request ? request->body : "";
}

// Expects that `later` is `earlier` with text inserted before the bracket that ends a list.
void expect_extended(const std::string& earlier, const std::string& later) {
  const auto [left, right] = std::ranges::mismatch(earlier, later);
  ASSERT_NE(left, earlier.end()) << earlier << '\n' << later;
  ASSERT_NE(right, later.end());
  EXPECT_EQ(*left, ']') << "a message changed: " << earlier << '\n' << later;
  EXPECT_EQ(*right, ',');
  EXPECT_TRUE(later.ends_with(std::string(left, earlier.end()))) << "what follows changed: " << later;
}

TEST(PromptPrefix, OfEveryProviderOnlyGrows) {
  using Retention = PromptCache::Retention;
  for (const PromptCache& cache : {PromptCache{}, PromptCache{.retention = Retention::long_term}}) {
    const std::vector<AdapterCall> calls = calls_of_a_conversation(cache);
    ASSERT_EQ(calls.size(), 5U);
    for (const CodecCase& one : all_codecs()) {
      for (std::size_t i = 1; i < calls.size(); ++i) {
        SCOPED_TRACE(one.name + ", request " + std::to_string(i));
        expect_extended(body_of(one, calls[i - 1]), body_of(one, calls[i]));
      }
    }
  }
}

}  // namespace
}  // namespace allm::prompt_prefix_test
