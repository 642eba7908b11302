// The expected JSON of requests, feature by feature.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "providers/anthropic/anthropic.hpp"
#include "providers/anthropic/schema.hpp"

namespace allm::request_test {
namespace {

Json json(std::string_view text) {
  Result<Json> value = parse_json(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? *std::move(value) : Json();
}

AdapterCall call_of(MessageList messages) {
  AdapterCall call;
  call.model = "claude";
  call.request.max_tokens = 10;
  call.request.messages = std::move(messages);
  call.request.stream = false;
  return call;
}

Result<HttpRequest> request(const AdapterCall& call, AnthropicCodecOptions options = {}) {
  return anthropic_codec(std::move(options))->write(call);
}

Json body(const AdapterCall& call, AnthropicCodecOptions options = {}) {
  const Result<HttpRequest> written = request(call, std::move(options));
  EXPECT_TRUE(written.has_value()) << (written ? "" : written.error().message());
  return written ? json(written->body) : Json();
}

void expect_body(const AdapterCall& call, std::string_view expected) {
  const Json written = body(call);
  EXPECT_TRUE(json_equal(written, json(expected))) << written;
}

void expect_messages(MessageList messages, std::string_view expected) {
  const Json written = body(call_of(std::move(messages)))["messages"];
  EXPECT_TRUE(json_equal(written, json(expected))) << written;
}

Message calling(std::string text, std::vector<ToolCall> calls) {
  Message message = assistant(std::move(text));
  message.tool_calls = std::move(calls);
  return message;
}

TEST(AnthropicRequest, HasItsUrlAndHeaders) {
  const Result<HttpRequest> written =
      request(call_of({user("hi")}), {.base_url = "http://localhost/v1/", .beta = {"a", "b"}});
  EXPECT_EQ(written->url, "http://localhost/v1/messages");
  EXPECT_EQ(*find_header(written->headers, "anthropic-version"), "2023-06-01");
  EXPECT_EQ(*find_header(written->headers, "Anthropic-Beta"), "a,b");
  EXPECT_EQ(*find_header(written->headers, "content-type"), "application/json");
  EXPECT_EQ(anthropic_codec()->key_header("k"), (HttpHeader{"x-api-key", "k"}));
  EXPECT_EQ(anthropic_codec()->provider(), "anthropic");
  EXPECT_EQ(find_header(request(call_of({user("hi")}))->headers, "anthropic-beta"), nullptr);
}

TEST(AnthropicRequest, NeedsAModel) {
  AdapterCall call = call_of({user("hi")});
  call.model.reset();
  EXPECT_TRUE(request(call).error().is<EngineError>(EngineError::Reason::missing_model));
}

TEST(AnthropicRequest, WritesTypedOptions) {
  AdapterCall call = call_of({system("A"), user("hi"), system("B")});
  call.request.temperature = 0.5;
  call.request.stream = true;
  call.request.prompt_cache = PromptCache{};
  expect_body(call, R"({"model":"claude","max_tokens":10,"temperature":0.5,"stream":true,
      "system":[{"type":"text","text":"A\n\nB","cache_control":{"type":"ephemeral"}}],
      "messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]})");
}

TEST(AnthropicRequest, LeavesOutSettingsThatTheModelRefuses) {
  AdapterCall call = call_of({user("hi")});
  call.request.temperature = 0.5;
  call.options = {{"top_p", 0.9}, {"top_k", 3}, {"service_tier", "auto"}};
  for (const char* model : {"claude-opus-4-7", "claude-opus-5", "claude-sonnet-5-5", "claude-opus-4-7-20260416"}) {
    call.model = model;
    const Json written = body(call);
    EXPECT_FALSE(written.contains("temperature") || written.contains("top_p") || written.contains("top_k")) << written;
    EXPECT_EQ(written["service_tier"], "auto");
  }
  for (const char* model : {"claude-opus-4-6", "claude-sonnet-4-6", "some-model"}) {
    call.model = model;
    EXPECT_EQ(body(call)["temperature"], 0.5) << model;
  }
}

TEST(AnthropicRequest, FillsInMaxTokensOnTopOfAThinkingBudget) {
  AdapterCall call = call_of({user("hi")});
  call.request.max_tokens.reset();
  EXPECT_EQ(body(call)["max_tokens"], 4096);
  EXPECT_EQ(body(call, {.default_max_tokens = 7})["max_tokens"], 7);
  call.options = {{"thinking", {{"type", "enabled"}, {"budget_tokens", 2000}}}};
  EXPECT_EQ(body(call)["max_tokens"], 6096);
}

TEST(AnthropicRequest, TranslatesSettingsAndDropsAllmsOwnOptions) {
  AdapterCall call = call_of({user("hi")});
  call.request.options = {{"top_k", 3}};
  call.options = {{"stop", "END"},
                  {"user", "u1"},
                  {"top_p", 0.9},
                  {"request_timeout", 5},
                  {"receive_timeout", 5},
                  {"stream_timeout", 5},
                  {"pool_timeout", 5},
                  {"connect_timeout", 5},
                  {"retry_policy", "x"},
                  {"api_key", "sk-secret"},
                  {"reasoning_summary", 1},
                  {"verbosity", "low"},
                  {"parallel_tool_calls", true},
                  {"service_tier", "auto"},
                  {"max_tokens", 99},
                  {"reasoning_effort", "minimal"}};
  expect_body(call, R"({"model":"claude","max_tokens":99,"messages":[{"role":"user","content":"hi"}],"top_k":3,
                        "top_p":0.9,"stop_sequences":["END"],"metadata":{"user_id":"u1"},"service_tier":"auto",
                        "output_config":{"effort":"low"}})");
}

TEST(AnthropicRequest, EffortNoneTurnsThinkingOff) {
  AdapterCall call = call_of({user("hi")});
  call.options = {{"reasoning_effort", "none"}};
  EXPECT_EQ(body(call)["thinking"], json(R"({"type":"disabled"})"));
}

TEST(AnthropicRequest, MergesSuccessiveMessagesOfOneRole) {
  expect_messages({user("a"), user("b"), assistant("c"), assistant("d")},
                  R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
                      {"role":"assistant","content":[{"type":"text","text":"c"},{"type":"text","text":"d"}]}])");
}

TEST(AnthropicRequest, LeavesOutEmptyContent) {
  expect_messages({user("a"), assistant(" \n"), user(""), user("b")},
                  R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])");
  expect_messages({user("go"), calling("", {{.id = "t", .name = "f"}}), tool_result("t", "")},
                  R"([{"role":"user","content":"go"},
                      {"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},
                      {"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}])");
  const Result<HttpRequest> nothing = request(call_of({system("only"), user(" ")}));
  EXPECT_TRUE(nothing.error().is<ValidationError>(ValidationError::Reason::invalid_message));
}

TEST(AnthropicRequest, PutsToolResultsFirst) {
  expect_messages({user("go"), calling("on it", {{.id = "t", .name = "f", .arguments = {{"a", 1}}}}), user("hurry"),
                   tool_result("t", "r")},
                  R"([{"role":"user","content":"go"},
                      {"role":"assistant","content":[{"type":"text","text":"on it"},
                        {"type":"tool_use","id":"t","name":"f","input":{"a":1}}]},
                      {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"},
                        {"type":"text","text":"hurry"}]}])");
}

