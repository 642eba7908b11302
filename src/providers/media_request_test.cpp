// The form in which each provider gets documents, audio and images in user messages and tool results, and the content
// that each provider refuses.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "providers/anthropic/anthropic.hpp"
#include "providers/gemini/gemini.hpp"
#include "providers/openai/openai.hpp"
#include "providers/openai/presets.hpp"

namespace allm::media_request_test {
namespace {

const Part kPdf = FilePart{.file = {.source = MediaBytes{"abc"}, .mime_type = "application/pdf", .name = "a.pdf"}};
const Part kNamelessPdf = FilePart{.file = {.source = MediaBytes{"abc"}, .mime_type = "application/pdf"}};
const Part kNotes = FilePart{.file = {.source = MediaBytes{"abc"}, .mime_type = "text/markdown", .name = "n.md"}};
const Part kSheet = FilePart{.file = {.source = MediaBytes{"abc"}, .mime_type = "application/vnd.ms-excel"}};
const Part kFileUrl = FilePart{.file = {.source = MediaUrl{"https://x.test/a.pdf"}, .mime_type = "application/pdf"}};
const Part kFileId = FilePart{.file = {.source = MediaId{"file-1"}, .mime_type = "application/pdf"}};
const Part kWav = AudioPart{.audio = {.source = MediaBytes{"abc"}, .mime_type = "audio/wav"}};
const Part kMp3 = AudioPart{.audio = {.source = MediaBase64{"YWJj"}, .mime_type = "audio/mpeg"}};
const Part kFlac = AudioPart{.audio = {.source = MediaBytes{"abc"}, .mime_type = "audio/flac"}};
const Part kAudioUrl = AudioPart{.audio = {.source = MediaUrl{"https://x.test/a.mp3"}, .mime_type = "audio/mpeg"}};
const Part kPng = ImagePart{.image = {.source = MediaBytes{"abc"}, .mime_type = "image/png"}};
const Part kText = TextPart{.text = "see"};

using CodecPtr = std::shared_ptr<const Codec>;
CodecPtr chat(const char* server = nullptr) {
  OpenAiCodecOptions options = server == nullptr ? OpenAiCodecOptions() : options_of(*find_openai_preset(server));
  options.endpoint = OpenAiCodecOptions::Endpoint::chat;
  return openai_codec(std::move(options));
}
CodecPtr responses() { return openai_codec({.endpoint = OpenAiCodecOptions::Endpoint::responses}); }

AdapterCall call_of(MessageList messages, const char* model) {
  AdapterCall call;
  call.model = model;
  call.request.max_tokens = 10;
  call.request.messages = std::move(messages);
  return call;
}

MessageList user_messages(std::vector<Part> parts) { return {user("first"), user(std::move(parts))}; }
MessageList tool_messages(std::vector<Part> parts) {
  Message caller = assistant("");
  caller.tool_calls = {{.id = "c0", .name = "draw"}};
  return {user("draw"), std::move(caller), tool_result("c0", std::move(parts))};
}

Json last(const Json& body, const char* list) {
  const Json& entries = body.at(list);
  return entries.at(entries.size() - 1);
}

Json written(const CodecPtr& codec, MessageList messages, const char* model = "gemini-3-flash") {
  const Result<HttpRequest> request = codec->write(call_of(std::move(messages), model));
  EXPECT_TRUE(request.has_value()) << (request ? "" : request.error().message());
  return request ? parse_json(request->body).value_or(Json()) : Json();
}

// The message of the refusal. Checks that it names the provider and the part at index 1 of the last message.
std::string refusal(const CodecPtr& codec, MessageList messages, const char* model = "gemini-3-flash") {
  const std::string place = "messages[" + std::to_string(messages.size() - 1) + "].content[1]: ";
  const Result<HttpRequest> request = codec->write(call_of(std::move(messages), model));
  if (request) return "sent " + request->body;
  const auto* error = request.error().get_if<AdapterError>();
  if (error == nullptr || error->reason != AdapterError::Reason::unsupported_feature) return request.error().message();
  EXPECT_EQ(error->provider, codec->provider());
  const std::string prefix = place + std::string(codec->provider()) + " ";
  EXPECT_TRUE(request.error().message().starts_with(prefix)) << request.error().message();
  EXPECT_EQ(request.error().metadata().at("path").at(3), 1);
  return request.error().message().substr(std::min(prefix.size(), request.error().message().size()));
}

void expect_json(const Json& given, const char* expected) {
  EXPECT_TRUE(json_equal(given, *parse_json(expected))) << given.dump();
}

TEST(OpenAiChatMedia, DocumentsAndAudioOfAUser) {
  expect_json(last(written(chat(), user_messages({kText, kPdf, kNamelessPdf, kFileId, kWav, kMp3})), "messages"), R"(
    {"role":"user","content":[{"type":"text","text":"see"},
      {"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,YWJj"}},
      {"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,YWJj"}},
      {"type":"file","file":{"file_id":"file-1"}},
      {"type":"input_audio","input_audio":{"data":"YWJj","format":"wav"}},
      {"type":"input_audio","input_audio":{"data":"YWJj","format":"mp3"}}]})");
}

