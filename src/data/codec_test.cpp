#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "allm/serialize.hpp"

namespace allm::codec_test {
namespace {

// "<path> <reason>" of what went wrong.
template <class T>
std::string refusal(const Result<T>& result) {
  if (result.has_value()) return "accepted";
  EXPECT_TRUE(result.error().template is<ValidationError>(ValidationError::Reason::invalid_request));
  const FieldError& error = result.error().template get_if<ValidationError>()->errors.at(0);
  return to_string(error.path) + " " + error.reason;
}

template <class T>
std::string refusal(std::string_view text) {
  // A text and its value are refused for the same reason.
  const std::string result = refusal(from_json<T>(text));
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_discarded()) {
    EXPECT_EQ(refusal(from_json_value<T>(json)), result) << text;
  }
  return result;
}

// The value of a text that is what the library writes, but for the order of keys.
template <class T>
T sample(std::string_view text) {
  const Result<T> value = from_json<T>(text);
  if (!value.has_value()) {
    ADD_FAILURE() << value.error().message();
    std::abort();
  }
  EXPECT_TRUE(json_equal(*parse_json(*to_json(*value)), *parse_json(text))) << *to_json(*value);
  EXPECT_TRUE(json_equal(to_json_value(*value), *parse_json(text)));
  return *value;
}

constexpr std::string_view kMessage =
    R"({"__type__":"ALLM.Message","data":{"content":"hi","metadata":{},"name":null,"role":"user","tool_call_id":null}})";

std::string message_with(std::string_view member) {
  return R"({"role":"user","content":"hi",)" + std::string(member) + "}";
}

// ---- samples

TEST(Codec, WritesTheTaggedFormWithEveryField) {
  EXPECT_EQ(to_json(user("hi")), kMessage);
  EXPECT_EQ(from_json<Message>(kMessage), user("hi"));
}

TEST(Codec, WritesToolsWithoutTheirHandlers) {
  const Tool tool = sample<Tool>(
      R"({"__type__":"ALLM.Tool","data":{"compact":false,"description":"Forecast by city","handler":null,"manual":false,
          "metadata":{},"name":"weather","schema":{"type":"object"},"summary":null}})");
  EXPECT_EQ(tool.name, "weather");
  EXPECT_TRUE(tool.validate_arguments);
}

TEST(Codec, WritesOurAdditionsToToolsOnlyWhenTheyAreUsed) {
  Tool tool{.name = "t", .validate_arguments = false, .timeout = std::chrono::milliseconds(250)};
  const Json data = to_json_value(tool)["data"];
  EXPECT_EQ(data["timeout_ms"], 250);
  EXPECT_EQ(data["validate_arguments"], false);
  EXPECT_EQ(from_json<Tool>(*to_json(tool)), tool);
}

TEST(Codec, HydratesToolCallsInMetadata) {
  const Thread thread = sample<Thread>(
      R"({"__type__":"ALLM.Thread","data":{"messages":[
         {"__type__":"ALLM.Message","data":{"content":"","metadata":{"finish_reason":"tool_calls","tool_calls":[
           {"__type__":"ALLM.ToolCall","data":{"arguments":{},"id":"c0","metadata":{},"name":"echo","raw_arguments":"{}"}}]},
           "name":null,"role":"assistant","tool_call_id":null}}],
         "metadata":{}}})");
  ASSERT_EQ(thread.messages[0].tool_calls.size(), 1U);
  EXPECT_EQ(thread.messages[0].tool_calls[0].name, "echo");
  EXPECT_EQ(thread.messages[0].metadata, (Json{{"finish_reason", "tool_calls"}}));
  EXPECT_NE(to_json(thread)->find(R"({"finish_reason":"tool_calls","tool_calls":[{"__type__":"ALLM.ToolCall")"),
            std::string::npos);
}

