#include <gtest/gtest.h>

#include "providers/openai/openai.hpp"
#include "providers/openai/presets.hpp"
#include "providers/openai/request.hpp"

namespace allm::chat_request_test {
namespace {

AdapterCall call_of(MessageList messages, const char* model = "gpt-4o-mini") {
  AdapterCall call;
  call.model = model;
  call.request.messages = std::move(messages);
  return call;
}

HttpRequest request_of(const AdapterCall& call, OpenAiCodecOptions options = {}) {
  const Result<HttpRequest> request = openai_codec(std::move(options))->write(call);
  EXPECT_TRUE(request.has_value()) << (request ? "" : request.error().message());
  return request ? *request : HttpRequest{};
}

Json body_of(const AdapterCall& call, OpenAiCodecOptions options = {}) {
  return parse_json(request_of(call, std::move(options)).body).value_or(Json());
}

// The body's members, without those that every request has.
Json rest_of(const AdapterCall& call, OpenAiCodecOptions options = {}) {
  Json body = body_of(call, std::move(options));
  for (const char* name : {"model", "messages", "stream", "stream_options"}) body.erase(name);
  return body;
}

void expect_body(const Json& body, const char* expected) { EXPECT_EQ(body, *parse_json(expected)) << body.dump(); }

OpenAiCodecOptions preset(std::string_view name) { return options_of(*find_openai_preset(name)); }

Tool weather() {
  return {.name = "weather",
          .description = "Weather",
          .schema = {{"type", "object"}, {"properties", {{"city", {{"type", "string"}}}}}}};
}

TEST(ChatRequest, MessagesOfAllRolesInOrder) {
  Message calling = assistant("");
  calling.tool_calls = {
      {.id = "c1", .name = "weather", .arguments = {{"city", "Rome"}}, .raw_arguments = "{ \"city\":\"Rome\"}"},
      {.id = "c2", .name = "time", .arguments = {{"tz", "UTC"}}}};
  Message named = user(std::vector<Part>{TextPart{"a"}, TextPart{"b"}});
  named.name = "eve";
  expect_body(body_of(call_of({system("be brief"), named, calling, tool_result("c1", "18C"), tool_result("c2", "9:00"),
                               assistant("ok")})),
              R"({"model":"gpt-4o-mini","messages":[{"role":"system","content":"be brief"},
    {"role":"user","content":"a\nb","name":"eve"},
    {"role":"assistant","content":null,"tool_calls":[
      {"id":"c1","type":"function","function":{"name":"weather","arguments":"{ \"city\":\"Rome\"}"}},
      {"id":"c2","type":"function","function":{"name":"time","arguments":"{\"tz\":\"UTC\"}"}}]},
    {"role":"tool","tool_call_id":"c1","content":"18C"},{"role":"tool","tool_call_id":"c2","content":"9:00"},
    {"role":"assistant","content":"ok"}],"stream":true,"stream_options":{"include_usage":true}})");
}

TEST(ChatRequest, AWholeAnswerIsAskedForWithoutStreamAndStreamOptions) {
  AdapterCall call = call_of({user("hi")});
  call.request.stream = false;
  expect_body(body_of(call), R"({"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]})");
  call.options = {{"stream_options", {{"include_usage", true}}}};
  expect_body(body_of(call), R"({"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]})");
  call.options = {{"stream", true}};
  EXPECT_TRUE(body_of(call).contains("stream_options")) << "the param goes before the request";
  call.request.stream = true;
  call.request.options = {{"stream", false}};
  call.options = Json::object();
  expect_body(body_of(call), R"({"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]})");
}

TEST(ChatRequest, ImagesBecomeParts) {
  const Message message = user(std::vector<Part>{
      TextPart{"this?"},
      ImagePart{.image = {.source = ImageBytes{"abc"}, .mime_type = "image/png"}, .detail = ImageDetail::low},
      ImagePart{.image = {.source = ImageUrl{"https://x.test/a.png"}}}});
  expect_body(body_of(call_of({message}))["messages"], R"([{"role":"user","content":[{"type":"text","text":"this?"},
    {"type":"image_url","image_url":{"url":"data:image/png;base64,YWJj","detail":"low"}},
    {"type":"image_url","image_url":{"url":"https://x.test/a.png","detail":"auto"}}]}])");
}

TEST(ChatRequest, ImagesThatCannotBeSentAreErrors) {
  const std::vector<Part> parts = {ImagePart{.image = {.source = ImageUrl{"https://x.test"}}}};
  const auto in_system = openai_codec()->write(call_of({system(parts)}));
  ASSERT_FALSE(in_system.has_value());
  EXPECT_TRUE(in_system.error().is<ValidationError>(ValidationError::Reason::invalid_message));
  const auto in_answer = openai_codec()->write(call_of({assistant(parts)}));
  ASSERT_FALSE(in_answer.has_value());
  EXPECT_TRUE(in_answer.error().is<AdapterError>(AdapterError::Reason::unsupported_feature));
}