TEST(AnthropicRequest, SendsImagesAndJoinsTexts) {
  const Image bytes{.source = ImageBytes{"abc"}, .mime_type = "image/png"};
  const Image url{.source = ImageUrl{"https://x/y.png"}};
  expect_messages({user(std::vector<Part>{TextPart{"a"}, TextPart{"b"}})}, R"([{"role":"user","content":"a\nb"}])");
  expect_messages({user(std::vector<Part>{TextPart{"see"}, ImagePart{bytes}, TextPart{""}, ImagePart{url}})},
                  R"([{"role":"user","content":[{"type":"text","text":"see"},
                      {"type":"image","source":{"type":"base64","media_type":"image/png","data":"YWJj"}},
                      {"type":"image","source":{"type":"url","url":"https://x/y.png"}}]}])");
  const Result<HttpRequest> in_system = request(call_of({system(std::vector<Part>{ImagePart{bytes}}), user("x")}));
  EXPECT_EQ(in_system.error().get_if<ValidationError>()->errors.at(0).reason, "image_in_system_message");
}

TEST(AnthropicRequest, RefusesImagesOfTheAssistant) {
  const Part image = ImagePart{{.source = ImageBytes{"abc"}, .mime_type = "image/png"}};
  const AdapterCall call = call_of({user("draw"), assistant(std::vector<Part>{image}), user(std::vector<Part>{image})});
  EXPECT_TRUE(request(call).error().is<AdapterError>(AdapterError::Reason::unsupported_feature));
}