TEST(Codec, HydratesUntaggedToolCalls) {
  const Message message = *from_json<Message>(
      R"({"role":"assistant","content":"","metadata":{"tool_calls":[{"id":"c","name":"n","arguments":{"x":1}}]}})");
  ASSERT_EQ(message.tool_calls.size(), 1U);
  EXPECT_EQ(message.tool_calls[0].arguments, (Json{{"x", 1}}));
  EXPECT_EQ(message.metadata, Json::object());
}

TEST(Codec, LeavesMetadataThatOnlyLooksTyped) {
  for (const char* calls : {"[]", "null", "7", R"([{"id":"c"}])", R"([{"id":"c","name":"n"},5])",
                            R"([{"id":"c","name":"n","arguments":"{}"}])"}) {
    const std::string text = message_with(R"("metadata":{"tool_calls":)" + std::string(calls) + "}");
    const Message message = *from_json<Message>(text);
    EXPECT_TRUE(message.tool_calls.empty());
    EXPECT_EQ(message.metadata["tool_calls"], Json::parse(calls));
    EXPECT_EQ(from_json<Message>(*to_json(message)), message);
  }
  const Response response = *from_json<Response>(R"({"metadata":{"error":{"__type__":"ALLM.Error.New","data":{}}}})");
  EXPECT_FALSE(response.error.has_value());
  EXPECT_EQ(response.metadata["error"]["__type__"], "ALLM.Error.New");
}

TEST(Codec, PutsTypedFieldsBeforeWhatStandsInTheirPlace) {
  Message message = assistant("");
  message.tool_calls = {{.id = "c", .name = "n"}};
  message.metadata = {{"tool_calls", "stale"}, {"kept", 1}};
  const Message read = *from_json<Message>(*to_json(message));
  EXPECT_EQ(read.tool_calls, message.tool_calls);
  EXPECT_EQ(read.metadata, (Json{{"kept", 1}}));
}

TEST(Codec, CarriesErrorsOfResponses) {
  const Response response = sample<Response>(
      R"({"__type__":"ALLM.Response","data":{"finish_reason":"error","id":null,
         "message":{"__type__":"ALLM.Message","data":{"content":"par","metadata":{},"name":null,"role":"assistant","tool_call_id":null}},
         "metadata":{"error":{"__type__":"ALLM.Error.AdapterError","data":{"__exception__":true,"cause":null,
           "message":"adapter error: rate_limited","metadata":{},"provider":null,"reason":"rate_limited","request_id":null,
           "retry_after_ms":null,"status":null}}},
         "model":null,"output_text":"par","raw":null,"raw_finish_reason":null,"request_id":"r","tool_calls":[],
         "usage":{"__type__":"ALLM.Usage","data":{"cache_write_input_tokens":null,"cached_input_tokens":null,"extra":{},
           "input_cost":null,"input_tokens":12,"output_cost":null,"output_tokens":4,"reasoning_tokens":null,"tool_usage":{},
           "total_cost":null,"total_tokens":null}}}})");
  EXPECT_TRUE(response.error->is<AdapterError>(AdapterError::Reason::rate_limited));
  EXPECT_EQ(response.usage.total(), 16);
}

TEST(Codec, ReadsAndWritesEveryKindOfError) {
  sample<Error>(
      R"({"__type__":"ALLM.Error.EngineError","data":{"__exception__":true,"cause":null,"message":"no missing","metadata":{"tool_name":"missing"},"provider":null,"reason":"unknown_tool"}})");
  sample<Error>(
      R"({"__type__":"ALLM.Error.StreamError","data":{"__exception__":true,"cause":null,"event_index":3,"message":"stream error: cancelled","metadata":{},"provider":null,"reason":"cancelled"}})");
  sample<Error>(
      R"({"__type__":"ALLM.Error.ToolError","data":{"__exception__":true,"cause":null,"message":"tool error (slow): timeout","metadata":{},"reason":"timeout","tool_call_id":"c0","tool_name":"slow"}})");
  sample<Error>(
      R"({"__type__":"ALLM.Error.SessionError","data":{"__exception__":true,"cause":null,"message":"no bogus","metadata":{"tool_call_id":"bogus"},"provider":null,"reason":"unknown_tool_call_id"}})");
  const Error error = sample<Error>(
      R"({"__type__":"ALLM.Error.ValidationError","data":{"__exception__":true,"cause":{"deep":[1]},"errors":[[["messages",1,"role"],"required"],[[],"x"]],"message":"m","metadata":{},"reason":"invalid_thread"}})");
  EXPECT_EQ(to_string(error.get_if<ValidationError>()->errors[0].path), "messages[1].role");
  EXPECT_EQ(refusal<Error>(
                R"({"__type__":"ALLM.Error.ValidationError","data":{"reason":"invalid_thread","errors":[[["a"]]]}})"),
            "errors[0] malformed_struct");
  EXPECT_EQ(
      refusal<Error>(
          R"({"__type__":"ALLM.Error.ValidationError","data":{"reason":"invalid_thread","errors":[[[1.5],"r"]]}})"),
      "errors[0][0][0] invalid_type");
}

