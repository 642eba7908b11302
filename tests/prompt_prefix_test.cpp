// The prompt prefix that providers cache never changes: a later request of a conversation is the earlier request with
// messages added at the end of its list. All other bytes are the same, except for the marks of the cache, which are not
// part of the prompt.
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
#include "tests/generators.hpp"

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

std::string without_marks(std::string body) {
  for (const std::string mark :
       {R"(,"cache_control":{"type":"ephemeral"})", R"(,"cache_control":{"type":"ephemeral","ttl":"1h"})"}) {
    for (std::size_t at = body.find(mark); at != std::string::npos; at = body.find(mark, at))
      body.erase(at, mark.size());
  }
  return body;
}

// "" if `later` is `earlier` with text inserted before the bracket that ends a list; otherwise what is wrong.
std::string error_of_growth(const std::string& earlier_body, const std::string& later_body) {
  const std::string earlier = without_marks(earlier_body);
  const std::string later = without_marks(later_body);
  const auto [left, right] = std::ranges::mismatch(earlier, later);
  if (left == earlier.end() || right == later.end()) return "nothing was added: " + later;
  if (*left != ']' || *right != ',') return "a message changed: " + earlier + '\n' + later;
  if (!later.ends_with(std::string(left, earlier.end()))) return "what follows changed: " + later;
  return "";
}

TEST(PromptPrefix, OfEveryProviderOnlyGrows) {
  using Retention = PromptCache::Retention;
  for (const PromptCache& cache : {PromptCache{}, PromptCache{.retention = Retention::long_term}}) {
    const std::vector<AdapterCall> calls = calls_of_a_conversation(cache);
    ASSERT_EQ(calls.size(), 5U);
    for (const CodecCase& one : all_codecs()) {
      for (std::size_t i = 1; i < calls.size(); ++i) {
        SCOPED_TRACE(one.name + ", request " + std::to_string(i));
        EXPECT_EQ(error_of_growth(body_of(one, calls[i - 1]), body_of(one, calls[i])), "");
      }
    }
  }
}

// ---- random conversations

// The thread at each request of a random conversation: after a user's message and after the results of all calls. There
// are calls only if there are tools: for a history with calls, requests without tools declare those that were called.
std::vector<MessageList> requests_of_a_conversation(gen::Random& random, bool has_tools) {
  std::vector<MessageList> requests;
  MessageList thread;
  for (std::size_t i = random.below(3); i > 0; --i) thread.push_back(system("Rule " + std::to_string(i)));
  std::size_t calls = 0;
  for (std::size_t turn = 2 + random.below(4); turn > 0; --turn) {
    std::vector<Part> parts = {TextPart{"q" + std::to_string(turn)}};
    if (random.chance(3)) parts.emplace_back(TextPart{"more"});
    if (random.chance(4))
      parts.emplace_back(ImagePart{.image = {.source = ImageBase64{"iVBORw0KGgo="}, .mime_type = "image/png"}});
    const bool is_plain = random.chance();
    thread.push_back(is_plain ? user("hello " + std::to_string(turn)) : user(std::move(parts)));
    requests.push_back(thread);
    for (std::size_t step = has_tools ? random.below(3) : 0; step > 0; --step) {
      Message calling = assistant(random.chance() ? "" : "Let me see.");
      const std::size_t first = calls;
      for (std::size_t call = 1 + random.below(3); call > 0; --call) {
        calling.tool_calls.push_back(
            {.id = "call_" + std::to_string(calls++), .name = "weather", .arguments = {{"city", "Rome"}}});
      }
      thread.push_back(std::move(calling));
      for (std::size_t call = first; call < calls; ++call) {
        thread.push_back(tool_result("call_" + std::to_string(call), random.chance() ? "21" : R"({"error":"no"})"));
      }
      requests.push_back(thread);
    }
    thread.push_back(assistant(random.chance(8) ? "" : "Answer " + std::to_string(turn)));
  }
  return requests;
}

AdapterCall call_of(gen::Random& random) {
  AdapterCall call;
  call.request_id = "r";
  call.request.prompt_cache = PromptCache{.key = "k"};
  if (random.chance()) call.request.prompt_cache->retention = PromptCache::Retention::long_term;
  if (random.chance()) call.request.tools = tools();
  if (random.chance(3)) call.request.temperature = 0.5;
  if (random.chance(3)) call.request.max_tokens = 100;
  if (random.chance(3)) call.options = {{"reasoning_effort", "low"}, {"top_p", 0.9}};
  return call;
}