TEST(ChatRequest, ToolsAndToolChoice) {
  AdapterCall call = call_of({user("hi")});
  Tool bare{.name = "bare"};
  bare.metadata["strict"] = true;
  call.request.tools = {weather(), bare};
  call.request.tool_choice = ToolChoice::tool("weather");
  call.request.options["parallel_tool_calls"] = false;
  expect_body(rest_of(call), R"({"tools":[{"type":"function","function":{"name":"weather","description":"Weather",
      "parameters":{"type":"object","properties":{"city":{"type":"string"}}}}},
    {"type":"function","function":{"name":"bare","parameters":{"type":"object","properties":{}},"strict":true}}],
    "tool_choice":{"type":"function","function":{"name":"weather"}},"parallel_tool_calls":false})");
  for (const auto& [choice, wire] : {std::pair(ToolChoice::automatic(), "auto"), std::pair(ToolChoice::none(), "none"),
                                     std::pair(ToolChoice::required(), "required")}) {
    call.request.tool_choice = choice;
    EXPECT_EQ(body_of(call)["tool_choice"], wire);
  }
  call.request.tool_choice = ToolChoice::from_json({{"type", "allowed_tools"}});
  EXPECT_EQ(body_of(call)["tool_choice"], Json({{"type", "allowed_tools"}}));
}

TEST(ChatRequest, AChoiceWithoutToolsIsNotSent) {
  AdapterCall call = call_of({user("hi")});
  call.request.tool_choice = ToolChoice::required();
  call.request.options["parallel_tool_calls"] = true;
  EXPECT_EQ(rest_of(call), Json::object());
}

TEST(ChatRequest, TheNameOfTheTokenLimitDependsOnTheModel) {
  AdapterCall call = call_of({user("hi")});
  call.request.max_tokens = 16;
  const auto name_for = [&](const char* model, OpenAiCodecOptions options = {}) {
    call.model = model;
    options.endpoint = OpenAiCodecOptions::Endpoint::chat;
    return rest_of(call, std::move(options)).begin().key();
  };
  for (const char* model : {"gpt-4o", "gpt-4.1-mini", "gpt-5.5", "GPT-10", "o3-mini", "gpt-5-chat-latest"}) {
    EXPECT_EQ(name_for(model), "max_completion_tokens") << model;
  }
  for (const char* model : {"gpt-3.5-turbo", "gpt-4-turbo", "gpt-oss-20b", "llama3", "ft:gpt-4o:x"}) {
    EXPECT_EQ(name_for(model), "max_tokens") << model;
  }
  EXPECT_EQ(name_for("gpt-4o", preset("vllm")), "max_tokens");
}

TEST(ChatRequest, OptionsThatReasoningModelsRefuseAreLeftOut) {
  AdapterCall call = call_of({user("hi")}, "o4-mini");
  call.request.temperature = 0.5;
  call.request.options = {{"stop", "x"}, {"top_p", 0.1}, {"n", 1}, {"seed", 3}};
  call.options = {{"endpoint", "chat"}, {"reasoning_effort", "low"}, {"verbosity", "low"}};
  expect_body(rest_of(call), R"({"reasoning_effort":"low","seed":3})");
  call.model = "gpt-5.5";
  expect_body(rest_of(call), R"({"reasoning_effort":"low","verbosity":"low","seed":3})");
  call.model = "gpt-4o";
  expect_body(rest_of(call), R"({"temperature":0.5,"stop":"x","top_p":0.1,"n":1,"seed":3})");
  call.model = "gpt-5-clone";
  expect_body(
      rest_of(call, preset("vllm")),
      R"({"temperature":0.5,"reasoning_effort":"low","verbosity":"low","stop":"x","top_p":0.1,"n":1,"seed":3})");
}

TEST(ChatRequest, ResponseFormats) {
  AdapterCall call = call_of({user("hi")});
  call.request.response_format = ResponseFormat::text();
  EXPECT_EQ(rest_of(call), Json::object());
  call.request.response_format = ResponseFormat::json_object();
  expect_body(rest_of(call), R"({"response_format":{"type":"json_object"}})");
  call.request.response_format = ResponseFormat::json_schema("ans", {{"type", "object"}});
  expect_body(rest_of(call), R"({"response_format":{"type":"json_schema",
    "json_schema":{"name":"ans","schema":{"type":"object"},"strict":true}}})");
  call.request.response_format = ResponseFormat::from_json({{"type", "grammar"}});
  expect_body(rest_of(call), R"({"response_format":{"type":"grammar"}})");
}