TEST(OpenAiChatMedia, Refusals) {
  EXPECT_EQ(refusal(chat(), user_messages({kText, kFileUrl})),
            "does not fetch file parts from https://x.test/a.pdf: send the bytes");
  EXPECT_EQ(refusal(chat(), user_messages({kText, kAudioUrl})),
            "does not fetch audio parts from https://x.test/a.mp3: send the bytes");
  EXPECT_EQ(refusal(chat(), user_messages({kText, kFlac})), "does not take audio parts of type audio/flac");
  for (const Part& part : {kPng, kPdf, kWav}) {
    EXPECT_TRUE(refusal(chat(), tool_messages({kText, part}))
                    .ends_with(" parts in the result of a tool: send the part in a user message"));
    EXPECT_TRUE(refusal(chat(), {user("a"), assistant(std::vector<Part>{kText, part})})
                    .ends_with(" parts in an assistant message: send the part in a user message"));
  }
}

TEST(CompatibleServerMedia, EachServerGetsTheFormThatItAccepts) {
  expect_json(last(written(chat("mistral"), user_messages({kPdf, kFileUrl})), "messages"), R"(
    {"role":"user","content":[{"type":"document_url","document_url":"data:application/pdf;base64,YWJj"},
                              {"type":"document_url","document_url":"https://x.test/a.pdf"}]})");
  expect_json(last(written(chat("openrouter"), user_messages({kPdf, kWav})), "messages"), R"(
    {"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,YWJj"}},
                              {"type":"input_audio","input_audio":{"data":"YWJj","format":"wav"}}]})");
  for (const char* server : {"vllm", "llamacpp"}) {
    EXPECT_EQ(refusal(chat(server), user_messages({kText, kPdf})), "does not take file parts");
    written(chat(server), user_messages({kWav}));
  }
  for (const char* server : {"ollama", "lmstudio", "groq", "deepseek", "together", "xai"}) {
    EXPECT_EQ(refusal(chat(server), user_messages({kText, kPdf})), "does not take file parts");
    EXPECT_EQ(refusal(chat(server), user_messages({kText, kWav})), "does not take audio parts");
  }
  EXPECT_EQ(refusal(chat("mistral"), user_messages({kText, kFileId})),
            "does not take file parts by an id: send the bytes");
}

TEST(OpenAiResponsesMedia, DocumentsOfAUserAndOfATool) {
  const char* parts = R"([{"type":"input_text","text":"see"},
      {"type":"input_image","image_url":"data:image/png;base64,YWJj","detail":"auto"},
      {"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,YWJj"},
      {"type":"input_file","file_url":"https://x.test/a.pdf"},
      {"type":"input_file","file_id":"file-1"}])";
  const std::vector<Part> given = {kText, kPng, kPdf, kFileUrl, kFileId};
  expect_json(last(written(responses(), user_messages(given)), "input").at("content"), parts);
  const Json output = last(written(responses(), tool_messages(given)), "input");
  EXPECT_EQ(output.at("type"), "function_call_output");
  EXPECT_EQ(output.at("call_id"), "c0");
  expect_json(output.at("output"), parts);
}

TEST(OpenAiResponsesMedia, Refusals) {
  EXPECT_EQ(refusal(responses(), user_messages({kText, kWav})), "does not take audio parts");
  EXPECT_EQ(refusal(responses(), tool_messages({kText, kWav})), "does not take audio parts");
}

