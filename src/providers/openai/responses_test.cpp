// Requests to the Responses endpoint, and its responses.
#include <gtest/gtest.h>

#include "providers/openai/openai.hpp"
#include "tests/transcript_fixture.hpp"

namespace allm::responses_test {
namespace {

using Reason = AdapterError::Reason;

const HttpResponseHead kStream{200, {{"content-type", "text/event-stream"}}};
const HttpResponseHead kJson{200, {{"content-type", "application/json"}}};

AdapterCall call_of(MessageList messages, const char* model = "gpt-5.5") {
  AdapterCall call;
  call.model = model;
  call.options["endpoint"] = "responses";
  call.request.messages = std::move(messages);
  return call;
}

Json body_of(const AdapterCall& call) {
  const Result<HttpRequest> request = openai_codec()->write(call);
  EXPECT_TRUE(request.has_value()) << (request ? "" : request.error().message());
  return request ? *parse_json(request->body) : Json();
}

std::string sse(const std::vector<std::string>& events) {
  std::string body;
  for (std::string event : events) {
    std::ranges::replace(event, '\n', ' ');  // an event's data is one line
    body += "data: " + event + "\n\n";
  }
  return body;
}
const std::string kCreated = R"({"type":"response.created","response":{"id":"r","model":"m","status":"in_progress"}})";

std::vector<Event> stream(std::vector<std::string> events) {
  events.insert(events.begin(), kCreated);
  return decoded_in_every_way(*openai_codec(), call_of({}), kStream, sse(events));
}
void expect_reason(const std::vector<Event>& events, Reason reason) {
  ASSERT_FALSE(events.empty());
  const auto* error = events.back().get_if<ErrorEvent>();
  ASSERT_NE(error, nullptr) << in_notation(events);
  EXPECT_TRUE(error->error.is<AdapterError>(reason)) << error->error.reason() << error->error.message();
}

TEST(ResponsesRequest, HasItemsForMessages) {
  Message calling = assistant("let me see");
  calling.tool_calls = {{.id = "c1", .name = "f", .arguments = {{"a", 1}}}};
  const Message picture = user(std::vector<Part>{
      TextPart{"this?"},
      ImagePart{.image = {.source = ImageBytes{"abc"}, .mime_type = "image/png"}, .detail = ImageDetail::low}});
  EXPECT_EQ(body_of(call_of({system("s"), picture, calling, tool_result("c1", "r"), assistant("x")})),
            *parse_json(R"({"model":"gpt-5.5","input":[{"role":"system","content":"s"},
    {"role":"user","content":[{"type":"input_text","text":"this?"},
      {"type":"input_image","image_url":"data:image/png;base64,YWJj","detail":"low"}]},
    {"role":"assistant","content":"let me see"},
    {"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"},
    {"type":"function_call_output","call_id":"c1","output":"r"},{"role":"assistant","content":"x"}],
    "store":false,"include":["reasoning.encrypted_content"],"stream":true})"));
}

TEST(ResponsesRequest, HasSettingsInTheFormOfThisEndpoint) {
  AdapterCall call = call_of({user("hi")});
  Request& request = call.request;
  request.tools = {{.name = "f", .description = "d", .schema = {{"type", "object"}}}};
  request.tools.push_back({.name = "g"});
  request.tools.back().metadata["strict"] = true;
  request.tool_choice = ToolChoice::tool("f");
  request.temperature = 0.2;
  request.max_tokens = 99;
  request.response_format = ResponseFormat::json_schema("n", {{"type", "object"}});
  request.prompt_cache = PromptCache{.key = "k", .retention = PromptCache::Retention::long_term};
  request.options = {{"stop", "x"}, {"text", {{"extra", 1}}}, {"service_tier", "flex"}};
  call.options.update({{"reasoning_effort", "high"},
                       {"reasoning_summary", "auto"},
                       {"verbosity", "low"},
                       {"connect_timeout", 1},
                       {"receive_timeout", 1},
                       {"stream_timeout", 1},
                       {"request_timeout", 1}});
  EXPECT_EQ(body_of(call), *parse_json(R"({"model":"gpt-5.5","input":[{"role":"user","content":"hi"}],
    "tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":false},
      {"type":"function","name":"g","parameters":{"type":"object","properties":{}},"strict":true}],
    "tool_choice":{"type":"function","name":"f"},"max_output_tokens":99,
    "text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"},"strict":true},"verbosity":"low",
      "extra":1},
    "reasoning":{"effort":"high","summary":"auto"},"prompt_cache_key":"k","prompt_cache_retention":"24h",
    "store":false,"include":["reasoning.encrypted_content"],"stream":true,"service_tier":"flex"})"));
}

TEST(ResponsesRequest, ModelsThatDoNotReasonGetNoReasoningSettings) {
  AdapterCall call = call_of({user("hi")}, "gpt-4o");
  call.request.temperature = 0.2;
  call.request.options["stop"] = "x";
  call.options.update({{"reasoning_effort", "high"}, {"verbosity", "low"}});
  EXPECT_EQ(body_of(call), *parse_json(R"({"model":"gpt-4o","input":[{"role":"user","content":"hi"}],
    "temperature":0.2,"store":false,"stream":true})"));
}