TEST(Codec, ReadsDocumentsAndAudioFromEverySource) {
  const FilePart file = sample<FilePart>(
      R"({"__type__":"ALLM.FilePart","data":{"file":{"__type__":"ALLM.File","data":{"metadata":{},)"
      R"("mime_type":"application/pdf","name":"a.pdf","source":{"type":"file_id","value":"file-1"}}},"metadata":{}}})");
  EXPECT_EQ(file, (FilePart{.file = {.source = MediaId{"file-1"}, .mime_type = "application/pdf", .name = "a.pdf"}}));
  const AudioPart audio = sample<AudioPart>(
      R"({"__type__":"ALLM.AudioPart","data":{"audio":{"__type__":"ALLM.Audio","data":{"metadata":{},)"
      R"("mime_type":"audio/wav","source":{"type":"binary","value":"UklG"}}},"metadata":{}}})");
  EXPECT_EQ(audio, (AudioPart{.audio = {.source = MediaBytes{"RIF"}, .mime_type = "audio/wav"}}));
  EXPECT_TRUE(std::holds_alternative<MediaPath>(from_json<File>(R"({"source":{"type":"file","value":"f"}})")->source));
  EXPECT_EQ(refusal<Audio>(R"({"source":{"type":"file_id","value":"f"}})"), "source.type atom_decode_failed");
  EXPECT_EQ(refusal<Image>(R"({"source":{"type":"file_id","value":"f"}})"), "source.type atom_decode_failed");
}

TEST(Codec, ReadsImagesFromEverySource) {
  const ImagePart part = sample<ImagePart>(
      R"({"__type__":"ALLM.ImagePart","data":{"detail":"auto","image":{"__type__":"ALLM.Image","data":{"height":null,
         "metadata":{},"mime_type":"image/png","prompt":null,"revised_prompt":null,
         "source":{"type":"binary","value":"iVA="},"width":null}},"metadata":{}}})");
  EXPECT_EQ(std::get<ImageBytes>(part.image.source).bytes, "\x89P");
  EXPECT_TRUE(std::holds_alternative<ImageBase64>(
      from_json<Image>(R"({"source":{"type":"base64","value":"not checked"}})")->source));
  EXPECT_TRUE(std::holds_alternative<ImageUrl>(from_json<Image>(R"({"source":{"type":"url","value":"u"}})")->source));
  EXPECT_TRUE(std::holds_alternative<ImageFile>(from_json<Image>(R"({"source":{"type":"file","value":"f"}})")->source));
}