TEST(AnthropicMedia, DocumentsOfAUserAndOfATool) {
  const char* parts = R"([{"type":"text","text":"see"},
      {"type":"image","source":{"type":"base64","media_type":"image/png","data":"YWJj"}},
      {"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"YWJj"},"title":"a.pdf"},
      {"type":"document","source":{"type":"text","media_type":"text/plain","data":"abc"},"title":"n.md"},
      {"type":"document","source":{"type":"url","url":"https://x.test/a.pdf"}},
      {"type":"document","source":{"type":"file","file_id":"file-1"}}])";
  const std::vector<Part> given = {kText, kPng, kPdf, kNotes, kFileUrl, kFileId};
  expect_json(last(written(anthropic_codec(), {user(given)}), "messages").at("content"), parts);
  const Json turn = last(written(anthropic_codec(), tool_messages(given)), "messages");
  EXPECT_EQ(turn.at("content").at(0).at("type"), "tool_result");
  expect_json(turn.at("content").at(0).at("content"), parts);
}

TEST(AnthropicMedia, Refusals) {
  EXPECT_EQ(refusal(anthropic_codec(), user_messages({kText, kWav})), "does not take audio parts");
  EXPECT_EQ(refusal(anthropic_codec(), user_messages({kText, kSheet})),
            "does not take file parts of type application/vnd.ms-excel");
}

TEST(GeminiMedia, EverythingOfAUser) {
  expect_json(last(written(gemini_codec(), user_messages({kText, kPng, kPdf, kFlac, kFileId})), "contents"), R"(
    {"role":"user","parts":[{"text":"see"},{"inlineData":{"mimeType":"image/png","data":"YWJj"}},
      {"inlineData":{"mimeType":"application/pdf","data":"YWJj"}},
      {"inlineData":{"mimeType":"audio/flac","data":"YWJj"}},
      {"fileData":{"fileUri":"file-1","mimeType":"application/pdf"}}]})");
}

TEST(GeminiMedia, ResultsOfToolsFromGemini3On) {
  const Json content = last(written(gemini_codec(), tool_messages({kText, kPng, kWav})), "contents");
  expect_json(content, R"({"role":"user","parts":[{"functionResponse":{"name":"draw","response":{"output":"see"},
      "parts":[{"inlineData":{"mimeType":"image/png","data":"YWJj"}},
               {"inlineData":{"mimeType":"audio/wav","data":"YWJj"}}]}}]})");
  EXPECT_EQ(refusal(gemini_codec(), tool_messages({kText, kPng}), "gemini-2.5-flash"),
            "does not take image parts in the result of a tool: send the part in a user message");
}

TEST(GeminiMedia, UrlsAreFetchedOnRequestOnly) {
  EXPECT_EQ(refusal(gemini_codec(), user_messages({kText, kFileUrl})),
            "does not fetch file parts from https://x.test/a.pdf: send the bytes, or set fetch_image_urls if the model "
            "fetches https URLs");
  expect_json(last(written(gemini_codec({.fetch_image_urls = true}), user_messages({kFileUrl, kAudioUrl})), "contents"),
              R"({"role":"user","parts":[
                {"fileData":{"fileUri":"https://x.test/a.pdf","mimeType":"application/pdf"}},
                {"fileData":{"fileUri":"https://x.test/a.mp3","mimeType":"audio/mpeg"}}]})");
}

TEST(Media, UnreadableMediaAreAValidationError) {
  const std::vector<Part> parts = {FilePart{.file = file_from_path("/no/such.pdf")},
                                   AudioPart{.audio = {.source = MediaBase64{"?"}, .mime_type = "audio/wav"}},
                                   FilePart{.file = {.source = MediaBytes{"a"}}}};
  for (const CodecPtr& codec : {chat(), responses(), anthropic_codec(), gemini_codec()}) {
    const Result<HttpRequest> request = codec->write(call_of({user(parts)}, "m"));
    ASSERT_FALSE(request.has_value());
    const auto* error = request.error().get_if<ValidationError>();
    ASSERT_NE(error, nullptr) << request.error().message();
    ASSERT_EQ(error->errors.size(), 3U);
    EXPECT_EQ(error->errors[0].reason, "unresolvable_file");
    EXPECT_EQ(error->errors[1].reason, "unresolvable_audio");
    EXPECT_EQ(error->errors[2].reason, "missing_mime_type");
    EXPECT_EQ(to_string(error->errors[1].path), "content[0][1]");
  }
}

}  // namespace
}  // namespace allm::media_request_test