TEST(ResponsesRequest, AWholeAnswerIsAskedForWithoutStreamAndStreamOptions) {
  AdapterCall call = call_of({user("hi")}, "gpt-4o");
  call.request.stream = false;
  call.options["stream_options"] = {{"include_obfuscation", false}};
  EXPECT_EQ(body_of(call), *parse_json(R"({"model":"gpt-4o","input":[{"role":"user","content":"hi"}],"store":false})"));
}

Message reasoned() {
  Message message = assistant("hm");
  message.tool_calls = {{.id = "c1", .name = "f", .raw_arguments = "{}"}};
  message.metadata["openai"]["output"] = *parse_json(R"([{"id":"rs","type":"reasoning","summary":[]},
    {"role":"assistant","content":"hm"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}])");
  return message;
}

TEST(ResponsesRequest, StateIsSentBackIfTheMessageIsUnchanged) {
  const auto items = [](const Message& message, const char* model = "gpt-5.5") {
    return body_of(call_of({message}, model))["input"];
  };
  const Json state = reasoned().metadata["openai"]["output"];
  EXPECT_EQ(items(reasoned()), state);
  const Json plain = *parse_json(R"([{"role":"assistant","content":"hm"},
    {"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}])");
  EXPECT_EQ(items(reasoned(), "gpt-4o"), plain);
  Message edited = reasoned();
  edited.content = "edited";
  EXPECT_EQ(items(edited).size(), 2U);
  edited = reasoned();
  edited.tool_calls[0].raw_arguments = R"({"a":1})";
  EXPECT_EQ(items(edited).size(), 2U);
  edited = reasoned();
  edited.tool_calls.clear();
  EXPECT_EQ(items(edited).size(), 1U);
  edited = reasoned();
  edited.metadata["openai"]["output"] = "junk";
  EXPECT_EQ(items(edited), plain);
}

TEST(ResponsesDecoder, TheFinalAnswerTakesPrecedence) {
  const auto events = stream(
      {R"({"type":"response.output_text.delta","delta":"Hal"})",
       R"({"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hallo"}]},
          {"id":"fc","type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}]}})"});
  EXPECT_EQ(in_notation(events), *parse_json(R"([["message_started"],["text_delta","Hal"],["text_delta","lo"],
    ["tool_call_started","c","f"],["tool_call_delta","c","{\"a\":1}"],
    ["tool_call_completed","c","f",{"a":1},"{\"a\":1}"],["message_completed","tool_calls"]])"));
  const auto other = stream(
      {R"({"type":"response.output_text.delta","delta":"Hal"})",
       R"({"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Other"}]}]}})"});
  EXPECT_EQ(folded(other).output_text, "Other");
}

TEST(ResponsesDecoder, ItemsOfTheStreamReplaceAMissingOutput) {
  const auto events = stream(
      {R"({"type":"response.output_item.done","output_index":1,"item":{"id":"fc","type":"function_call","call_id":"c","name":"f","arguments":"{}"}})",
       R"({"type":"response.output_item.done","output_index":0,"item":{"id":"rs","type":"reasoning","summary":[],"encrypted_content":"e","status":null}})",
       R"({"type":"response.completed","response":{"status":"completed","output":[]}})"});
  const Message message = stored_message(events);
  EXPECT_EQ(message.metadata["openai"]["output"],
            *parse_json(R"([{"id":"rs","type":"reasoning","summary":[],"encrypted_content":"e"},
              {"type":"function_call","call_id":"c","name":"f","arguments":"{}"}])"));
}

TEST(ResponsesDecoder, SummariesAndTextsOfReasoningAreEvents) {
  const auto parts = stream(
      {R"({"type":"response.reasoning_summary_part.added","item_id":"rs","summary_index":0,"part":{"type":"summary_text","text":""}})",
       R"({"type":"response.reasoning_summary_text.delta","item_id":"rs","summary_index":0,"delta":"One"})",
       R"({"type":"response.reasoning_summary_text.delta","item_id":"rs","summary_index":0,"delta":" more"})",
       R"({"type":"response.reasoning_summary_part.added","item_id":"rs","summary_index":1,"part":{"type":"summary_text","text":""}})",
       R"({"type":"response.reasoning_summary_text.delta","item_id":"rs","summary_index":1,"delta":"Two"})",
       R"({"type":"response.completed","response":{"status":"completed","output":[{"id":"rs","type":"reasoning","summary":[
          {"type":"summary_text","text":"One more"},{"type":"summary_text","text":"Two"}]}]}})"});
  EXPECT_EQ(in_notation(parts), *parse_json(R"([["message_started"],["reasoning_delta","One"],
    ["reasoning_delta"," more"],["reasoning_delta","\n\nTwo"],["message_completed","stop"]])"));
  EXPECT_EQ(folded(parts).reasoning, "One more\n\nTwo");
  EXPECT_EQ(folded(parts).metadata["reasoning"]["summary"], "One more\n\nTwo");
  const auto text = stream({R"({"type":"response.reasoning_text.delta","item_id":"rs","delta":"hm"})",
                            R"({"type":"response.completed","response":{"status":"completed","output":[]}})"});
  EXPECT_EQ(folded(text).reasoning, "hm");
  const auto at_once = stream(
      {R"({"type":"response.completed","response":{"status":"completed","output":[{"id":"rs","type":"reasoning","summary":[
          {"type":"summary_text","text":"Late"}]},{"type":"message","content":[{"type":"output_text","text":"x"}]}]}})"});
  EXPECT_EQ(in_notation(at_once), *parse_json(R"([["message_started"],["reasoning_delta","Late"],["text_delta","x"],
    ["message_completed","stop"]])"));
}