TEST(ChatRequest, PromptCaching) {
  AdapterCall call = call_of({user("hi")});
  call.request.prompt_cache = PromptCache{.key = "k"};
  expect_body(rest_of(call), R"({"prompt_cache_key":"k"})");
  call.request.prompt_cache = PromptCache{.retention = PromptCache::Retention::long_term};
  expect_body(rest_of(call), R"({"prompt_cache_retention":"24h"})");
  EXPECT_EQ(rest_of(call, preset("groq")), Json::object());
}

TEST(ChatRequest, SettingsOverwriteMembersAndAllmsOwnOptionsAreNotSent) {
  AdapterCall call = call_of({user("hi")});
  call.request.temperature = 0.5;
  call.request.options = {{"temperature", 1.5}, {"user", "u"}, {"stop", {"a", "b"}}};
  call.options = {{"user", "v"},          {"metadata", {{"k", "v"}}},  {"stream_options", nullptr},
                  {"stream_timeout", 5},  {"api_key", "secret"},       {"retry_policy", "off"},
                  {"verbosity", "low"},   {"reasoning_effort", "low"}, {"reasoning_summary", "auto"},
                  {"request_timeout", 5}, {"receive_timeout", 1},      {"pool_timeout", 1},
                  {"connect_timeout", 1}};
  expect_body(body_of(call), R"({"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}],"temperature":1.5,
    "stream":true,"user":"v","stop":["a","b"],"metadata":{"k":"v"}})");
}

TEST(ChatRequest, MistralGetsIdsOfNineCharacters) {
  Message calling = assistant("");
  calling.tool_calls = {{.id = "call_Zx81Kq02", .name = "f"}, {.id = "abcDEF123", .name = "f"}};
  AdapterCall call = call_of({calling, tool_result("call_Zx81Kq02", "r")}, "mistral-large-latest");
  call.request.tools = {weather()};
  call.request.tool_choice = ToolChoice::required();
  const Json body = body_of(call, preset("mistral"));
  const std::string id = body["messages"][0]["tool_calls"][0]["id"];
  EXPECT_EQ(id.size(), 9U);
  EXPECT_EQ(id.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"), std::string::npos);
  EXPECT_EQ(body["messages"][0]["tool_calls"][1]["id"], "abcDEF123");
  EXPECT_EQ(body["messages"][1]["tool_call_id"], id);
  EXPECT_EQ(body["tool_choice"], "any");
  EXPECT_FALSE(body.contains("stream_options"));
}

TEST(ChatRequest, StateIsSentBackToServersThatNeedIt) {
  Message calling = assistant("");
  calling.tool_calls = {{.id = "c1", .name = "f", .raw_arguments = "{}"}};
  calling.tool_calls[0].metadata["deepseek"] = {{"extra_content", {{"s", 1}}}};
  calling.metadata["deepseek"] = {{"reasoning_content", "hmm"}, {"reasoning_details", {{{"type", "t"}}}}};
  const Json body = body_of(call_of({calling}, "deepseek-reasoner"), preset("deepseek"));
  expect_body(body["messages"][0], R"({"role":"assistant","content":null,"reasoning_content":"hmm",
    "reasoning_details":[{"type":"t"}],"tool_calls":[{"id":"c1","type":"function",
    "function":{"name":"f","arguments":"{}"},"extra_content":{"s":1}}]})");
  expect_body(body_of(call_of({calling}))["messages"][0], R"({"role":"assistant","content":null,
    "tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]})");
  EXPECT_EQ(body_of(call_of({calling}), preset("ollama"))["messages"][0]["content"], "");
}

TEST(ChatRequest, UrlAndHeaders) {
  const AdapterCall call = call_of({user("hi")});
  const HttpRequest plain = request_of(call, {.organization = "org-1", .project = "proj_1"});
  EXPECT_EQ(plain.url, "https://api.openai.com/v1/chat/completions");
  EXPECT_EQ(plain.headers,
            (HttpHeaders{
                {"Content-Type", "application/json"}, {"OpenAI-Organization", "org-1"}, {"OpenAI-Project", "proj_1"}}));
  EXPECT_EQ(openai_codec()->key_header("k"), (HttpHeader{"Authorization", "Bearer k"}));
  OpenAiCodecOptions azure = preset("azure");
  azure.base_url = "https://r.openai.azure.com/openai/deployments/d/?api-version=2024-10-21";
  EXPECT_EQ(request_of(call, azure).url,
            "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21");
  EXPECT_EQ(openai_codec(azure)->key_header("k"), (HttpHeader{"api-key", "k"}));
  AdapterCall nameless;
  nameless.request.messages = {user("hi")};
  EXPECT_FALSE(body_of(nameless, azure).contains("model"));
}