// One codec for each case, so that all of them get many cases.
RC_GTEST_PROP(PromptPrefix, OfEveryProviderOnlyGrowsInRandomConversations, (const gen::Source& source)) {
  static const std::vector<CodecCase> codecs = all_codecs();
  gen::Random random(source);
  const CodecCase& one = random.pick(codecs);
  AdapterCall call = call_of(random);
  std::string last;
  for (const MessageList& messages : requests_of_a_conversation(random, !call.request.tools.empty())) {
    call.request.messages = messages;
    std::string body = body_of(one, call);
    if (!last.empty()) {
      const std::string error = error_of_growth(last, body);
      if (!error.empty()) RC_FAIL(one.name + ": " + error);
    }
    last = std::move(body);
  }
  RC_ASSERT(last == body_of(one, call));
}

// ---- the marks of Anthropic

// The prefix of the prompt up to each mark, in the provider's order: tools, system, messages.
std::vector<std::string> marked_prefixes(const Json& body) {
  std::vector<std::string> prefixes;
  std::string prompt;
  const auto take = [&](Json block) {
    const bool is_marked = block.erase("cache_control") > 0;
    prompt += block.dump();
    if (is_marked) prefixes.push_back(prompt);
  };
  for (const Json& tool : body.value("tools", Json::array())) take(tool);
  for (const Json& block : body.value("system", Json::array())) take(block);
  for (const Json& message : body["messages"]) {
    prompt += message["role"].dump();
    for (const Json& block : message["content"]) take(block);
  }
  return prefixes;
}

RC_GTEST_PROP(PromptCacheMarks, OfAnthropicEndToolsSystemAndHistory, (const gen::Source& source)) {
  gen::Random random(source);
  AdapterCall call = call_of(random);
  call.model = "claude-sonnet-4-6";
  std::vector<std::string> before;
  for (const MessageList& messages : requests_of_a_conversation(random, !call.request.tools.empty())) {
    call.request.messages = messages;
    const Json body = *parse_json(anthropic_codec({})->write(call, AnswerForm::stream)->body);
    const bool has_tools = body.contains("tools");
    const bool has_system = body.contains("system");
    if (has_tools) RC_ASSERT(body["tools"].back().contains("cache_control"));
    if (has_system) RC_ASSERT(body["system"].back().contains("cache_control"));
    RC_ASSERT(body["messages"].back()["content"].back().contains("cache_control"));
    const std::vector<std::string> prefixes = marked_prefixes(body);
    RC_ASSERT(prefixes.size() == 1U + (has_tools ? 1U : 0U) + (has_system ? 1U : 0U));
    // What an earlier request wrote to the cache is a prefix of the new prompt.
    for (const std::string& old : before) RC_ASSERT(prefixes.back().starts_with(old));
    before = prefixes;
  }
}

TEST(PromptCacheMarks, OfTheCallerCountAgainstTheFourThatAnthropicAllows) {
  const Json mark = {{"anthropic", {{"cache_control", {{"type", "ephemeral"}}}}}};
  for (std::size_t own = 0; own <= 4; ++own) {
    std::vector<Part> parts;
    for (std::size_t i = 0; i < own; ++i) parts.emplace_back(TextPart{.text = "part", .metadata = mark});
    AdapterCall call;
    call.model = "claude-sonnet-4-6";
    call.request.prompt_cache = PromptCache{};
    call.request.tools = tools();
    call.request.messages = {system("s"), parts.empty() ? user("hi") : user(parts), assistant("a"), user("end")};
    const Json body = *parse_json(anthropic_codec({})->write(call, AnswerForm::stream)->body);
    EXPECT_EQ(marked_prefixes(body).size(), std::min<std::size_t>(4, own + 3)) << body;
    EXPECT_EQ(body["messages"].back()["content"].back().contains("cache_control"), own < 4);
    EXPECT_EQ(body["system"].back().contains("cache_control"), own < 3);
    EXPECT_EQ(body["tools"].back().contains("cache_control"), own < 2);
  }
}

}  // namespace
}  // namespace allm::prompt_prefix_test
