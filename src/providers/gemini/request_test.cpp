// The expected JSON of requests, feature by feature.
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "providers/gemini/gemini.hpp"
#include "providers/gemini/schema.hpp"

namespace allm::request_test {
namespace {

Json json(std::string_view text) {
  Result<Json> value = parse_json(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? *std::move(value) : Json();
}

AdapterCall call_of(MessageList messages) {
  AdapterCall call;
  call.model = "gemini-3-flash";
  call.request.messages = std::move(messages);
  return call;
}

Result<HttpRequest> request(const AdapterCall& call, GeminiCodecOptions options = {}) {
  return gemini_codec(std::move(options))->write(call);
}

Json body(const AdapterCall& call, GeminiCodecOptions options = {}) {
  const Result<HttpRequest> written = request(call, std::move(options));
  EXPECT_TRUE(written.has_value()) << (written ? "" : written.error().message());
  return written ? json(written->body) : Json();
}

Json config(const AdapterCall& call, GeminiCodecOptions options = {}) {
  return body(call, std::move(options)).value("generationConfig", Json());
}

std::string url(std::string model, bool stream = false) {
  AdapterCall call = call_of({user("hi")});
  call.model = std::move(model);
  call.request.stream = stream;
  return request(call, {.base_url = "http://h/v1/"})->url;
}

TEST(GeminiRequest, HasItsUrlAndHeaders) {
  EXPECT_EQ(url("gemini-x"), "http://h/v1/models/gemini-x:generateContent");
  EXPECT_EQ(url("models/gemini-x", true), "http://h/v1/models/gemini-x:streamGenerateContent?alt=sse");
  EXPECT_EQ(url("tunedModels/m"), "http://h/v1/tunedModels/m:generateContent");
  AdapterCall by_param = call_of({user("hi")});
  by_param.request.options = {{"stream", false}};
  EXPECT_TRUE(request(by_param)->url.ends_with(":generateContent"));
  EXPECT_FALSE(body(by_param).contains("stream"));
  EXPECT_EQ(url("a?key=b#c"), "http://h/v1/models/a%3Fkey%3Db%23c:generateContent");
  EXPECT_EQ(gemini_codec()->key_header("k"), (HttpHeader{"x-goog-api-key", "k"}));
  AdapterCall nameless = call_of({user("hi")});
  nameless.model.reset();
  EXPECT_TRUE(request(nameless).error().is<EngineError>(EngineError::Reason::missing_model));
}

TEST(GeminiRequest, WritesContents) {
  const Image bytes{.source = ImageBytes{"abc"}, .mime_type = "image/png"};
  const Json written = body(call_of({system("A"), system("B"), user(std::vector<Part>{TextPart{"x"}, ImagePart{bytes}}),
                                     assistant(""), assistant("y"), assistant("z"), user("w")}));
  EXPECT_TRUE(json_equal(written, json(R"({"systemInstruction":{"parts":[{"text":"A\n\nB"}]},"contents":[
      {"role":"user","parts":[{"text":"x"},{"inlineData":{"mimeType":"image/png","data":"YWJj"}}]},
      {"role":"model","parts":[{"text":"y"},{"text":"z"}]},{"role":"user","parts":[{"text":"w"}]}]})")))
      << written;
  EXPECT_TRUE(request(call_of({system("A")})).error().is<ValidationError>(ValidationError::Reason::invalid_message));
}

TEST(GeminiRequest, SendsUrlsOfImagesOnlyIfAllowed) {
  const AdapterCall call =
      call_of({user(std::vector<Part>{ImagePart{{.source = ImageUrl{"https://x/y.png"}, .mime_type = "image/png"}}})});
  EXPECT_TRUE(request(call).error().is<AdapterError>(AdapterError::Reason::unsupported_feature));
  EXPECT_EQ(body(call, {.fetch_image_urls = true})["contents"][0]["parts"][0],
            json(R"({"fileData":{"fileUri":"https://x/y.png","mimeType":"image/png"}})"));
  const AdapterCall plain = call_of({user(std::vector<Part>{ImagePart{{.source = ImageUrl{"http://x/y.png"}}}})});
  EXPECT_FALSE(request(plain, {.fetch_image_urls = true}).has_value());
}

TEST(GeminiRequest, LooksUpTheNamesOfTools) {
  Message asked = assistant("");
  asked.tool_calls = {{.id = "a", .name = "f"}, {.id = "b", .name = "g"}};
  AdapterCall call = call_of({user("go"), asked, tool_result("b", "[1]"), tool_result("a", "{\"x\":1}")});
  call.model = "gemini-2.5-flash";
  const Json written = body(call);
  EXPECT_TRUE(json_equal(written["contents"], json(R"([{"role":"user","parts":[{"text":"go"}]},
      {"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g","args":{}}}]},
      {"role":"user","parts":[{"functionResponse":{"name":"f","response":{"x":1}}},
                              {"functionResponse":{"name":"g","response":{"output":"[1]"}}}]}])")))
      << written;
  const Result<HttpRequest> unknown = request(call_of({user("go"), tool_result("zzz", "1")}));
  EXPECT_EQ(unknown.error().get_if<ValidationError>()->errors.at(0).reason, "unknown_tool_call");
}

TEST(GeminiRequest, MarksCallsWithoutASignatureForModelsThatRefuseThem) {
  Message asked = assistant("");
  asked.tool_calls = {{.id = "a", .name = "f"}, {.id = "b", .name = "g"}};
  AdapterCall call = call_of({user("go"), asked, tool_result("a", "1"), tool_result("b", "2")});
  for (const auto& [model, option, marked] : {std::tuple("gemini-2.5-pro", false, false),
                                              {"gemini-2.5-pro", true, true},
                                              {"gemini-3-flash", false, true},
                                              {"gemini-10-pro", false, true}}) {
    call.model = model;
    const Json parts = body(call, {.excuse_missing_signatures = option})["contents"][1]["parts"];
    EXPECT_EQ(parts[0].value("thoughtSignature", ""), marked ? "skip_thought_signature_validator" : "") << model;
    EXPECT_FALSE(parts[1].contains("thoughtSignature"));
  }
}

TEST(GeminiRequest, SaysThatACallFailed) {
  Message asked = assistant("");
  asked.tool_calls = {{.id = "a", .name = "f"}, {.id = "b", .name = "g"}};
  Message text = tool_result("a", "it broke");
  Message object = tool_result("b", R"({"error":"no","reason":"timeout"})");
  text.metadata["is_error"] = true;
  object.metadata["is_error"] = true;
  const Json parts = body(call_of({user("go"), asked, text, object}))["contents"][2]["parts"];
  EXPECT_EQ(parts[0]["functionResponse"]["response"], json(R"({"error":"it broke"})"));
  EXPECT_EQ(parts[1]["functionResponse"]["response"], json(R"({"error":"no","reason":"timeout"})"));
}

TEST(GeminiRequest, DeclaresToolsAndChoices) {
  AdapterCall call = call_of({user("hi")});
  call.request.tools = {{.name = "f", .description = "d", .schema = json(R"({"type":"object","properties":{
                           "a":{"type":"string"}},"additionalProperties":false})")},
                        {.name = "g"}};
  EXPECT_TRUE(json_equal(body(call)["tools"], json(R"([{"functionDeclarations":[
      {"name":"f","description":"d","parameters":{"type":"object","properties":{"a":{"type":"string"}}}},
      {"name":"g"}]}])")));
  EXPECT_EQ(body(call, {.json_schemas = true})["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"],
            call.request.tools[0].schema);
  const auto choice = [&](ToolChoice value) {
    call.request.tool_choice = std::move(value);
    return body(call)["toolConfig"]["functionCallingConfig"];
  };
  EXPECT_FALSE(body(call).contains("toolConfig"));
  EXPECT_EQ(choice(ToolChoice::automatic()), json(R"({"mode":"AUTO"})"));
  EXPECT_EQ(choice(ToolChoice::none()), json(R"({"mode":"NONE"})"));
  EXPECT_EQ(choice(ToolChoice::required()), json(R"({"mode":"ANY"})"));
  EXPECT_EQ(choice(ToolChoice::tool("f")), json(R"({"mode":"ANY","allowedFunctionNames":["f"]})"));
  EXPECT_EQ(choice(ToolChoice::from_json({{"mode", "VALIDATED"}})), json(R"({"mode":"VALIDATED"})"));
  call.options = {{"tools", Json::array({{{"googleSearch", Json::object()}}})}};
  EXPECT_EQ(body(call)["tools"].size(), 2U);
}

TEST(GeminiRequest, TranslatesSettings) {
  AdapterCall call = call_of({user("hi")});
  call.request.max_tokens = 5;
  call.options = {{"top_p", 0.5},
                  {"top_k", 2},
                  {"stop", Json::array({"A", "B"})},
                  {"seed", 4},
                  {"user", "u"},
                  {"connect_timeout", 1},
                  {"receive_timeout", 1},
                  {"stream_timeout", 1},
                  {"request_timeout", 1},
                  {"api_key", "x"},
                  {"verbosity", "low"},
                  {"safety_settings", Json::array()},
                  {"max_tokens", 7},
                  {"labels", {{"a", "b"}}},
                  {"thinking_config", {{"includeThoughts", true}}},
                  {"temperature", nullptr},
                  {"reasoning_effort", "max"}};
  call.request.temperature = 1.0;
  call.request.prompt_cache = PromptCache{};
  EXPECT_TRUE(json_equal(body(call), json(R"({"contents":[{"role":"user","parts":[{"text":"hi"}]}],
      "safetySettings":[],"labels":{"a":"b"},"generationConfig":{"maxOutputTokens":7,"topP":0.5,"topK":2,"seed":4,
      "stopSequences":["A","B"],"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"high"}}})")))
      << body(call);
  call.options = {{"parallel_tool_calls", false}};
  EXPECT_TRUE(request(call).error().is<AdapterError>(AdapterError::Reason::unsupported_feature));
}

TEST(GeminiRequest, WritesEffortInTheFormOfTheModel) {
  AdapterCall call = call_of({user("hi")});
  call.options = {{"reasoning_effort", "low"}};
  EXPECT_EQ(config(call)["thinkingConfig"], json(R"({"thinkingLevel":"low"})"));
  call.model = "gemini-2.5-flash";
  EXPECT_EQ(config(call)["thinkingConfig"], json(R"({"thinkingBudget":1024})"));
  call.options["thinkingConfig"] = {{"thinkingBudget", -1}};
  EXPECT_EQ(config(call)["thinkingConfig"], json(R"({"thinkingBudget":-1})"));
}

TEST(GeminiRequest, WritesFormats) {
  AdapterCall call = call_of({user("hi")});
  call.request.response_format = ResponseFormat::json_object();
  EXPECT_EQ(config(call), json(R"({"responseMimeType":"application/json"})"));
  const Json schema = json(R"({"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false})");
  call.request.response_format = ResponseFormat::json_schema("x", schema);
  EXPECT_EQ(config(call)["responseSchema"], json(R"({"type":"object","properties":{"a":{"type":"string"}}})"));
  EXPECT_EQ(config(call, {.json_schemas = true})["responseJsonSchema"], schema);
  call.request.response_format = ResponseFormat::text();
  EXPECT_EQ(config(call), Json());
}

TEST(GeminiSchema, KeepsOnlySupportedKeywords) {
  const Result<Json> cleaned = gemini_schema(json(R"json({
    "$schema":"s","type":"object","additionalProperties":false,"required":["a","gone"],
    "properties":{
      "a":{"type":["string","null"],"format":"uri"},
      "additionalProperties":{"type":"integer","exclusiveMinimum":0,"description":"Kept"},
      "b":{"anyOf":[{"$ref":"#/$defs/b~1c"},{"type":"null"}],"description":"mine"},
      "c":{"oneOf":[{"type":"string","const":"x"},{"type":"integer","enum":[1,2]}]},
      "d":{"allOf":[{"properties":{"x":{"type":"string"}},"required":["x"]},{"properties":{"y":{"type":"number"}}}],
           "type":"object"},
      "e":{"enum":["p","q",null]},"f":{"type":["string","integer"]},
      "g":{"type":"string","format":"date-time"}},
    "$defs":{"b/c":{"type":"array","description":"theirs","items":{"type":"string"},"uniqueItems":true}}})json"));
  ASSERT_TRUE(cleaned.has_value());
  EXPECT_TRUE(json_equal(*cleaned, json(R"json({
    "type":"object","required":["a"],
    "properties":{
      "a":{"type":"string","nullable":true,"description":"(format: \"uri\")"},
      "additionalProperties":{"type":"integer","description":"Kept (exclusiveMinimum: 0)"},
      "b":{"type":"array","items":{"type":"string"},"nullable":true,"description":"mine"},
      "c":{"anyOf":[{"type":"string","enum":["x"]},{"type":"integer","description":"(one of: [1,2])"}]},
      "d":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"number"}},"required":["x"]},
      "e":{"type":"string","enum":["p","q"],"nullable":true},"f":{"anyOf":[{"type":"string"},{"type":"integer"}]},
      "g":{"type":"string","format":"date-time"}}})json")))
      << *cleaned;
}

TEST(GeminiSchema, RefusesSchemasThatCannotBeInlined) {
  const Json recursive = json(R"({"type":"object","properties":{"next":{"$ref":"#"}}})");
  EXPECT_TRUE(gemini_schema(recursive).error().is<AdapterError>(AdapterError::Reason::unsupported_feature));
  // Each definition refers to the previous one twice.
  Json doubling = {{"$ref", "#/$defs/0"}};
  for (int i = 0; i < 40; ++i) {
    const Json next = {{"$ref", "#/$defs/" + std::to_string(i + 1)}};
    doubling["$defs"][std::to_string(i)] = {{"properties", {{"a", next}, {"b", next}}}};
  }
  EXPECT_FALSE(gemini_schema(doubling).has_value());
  EXPECT_TRUE(gemini_schema(json(R"({"$ref":"#/nowhere/0"})")).has_value());
}

}  // namespace
}  // namespace allm::request_test