TEST(AnthropicRequest, AToolWhoseSchemaIsNotAnObjectIsSentWithoutOne) {
  AdapterCall call = call_of({user("hi")});
  call.request.tools = {{.name = "f", .schema = 5}};
  EXPECT_EQ(body(call)["tools"][0]["input_schema"], json(R"({"type":"object","properties":{}})"));
}

TEST(AnthropicRequest, AddsTheProvidersMetadataOfPartsAndTools) {
  TextPart part{"long"};
  part.metadata["anthropic"] = {{"cache_control", {{"type", "ephemeral"}}}};
  AdapterCall call = call_of({user(std::vector<Part>{part, TextPart{"short"}})});
  call.request.tools = {{.name = "f", .metadata = {{"anthropic", {{"strict", true}}}}}};
  expect_body(call, R"({"model":"claude","max_tokens":10,
                        "tools":[{"name":"f","input_schema":{"type":"object","properties":{}},"strict":true}],
                        "messages":[{"role":"user","content":[
                          {"type":"text","text":"long","cache_control":{"type":"ephemeral"}},
                          {"type":"text","text":"short"}]}]})");
}

TEST(AnthropicRequest, WritesToolChoices) {
  AdapterCall call = call_of({user("hi")});
  call.request.tools = {{.name = "f", .schema = {{"type", "object"}}}};
  const auto choice = [&](std::optional<ToolChoice> value, Json settings = Json::object()) {
    call.request.tool_choice = std::move(value);
    call.options = std::move(settings);
    return body(call).value("tool_choice", Json());
  };
  const Json serial = {{"parallel_tool_calls", false}};
  EXPECT_EQ(choice(std::nullopt), Json());
  EXPECT_EQ(choice(ToolChoice::automatic()), Json());
  EXPECT_EQ(choice(ToolChoice::none()), json(R"({"type":"none"})"));
  EXPECT_EQ(choice(ToolChoice::none(), serial), json(R"({"type":"none"})"));
  EXPECT_EQ(choice(ToolChoice::required()), json(R"({"type":"any"})"));
  EXPECT_EQ(choice(ToolChoice::tool("f")), json(R"({"type":"tool","name":"f"})"));
  EXPECT_EQ(choice(std::nullopt, serial), json(R"({"type":"auto","disable_parallel_tool_use":true})"));
  EXPECT_EQ(choice(ToolChoice::required(), {{"parallel_tool_calls", true}}),
            json(R"({"type":"any","disable_parallel_tool_use":false})"));
  EXPECT_EQ(choice(ToolChoice::from_json({{"type", "auto"}})), json(R"({"type":"auto"})"));
}