TEST(ResponsesDecoder, ReasoningAtTheEndIsNotKept) {
  const auto events = stream(
      {R"({"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"id":"rs","type":"reasoning","summary":[]}],
         "usage":{"input_tokens":9,"output_tokens":16,"output_tokens_details":{"reasoning_tokens":12}}}})"});
  const Response response = folded(events);
  EXPECT_EQ(response.finish_reason, FinishReason::length);
  EXPECT_EQ(response.raw_finish_reason, "max_output_tokens");
  EXPECT_EQ(response.metadata["incomplete_details"], Json({{"reason", "max_output_tokens"}}));
  EXPECT_EQ(response.usage.reasoning_tokens, 12);
  EXPECT_EQ(response.message->metadata, Json::object());
}

TEST(ResponsesDecoder, Refusals) {
  const Response response = folded(stream(
      {R"({"type":"response.refusal.delta","delta":"I can't"})",
       R"({"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"I can't."}]}]}})"}));
  EXPECT_EQ(response.finish_reason, FinishReason::content_filter);
  EXPECT_EQ(response.raw_finish_reason, "completed");
  EXPECT_EQ(response.metadata["refusal"], "I can't.");
}

TEST(ResponsesDecoder, ErrorsOfAllForms) {
  expect_reason(stream({R"({"type":"error","code":"server_error","message":"m","param":null})"}),
                Reason::provider_unavailable);
  expect_reason(stream({R"({"type":"error","error":{"code":"rate_limit_exceeded","message":"m"}})"}),
                Reason::rate_limited);
  expect_reason(
      stream(
          {R"({"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_prompt","message":"m"}}})"}),
      Reason::invalid_request);
  expect_reason(stream({R"({"type":"response.failed","response":{"status":"failed","error":null}})"}),
                Reason::provider_unavailable);
  expect_reason(stream({R"({"type":"error","code":"context_length_exceeded","message":"m"})"}),
                Reason::context_length_exceeded);
  expect_reason(stream({}), Reason::network_error);
  expect_reason(stream({"[DONE]"}), Reason::network_error);
  const auto first = decoded_in_every_way(*openai_codec(), call_of({}), kStream,
                                          sse({R"({"type":"error","code":"server_error","message":"m"})"}));
  EXPECT_EQ(first.size(), 1U);
}

TEST(ResponsesDecoder, TheNameOfTheEventReplacesAMissingType) {
  const auto events =
      decoded_in_every_way(*openai_codec(), call_of({}), kStream,
                           "event: response.created\ndata: {\"response\":{}}\n\nevent: "
                           "response.output_text.delta\ndata: {\"delta\":\"x\"}\n\n"
                           "event: response.completed\ndata: {\"response\":{\"status\":\"completed\"}}\n\n");
  EXPECT_EQ(folded(events).output_text, "x");
}

TEST(ResponsesDecoder, WholeAnswersThatFailed) {
  const auto whole = [](const char* body) { return decoded_in_every_way(*openai_codec(), call_of({}), kJson, body); };
  expect_reason(whole(R"({"status":"failed","error":{"code":"server_error","message":"m"},"output":[]})"),
                Reason::provider_unavailable);
  expect_reason(whole("{}"), Reason::malformed_response);
  EXPECT_EQ(folded(whole(R"({"status":"queued","output":[]})")).finish_reason, std::nullopt);
}

TEST(ResponsesDecoder, HostileShapesAreHarmless) {
  for (const char* event :
       {"{}", R"({"type":7})", R"({"type":"response.output_item.added","item":7})",
        R"({"type":"response.output_item.done","output_index":-1,"item":{"type":"function_call"}})",
        R"({"type":"response.function_call_arguments.delta","item_id":"none","delta":"x"})",
        R"({"type":"response.output_text.delta","delta":null})", R"({"type":"response.completed"})",
        R"({"type":"response.completed","response":{"output":[1,null,{"type":"message","content":[2]}]}})"}) {
    const auto events = stream({event, R"({"type":"response.completed","response":{"status":"completed"}})"});
    EXPECT_TRUE(events.back().get_if<MessageCompleted>() != nullptr) << event << in_notation(events);
  }
}

}  // namespace
}  // namespace allm::responses_test