TEST(ChatRequest, AModelIsNeeded) {
  AdapterCall call;
  call.request.messages = {user("hi")};
  const auto request = openai_codec()->write(call);
  ASSERT_FALSE(request.has_value());
  EXPECT_TRUE(request.error().is<EngineError>(EngineError::Reason::missing_model));
}

TEST(ChatRequest, TheErrorNamesWhatCannotBeWritten) {
  const auto path_of = [](const AdapterCall& call) {
    const auto request = openai_codec()->write(call);
    if (request) return Path{"no error"};
    const auto* error = request.error().get_if<ValidationError>();
    return error == nullptr || error->errors.empty() ? Path{"no path"} : error->errors.front().path;
  };
  EXPECT_EQ(path_of(call_of({user("hi"), user("\xFF")})), (Path{"messages", 1, "content"}));
  const std::vector<Part> parts = {ImagePart{.image = {.source = ImageUrl{"https://example.org/a.png"}}},
                                   TextPart{"\xFF"}};
  EXPECT_EQ(path_of(call_of({user(parts)})), (Path{"messages", 0, "content", 1, "text"}));
  Message calling = assistant("");
  calling.tool_calls = {{.id = "c", .name = "f", .raw_arguments = "\xFF"}};
  EXPECT_EQ(path_of(call_of({calling})), (Path{"messages", 0, "tool_calls", 0, "function", "arguments"}));
  AdapterCall with_tool = call_of({user("hi")});
  with_tool.request.tools = {weather(), weather()};
  with_tool.request.tools[1].description = "\xFF";
  EXPECT_EQ(path_of(with_tool), (Path{"tools", 1, "function", "description"}));
}

TEST(ChatRequest, AnOptionThatIsNotJsonIsRejected) {
  AdapterCall call = call_of({user("hi")});
  call.request.tools = {weather()};
  call.options["logit_bias"] = Json::parse("{", nullptr, false);
  EXPECT_FALSE(openai_codec()->write(call).has_value());
}

TEST(ChatRequest, SettingsMayReplaceMessagesAndTools) {
  AdapterCall call = call_of({user("hi")});
  call.request.tools = {weather()};
  call.options = {{"messages", {{{"role", "developer"}, {"content", "x"}}}}, {"tools", nullptr}};
  const Json body = body_of(call);
  EXPECT_EQ(body["messages"], Json::array({{{"role", "developer"}, {"content", "x"}}}));
  EXPECT_FALSE(body.contains("tools"));
}

TEST(Endpoint, FollowsModelHostAndOption) {
  const auto path = [](const char* model, OpenAiCodecOptions options, Json option = nullptr) {
    AdapterCall call = call_of({user("hi")}, model);
    if (!option.is_null()) call.options["endpoint"] = std::move(option);
    const std::string url = request_of(call, std::move(options)).url;
    return url.substr(url.rfind('/'));
  };
  for (const char* model : {"gpt-5", "gpt-5.5-mini", "GPT-6", "gpt-10", "o1", "o4-mini"}) {
    EXPECT_EQ(path(model, {}), "/responses") << model;
    EXPECT_EQ(path(model, {.base_url = "http://localhost:1/v1"}), "/completions") << model;
    EXPECT_EQ(path(model, {}, "chat"), "/completions") << model;
  }
  for (const char* model :
       {"gpt-4o", "gpt-4.1", "gpt-3.5-turbo", "gpt-oss-120b", "gpt-image-1", "ft:gpt-5:x", "o", "openai/o3"}) {
    EXPECT_EQ(path(model, {}), "/completions") << model;
    EXPECT_EQ(path(model, {}, "responses"), "/responses") << model;
  }
  EXPECT_EQ(path("x", {.endpoint = OpenAiCodecOptions::Endpoint::responses}), "/responses");
  EXPECT_EQ(path("gpt-5", {.endpoint = OpenAiCodecOptions::Endpoint::chat}, "auto"), "/responses");
  AdapterCall wrong = call_of({user("hi")});
  wrong.options["endpoint"] = "soap";
  EXPECT_FALSE(openai_codec()->write(wrong).has_value());
}

TEST(Presets, AreFoundByName) {
  EXPECT_EQ(openai_presets().size(), 11U);
  for (const OpenAiPreset& entry : openai_presets()) EXPECT_EQ(find_openai_preset(entry.name), &entry);
  EXPECT_EQ(find_openai_preset("nobody"), nullptr);
  EXPECT_EQ(preset("deepseek").base_url, "https://api.deepseek.com");
  EXPECT_EQ(preset("deepseek").provider, "deepseek");
}

}  // namespace
}  // namespace allm::chat_request_test