TEST(AnthropicRequest, RefusesImpossibleToolChoices) {
  AdapterCall call = call_of({user("hi")});
  call.request.tool_choice = ToolChoice::required();
  EXPECT_TRUE(request(call).error().is<ValidationError>(ValidationError::Reason::invalid_request));
  call.request.tools = {{.name = "f"}};
  call.options = {{"thinking", {{"type", "adaptive"}}}};
  EXPECT_TRUE(request(call).error().is<AdapterError>(AdapterError::Reason::unsupported_feature));
  call.options = {{"thinking", {{"type", "disabled"}}}};
  EXPECT_TRUE(request(call).has_value());
}

TEST(AnthropicRequest, AsksForStructureNativelyWithThinkingOrOnRequest) {
  AdapterCall call = call_of({user("hi")});
  call.request.response_format = ResponseFormat::json_schema("x", {{"type", "object"}, {"properties", Json::object()}});
  const Json format = json(R"({"type":"json_schema","schema":{"type":"object","properties":{},
                               "additionalProperties":false}})");
  const Json native = body(call, {.native_structured_output = true});
  EXPECT_TRUE(json_equal(native["output_config"], {{"format", format}})) << native;
  EXPECT_FALSE(native.contains("tools"));
  call.options = {{"thinking", {{"type", "adaptive"}}}, {"output_config", {{"effort", "max"}}}};
  EXPECT_TRUE(json_equal(body(call)["output_config"], {{"format", format}, {"effort", "max"}}));
}

TEST(AnthropicRequest, TheAnswerToolIsAddedToOtherTools) {
  AdapterCall call = call_of({user("hi")});
  call.request.response_format = ResponseFormat::json_schema("a b", {{"type", "object"}});
  call.request.tools = {{.name = "f"}};
  EXPECT_EQ(body(call)["tool_choice"], json(R"({"type":"any"})"));
  EXPECT_EQ(body(call)["tools"][1]["name"], "respond_with_json_a_b");
  call.request.tool_choice = ToolChoice::tool("f");
  EXPECT_EQ(body(call)["tool_choice"], json(R"({"type":"tool","name":"f"})"));
  EXPECT_EQ(body(call)["tools"].size(), 1U);
}

TEST(AnthropicRequest, JsonWithoutASchemaIsAskedForByATool) {
  AdapterCall call = call_of({user("hi")});
  call.request.response_format = ResponseFormat::json_object();
  EXPECT_EQ(body(call)["tools"][0]["name"], "respond_with_json_object");
  call.options = {{"thinking", {{"type", "adaptive"}}}};
  EXPECT_TRUE(request(call).error().is<AdapterError>(AdapterError::Reason::unsupported_feature));
}

TEST(AnthropicSchema, MovesRefusedRulesIntoTheDescription) {
  const Json adapted = anthropic_schema(json(R"json({
    "$schema":"s","type":"object","additionalProperties":true,
    "properties":{
      "minimum":{"type":"integer","minimum":1,"description":"A number"},
      "mail":{"type":"string","format":"email"},"ip":{"type":"string","format":"idn-email"},
      "list":{"type":"array","minItems":1,"items":{"type":"string","maxLength":3}},
      "more":{"type":"array","minItems":2,"items":{"oneOf":[{"type":"object"},{"$ref":"#/$defs/a"}]}}},
    "$defs":{"a":{"type":["object","null"],"properties":{}}}})json"));
  EXPECT_TRUE(json_equal(adapted, json(R"json({
    "type":"object","additionalProperties":false,
    "properties":{
      "minimum":{"type":"integer","description":"A number (minimum: 1)"},
      "mail":{"type":"string","format":"email"},"ip":{"type":"string","description":"(format: \"idn-email\")"},
      "list":{"type":"array","minItems":1,"items":{"type":"string","description":"(maxLength: 3)"}},
      "more":{"type":"array","description":"(minItems: 2)",
        "items":{"anyOf":[{"type":"object","additionalProperties":false},{"$ref":"#/$defs/a"}]}}},
    "$defs":{"a":{"type":["object","null"],"properties":{},"additionalProperties":false}}})json")))
      << adapted;
}

}  // namespace
}  // namespace allm::request_test