TEST(Codec, ReadsSessionsOfTheReference) {
  std::ifstream file(ALLM_SOURCE_DIR "/tests/data/session200.json", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  ASSERT_EQ(text.size(), 47886U);
  const Session session = *from_json<Session>(text);
  EXPECT_EQ(session.thread.messages.size(), 200U);
  EXPECT_EQ(session.thread.messages[197].tool_calls[0].id, "call_50");
  const std::string written = *to_json(session);
  EXPECT_EQ(from_json<Session>(written), session);
  EXPECT_EQ(from_json_value<Session>(to_json_value(session)), session);

  // What we write differs in the version only, byte for byte.
  std::string without_version = written;
  without_version.erase(without_version.find(R"("format_version":"1.0",)"), 23);
  EXPECT_EQ(without_version, text);
}

TEST(Codec, SumsTheUsageOfStepsWhereAResultHasNone) {
  const std::string step = R"({"response":{"usage":{"input_tokens":5,"output_tokens":1}}})";
  const ChatResult result = *from_json<ChatResult>(R"({"steps":[)" + step + "," + step + "]}");
  EXPECT_EQ(result.usage.input_tokens, 10);
  EXPECT_EQ(result.usage.output_tokens, 2);
  EXPECT_EQ(result.halted_reason(), "completed");
  EXPECT_EQ(from_json<ChatResult>(R"({"usage":{"input_tokens":1},"steps":[)" + step + "]}")->usage.input_tokens, 1);
}

TEST(Codec, CarriesManualCallsAndErrorsOfResults) {
  ChatResult result;
  result.end = ended::Manual{{{{.id = "m", .name = "n"}, PendingKind::suspended}}, 2};
  result.steps.resize(1);
  result.steps[0].end = ended::Manual{{{{.id = "m", .name = "n"}}}};
  result.steps[0].done = true;
  const Json data = to_json_value(result)["data"];
  EXPECT_EQ(data["metadata"]["manual_tool_calls"][0]["data"]["id"], "m");
  EXPECT_EQ(data["metadata"]["manual_tool_calls"][0]["data"]["pending"], "suspended");
  const Json step = data["steps"][0]["data"];
  EXPECT_EQ(step["done?"], true);
  EXPECT_FALSE(step["metadata"]["manual_tool_calls"][0]["data"].contains("pending")) << "as 0.1 wrote it";
  EXPECT_EQ(from_json<ChatResult>(*to_json(result)), result);
  result.end = ended::Failed{Error(ToolError{ToolError::Reason::timeout, "slow"})};
  EXPECT_EQ(to_json_value(result)["data"]["metadata"]["error"]["data"]["reason"], "timeout");
  EXPECT_EQ(from_json<ChatResult>(*to_json(result)), result);
}

TEST(Codec, WritesAModelAsItsNameWhereThatIsAll) {
  Request request;
  request.model = "gpt";
  EXPECT_EQ(to_json_value(request)["data"]["model"], "gpt");
  request.model->provider = "openai";
  EXPECT_EQ(to_json_value(request)["data"]["model"]["__type__"], "ALLM.ModelRef");
  EXPECT_EQ(from_json<Request>(*to_json(request)), request);
  EXPECT_EQ(from_json<Request>(R"({"model":{"id":"m","limits":{"context":8}}})")->model->limits["context"], 8);
}

TEST(Codec, ReadsChoicesAndFormats) {
  const Request request = *from_json<Request>(
      R"({"tool_choice":"required","response_format":{"type":"json_object"},"prompt_cache":{"key":null,"retention":"long"}})");
  EXPECT_EQ(request.tool_choice->kind(), ToolChoice::Kind::required);
  EXPECT_EQ(request.response_format->kind(), ResponseFormat::Kind::json_object);
  EXPECT_EQ(request.prompt_cache->retention, PromptCache::Retention::long_term);
  EXPECT_EQ(from_json<Request>(R"({"tool_choice":"weather"})")->tool_choice->kind(), ToolChoice::Kind::tool);
  EXPECT_EQ(from_json<Request>(R"({"tool_choice":{"type":"any"}})")->tool_choice->kind(), ToolChoice::Kind::provider);
  EXPECT_EQ(from_json<Request>(R"({"response_format":5})")->response_format->kind(), ResponseFormat::Kind::invalid);
}

TEST(Codec, RefusesABrokenPromptCache) {
  EXPECT_EQ(refusal<Request>(R"({"prompt_cache":"short"})"), "prompt_cache invalid_type");
  EXPECT_EQ(refusal<Request>(R"({"prompt_cache":{"key":"k"}})"), "prompt_cache.retention missing");
  EXPECT_EQ(refusal<Request>(R"({"prompt_cache":{"retention":"short"}})"), "prompt_cache.key missing");
  EXPECT_EQ(refusal<Request>(R"({"prompt_cache":{"key":5,"retention":"short"}})"), "prompt_cache.key invalid_type");
  EXPECT_EQ(refusal<Request>(R"({"prompt_cache":{"key":null,"retention":"ever"}})"),
            "prompt_cache.retention atom_decode_failed");
  EXPECT_EQ(refusal<Request>(R"({"prompt_cache":{"key":null,"retention":"short","ttl":1}})"),
            "prompt_cache.ttl malformed_struct");
}

// ---- what is refused

TEST(Codec, RefusesWithPathAndReason) {
  EXPECT_EQ(refusal<Message>("{"), "json malformed");
  EXPECT_EQ(refusal<Message>("5"), "data malformed_struct");
  EXPECT_EQ(refusal<Message>("[]"), "data malformed_struct");
  EXPECT_EQ(refusal<Message>(R"({"__type__":"ALLM.Message"})"), "data missing");
  EXPECT_EQ(refusal<Message>(R"({"__type__":"ALLM.Message","data":[]})"), "data malformed_struct");
  EXPECT_EQ(refusal<Message>(R"({"__type__":"ALLM.Thread","data":{}})"), "format unknown_type_tag");
  EXPECT_EQ(refusal<Message>(R"({"__type__":"ALLM.New","data":{}})"), "format unknown_type_tag");
  EXPECT_EQ(refusal<Message>(R"({"content":"hi"})"), "role missing");
  EXPECT_EQ(refusal<Message>(R"({"role":null,"content":"hi"})"), "role invalid_type");
  EXPECT_EQ(refusal<Message>(R"({"role":"user"})"), "content missing");
  EXPECT_EQ(refusal<Message>(R"({"role":"user","content":5})"), "content invalid_type");
  EXPECT_EQ(refusal<Message>(R"({"role":"bot","content":"hi"})"), "role atom_decode_failed");
  EXPECT_EQ(refusal<Message>(message_with(R"("name":5)")), "name invalid_type");
  EXPECT_EQ(refusal<Message>(message_with(R"("metadata":[])")), "metadata invalid_type");
  EXPECT_EQ(refusal<ToolCall>(R"({"name":"n"})"), "id missing");
  EXPECT_EQ(refusal<ToolCall>(R"({"id":"i"})"), "name missing");
  EXPECT_EQ(refusal<ToolCall>(R"({"id":"i","name":"n","arguments":"{}"})"), "arguments invalid_type");
  EXPECT_EQ(refusal<Tool>(R"({"name":"n","manual":null})"), "manual invalid_type");
  EXPECT_EQ(refusal<Usage>(R"({"input_tokens":1.5})"), "input_tokens invalid_type");
  EXPECT_EQ(refusal<Usage>(R"({"input_tokens":18446744073709551615})"), "input_tokens invalid_type");
  EXPECT_EQ(refusal<Usage>(R"({"input_cost":"1"})"), "input_cost invalid_type");
  EXPECT_EQ(refusal<Session>(R"({"status":"sleeping"})"), "status atom_decode_failed");
  EXPECT_EQ(refusal<Session>(R"({"thread":{"messages":[{"role":"user","content":"a"},{"role":"x","content":""}]}})"),
            "thread.messages[1].role atom_decode_failed");
  EXPECT_EQ(refusal<Session>(R"({"thread":{"messages":["hi"]}})"), "thread.messages[0] malformed_struct");
  EXPECT_EQ(refusal<Session>(R"({"thread":{"messages":[{"__type__":"ALLM.Message"}]}})"),
            "thread.messages[0].data missing");
  EXPECT_EQ(refusal<Session>(R"({"thread":{"__type__":"ALLM.Message","data":{}}})"), "thread unknown_type_tag");
  EXPECT_EQ(refusal<Session>(R"({"thread":{"messages":{}}})"), "thread.messages invalid_type");
  EXPECT_EQ(refusal<Image>(R"({})"), "source missing");
  EXPECT_EQ(refusal<Image>(R"({"source":{"type":"binary","value":"@"}})"), "source invalid_base64");
  EXPECT_EQ(refusal<Image>(R"({"source":{"type":"tape","value":"x"}})"), "source.type atom_decode_failed");
  EXPECT_EQ(refusal<Image>(R"({"source":{"type":"url"}})"), "source.value missing");
  EXPECT_EQ(refusal<Error>(R"({"reason":"timeout"})"), "format missing_type_tag");
  EXPECT_EQ(refusal<Error>(R"({"__type__":"ALLM.Error.New","data":{}})"), "format unknown_type_tag");
  EXPECT_EQ(refusal<Error>(R"({"__type__":"ALLM.Error.ToolError","data":{}})"), "reason missing");
  EXPECT_EQ(refusal<Error>(R"({"__type__":"ALLM.Error.ToolError","data":{"reason":"x"}})"),
            "reason atom_decode_failed");
  EXPECT_EQ(refusal<Error>(R"({"__type__":"ALLM.Error.AdapterError","data":{"reason":"unknown","status":4294967296}})"),
            "status invalid_type");
}

TEST(Codec, RefusesRepeatedMembers) {
  const auto repeated = [](std::string_view text) { return refusal(from_json<Message>(text)); };
  EXPECT_EQ(repeated(R"({"role":"user","content":"hi","role":"user"})"), "role duplicate_key");
  EXPECT_EQ(repeated(message_with(R"("x":1,"x":2)")), "x duplicate_key");
  EXPECT_EQ(repeated(message_with(R"("metadata":{"a":1,"a":2})")), "metadata.a duplicate_key");
  EXPECT_EQ(repeated(R"({"__type__":"ALLM.Message","data":{},"data":{}})"), "data duplicate_key");
  EXPECT_EQ(repeated(R"({"__type__":"ALLM.Message","data":{"role":"user","content":""},"x":1,"x":2})"),
            "x duplicate_key");
  EXPECT_EQ(refusal(from_json<Error>(R"({"__type__":"ALLM.Error.ToolError","data":{"reason":"timeout","x":1,"x":1}})")),
            "x duplicate_key");
}

TEST(Codec, NamesTheAllowedWords) {
  EXPECT_EQ(from_json<Message>(R"({"role":"bot","content":"hi"})").error().message(),
            "role: unknown word \"bot\"; allowed are system, user, assistant, tool");
  EXPECT_EQ(from_json<Message>(R"({"__type__":"ALLM.Thread","data":{}})").error().message(),
            "expected ALLM.Message, but the tag is \"ALLM.Thread\"");
}

TEST(Codec, KeepsLimitsInsideValues) {
  const std::string deep = message_with(R"("metadata":{"a":)" + std::string(200, '[') + std::string(200, ']') + "}");
  EXPECT_EQ(refusal(from_json<Message>(deep)), "json too_deep");
  EXPECT_TRUE(from_json<Message>(deep, {.max_depth = 300}).has_value());
  EXPECT_EQ(refusal(from_json<Message>(message_with(R"("name":"12345")"), {.max_string_bytes = 4})), "name too_large");
  EXPECT_EQ(refusal(from_json<Thread>(R"({"messages":[{"role":"user","content":""},{"role":"user","content":""}]})",
                                      {.max_items = 1})),
            "messages too_large");
  EXPECT_EQ(refusal(from_json<Message>(kMessage, {.max_bytes = 10})), "json too_large");
}

TEST(Codec, WritesNothingThatTheSameLimitsWouldNotRead) {
  Message message = user("12345");
  message.metadata["deep"] = Json::array();
  for (int i = 0; i < 130; ++i) message.metadata["deep"] = Json::array({std::move(message.metadata["deep"])});
  EXPECT_EQ(refusal(to_json(message)), "json too_deep");
  EXPECT_TRUE(from_json<Message>(*to_json(message, {.max_depth = 300}), {.max_depth = 300}).has_value());

  message = user("12345");
  EXPECT_EQ(refusal(to_json(message, {.max_string_bytes = 4})), "content too_large");
  EXPECT_EQ(refusal(to_json(message, {.max_bytes = 10})), "json too_large");
  EXPECT_EQ(refusal(to_json(message, {.max_depth = 1})), "json too_deep");
  EXPECT_EQ(refusal(to_json(Thread{user("a"), user("b")}, {.max_items = 1})), "json too_large");
  message.unknown_fields = {{"x", 1}};
  EXPECT_EQ(refusal(to_json(message, {.max_items = 4})), "json too_large");
}

TEST(Codec, ReadsTextsWithIntegersBeyond64Bits) {
  const Message message = *from_json<Message>(message_with(R"("metadata":{"n":99999999999999999999})"));
  EXPECT_EQ(message.metadata["n"], 1e20);
  EXPECT_EQ(refusal<Usage>(R"({"input_tokens":99999999999999999999})"), "input_tokens invalid_type");
  EXPECT_EQ(
      std::get<Usage>(*any_from_json(R"({"__type__":"ALLM.Usage","data":{"extra":{"n":1000000000000000000000}}})"))
          .extra["n"],
      1e21);
}

// ---- forward compatibility

TEST(Codec, KeepsMembersItDoesNotKnow) {
  const Message message = *from_json<Message>(message_with(R"("priority":{"level":3},"zzz":null)"));
  EXPECT_EQ(message.unknown_fields, (Json{{"priority", {{"level", 3}}}, {"zzz", nullptr}}));
  const std::string written = *to_json(message);
  EXPECT_NE(written.find(R"("tool_call_id":null,"priority":{"level":3},"zzz":null}})"), std::string::npos) << written;
  EXPECT_EQ(from_json<Message>(written), message);
}

TEST(Codec, NeverWritesAMemberTwice) {
  Message message = user("hi");
  message.unknown_fields = {{"role", "tool"}, {"mine", 1}};
  const Message read = *from_json<Message>(*to_json(message));
  EXPECT_EQ(read.role, Role::user);
  EXPECT_EQ(read.unknown_fields, (Json{{"mine", 1}}));
}

TEST(Codec, IgnoresFurtherMembersOfAnEnvelope) {
  const Message message =
      *from_json<Message>(R"({"v":[1],"data":{"role":"user","content":"hi"},"__type__":"ALLM.Message"})");
  EXPECT_EQ(message, user("hi"));
}

TEST(Codec, KeepsPartsItDoesNotKnow) {
  const Message message = *from_json<Message>(
      R"({"role":"user","content":[{"__type__":"ALLM.VideoPart","data":{"x":1}},{"text":"a"},{"image":{"source":{"type":"url","value":"u"}}},"loose"]})");
  const auto& parts = std::get<std::vector<Part>>(message.content);
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(std::get<UnknownPart>(parts[0]).value["__type__"], "ALLM.VideoPart");
  EXPECT_EQ(std::get<TextPart>(parts[1]).text, "a");
  EXPECT_TRUE(std::holds_alternative<ImagePart>(parts[2]));
  EXPECT_EQ(std::get<UnknownPart>(parts[3]).value, "loose");
  EXPECT_EQ(from_json<Message>(*to_json(message)), message);
  // A part that is known must be right.
  EXPECT_EQ(refusal<Message>(R"({"role":"user","content":[{"__type__":"ALLM.TextPart","data":{}}]})"),
            "content[0].text missing");
}

TEST(Codec, ReadsAnyTaggedValue) {
  EXPECT_EQ(std::get<Message>(*any_from_json(kMessage)), user("hi"));
  EXPECT_TRUE(std::holds_alternative<Error>(
      *any_from_json(R"({"__type__":"ALLM.Error.ToolError","data":{"reason":"timeout"}})")));
  const std::string unknown = R"({"__type__":"ALLM.New","data":{"a":1},"v":2})";
  EXPECT_EQ(std::get<Json>(*any_from_json(unknown)), Json::parse(unknown));
  EXPECT_EQ(refusal(any_from_json("{")), "json malformed");
  EXPECT_EQ(refusal(any_from_json("7")), "format missing_type_tag");
  EXPECT_EQ(refusal(any_from_json(R"({"role":"user"})")), "format missing_type_tag");
  EXPECT_EQ(refusal(any_from_json(R"({"__type__":5,"data":{}})")), "format missing_type_tag");
  EXPECT_EQ(refusal(any_from_json(R"({"__type__":"ALLM.New"})")), "data missing");
  EXPECT_EQ(refusal(any_from_json(R"({"__type__":"ALLM.Message","data":7})")), "data malformed_struct");
}

TEST(Codec, ChecksTheVersionOfSessionsFirst) {
  EXPECT_EQ(from_json<Session>("{}"), Session{});
  EXPECT_EQ(from_json<Session>(R"({"format_version":"1.7"})"), Session{});
  EXPECT_EQ(refusal<Session>(R"({"context":7,"status":[],"format_version":"2.0"})"),
            "format_version unsupported_version");
  EXPECT_EQ(refusal<Session>(R"({"format_version":"0.9"})"), "format_version unsupported_version");
  for (const char* version : {R"("")", R"("1")", R"("1.")", R"("one.0")", R"("1.0.0")", R"("-1.0")", R"("1.0 ")"}) {
    EXPECT_EQ(refusal<Session>(R"({"format_version":)" + std::string(version) + "}"), "format_version malformed");
  }
  EXPECT_EQ(refusal<Session>(R"({"format_version":1.0})"), "format_version invalid_type");
  const std::string message = from_json<Session>(R"({"format_version":"2.1"})").error().message();
  EXPECT_NE(message.find("2.1"), std::string::npos);
  EXPECT_NE(message.find(kSessionFormatVersion), std::string::npos);
}

// ---- what cannot be written

TEST(Codec, NamesThePathOfWhatJsonCannotCarry) {
  Session session;
  session.thread = {user("fine"), user("\xff")};
  EXPECT_EQ(refusal(to_json(session)), "thread.messages[1].content invalid_utf8");
  session.thread = {};
  session.context = {{"a", {1, std::nan("")}}};
  EXPECT_EQ(refusal(to_json(session)), "context.a[1] not_a_number");
  Usage usage;
  usage.input_cost = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal(to_json(usage)), "input_cost not_a_number");
  Message message = user("hi");
  message.metadata = Json::array();
  EXPECT_EQ(refusal(to_json(message)), "metadata invalid_type");
  message.metadata = Json::object();
  message.unknown_fields = 7;
  EXPECT_EQ(refusal(to_json(message)), "unknown_fields invalid_type");
  message.unknown_fields = nullptr;
  message.tool_calls = {{.id = "c", .name = "\xff"}};
  EXPECT_EQ(refusal(to_json(message)), "metadata.tool_calls[0].name invalid_utf8");
  ToolCall call{.id = "c", .name = "n"};
  for (int i = 0; i < 2000; ++i) call.arguments = Json{{"a", std::move(call.arguments)}};
  EXPECT_EQ(refusal(to_json(call)), "json too_deep");
}

TEST(Codec, PutsAnythingIntoValues) {
  const Message message = user("\xff");
  EXPECT_EQ(to_json_value(message)["data"]["content"], "\xff");
  EXPECT_EQ(from_json_value<Message>(to_json_value(message)), message);
}

TEST(Codec, RefusesBinaryValues) {
  EXPECT_EQ(refusal(from_json_value<Message>(Json{{"role", "user"}, {"content", Json::binary({1})}})),
            "content invalid_type");
  EXPECT_EQ(refusal(from_json_value<Message>(Json{{"role", "user"}, {"content", ""}, {"x", Json::binary({1})}})),
            "x invalid_type");
}

}  // namespace
}  // namespace allm::codec_test
