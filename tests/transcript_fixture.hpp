// Loads the exchanges in tests/transcripts, for tests of the codecs.
#pragma once

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "allm/collector.hpp"
#include "allm/serialize.hpp"

#include "providers/codec.hpp"

namespace allm {

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Transcript {
  Json json = nullptr;
  HttpResponseHead head = {};
  std::string body = {};
  const Json& expect() const { return json["expect"]; }
};

inline Transcript load_transcript(const std::string& name) {
  const std::string folder = std::string(ALLM_SOURCE_DIR) + "/tests/transcripts/";
  Transcript transcript{.json = *parse_json(file_text(folder + name + ".json"))};
  const Json& response = transcript.json["response"];
  transcript.head.status = response["status"].get<int>();
  for (const auto& [header, value] : response["headers"].items()) {
    transcript.head.headers.push_back({header, value.get<std::string>()});
  }
  transcript.body = response.contains("body_file") ? file_text(folder + response["body_file"].get<std::string>())
                                                   : *write_json(response["body"]);
  return transcript;
}

// The events of a body that is fed in pieces; `next_size` returns the size of each.
inline std::vector<Event> decoded(const Codec& codec, const AdapterCall& call, const HttpResponseHead& head,
                                  std::string_view body, const std::function<std::size_t()>& next_size) {
  const std::unique_ptr<BodyDecoder> decoder = codec.decoder(call, head);
  std::vector<Event> events;
  while (!body.empty()) {
    const std::size_t size = std::min(body.size(), std::max<std::size_t>(1, next_size()));
    decoder->feed(std::string(body.substr(0, size)), events);
    body.remove_prefix(size);
  }
  decoder->finish(events);
  EXPECT_TRUE(decoder->done());
  const std::size_t count = events.size();
  decoder->feed("data: {}\n\n", events);
  decoder->finish(events);
  EXPECT_EQ(events.size(), count) << "something follows the terminal event";
  return events;
}

inline std::vector<Event> decoded(const Codec& codec, const AdapterCall& call, const HttpResponseHead& head,
                                  std::string_view body) {
  return decoded(codec, call, head, body, [&] { return body.size(); });
}

// The events of a body. Expects the same events for every way to split it.
inline std::vector<Event> decoded_in_every_way(const Codec& codec, const AdapterCall& call,
                                               const HttpResponseHead& head, std::string_view body) {
  std::vector<Event> events = decoded(codec, call, head, body);
  EXPECT_TRUE(events == decoded(codec, call, head, body, [] { return 1; })) << "byte by byte";
  std::mt19937_64 random(7);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(events == decoded(codec, call, head, body, [&] { return random() % 50 + 1; })) << "random split " << i;
  }
  // With raw chunks the decoder uses its general path, which must produce the same events as the fast path.
  AdapterCall raw = call;
  raw.include_raw_chunks = true;
  std::vector<Event> in_general = decoded(codec, raw, head, body);
  if (!call.include_raw_chunks) {
    std::erase_if(in_general, [](const Event& event) { return event.get_if<RawChunk>() != nullptr; });
  }
  EXPECT_TRUE(events == in_general) << "the general path";
  return events;
}

// An event in the notation of the transcripts; null for events that are not compared.
inline Json in_notation(const Event& event) {
  if (event.get_if<MessageStarted>() != nullptr) return {"message_started"};
  if (const auto* e = event.get_if<TextDelta>()) return {"text_delta", e->delta};
  if (const auto* e = event.get_if<TextCompleted>()) return {"text_completed", e->text};
  if (const auto* e = event.get_if<ReasoningDelta>()) return {"reasoning_delta", e->delta};
  if (const auto* e = event.get_if<ToolCallStarted>()) return Json::array({"tool_call_started", e->id, e->name});
  if (const auto* e = event.get_if<ToolCallDelta>()) return Json::array({"tool_call_delta", e->id, e->arguments_delta});
  if (const auto* e = event.get_if<ToolCallCompleted>()) {
    return {"tool_call_completed", e->call.id, e->call.name, e->call.arguments,
            e->call.raw_arguments.value_or("<none>")};
  }
  if (const auto* e = event.get_if<MessageCompleted>()) {
    return {"message_completed", e->finish_reason ? Json(to_string(*e->finish_reason)) : Json(nullptr)};
  }
  if (const auto* e = event.get_if<ErrorEvent>()) return Json::array({"error", e->error.kind(), e->error.reason()});
  return nullptr;
}

inline Json in_notation(const std::vector<Event>& events) {
  Json list = Json::array();
  for (const Event& event : events) {
    if (Json entry = in_notation(event); !entry.is_null()) list.push_back(std::move(entry));
  }
  return list;
}

inline Response folded(const std::vector<Event>& events) {
  StreamCollector collector;
  for (const Event& event : events) collector.apply(event);
  Result<Response> response = collector.response();
  EXPECT_TRUE(response.has_value());
  return response ? *std::move(response) : Response{};
}

inline Json count_or_null(const std::optional<std::int64_t>& count) { return count ? Json(*count) : Json(nullptr); }

inline void expect_usage(const Usage& usage, const Json& expected) {
  const std::map<std::string, Json> counts = {
      {"input_tokens", count_or_null(usage.input_tokens)},
      {"output_tokens", count_or_null(usage.output_tokens)},
      {"total_tokens", count_or_null(usage.total_tokens)},
      {"cached_input_tokens", count_or_null(usage.cached_input_tokens)},
      {"cache_write_input_tokens", count_or_null(usage.cache_write_input_tokens)},
      {"reasoning_tokens", count_or_null(usage.reasoning_tokens)},
  };
  for (const auto& [name, value] : expected.items()) EXPECT_EQ(counts.at(name), value) << name;
}

inline void expect_error(const Error& error, const Json& expected) {
  EXPECT_EQ(Json(error.kind()), expected["type"]);
  EXPECT_EQ(Json(error.reason()), expected["reason"]);
  const auto* detail = error.get_if<AdapterError>();
  ASSERT_NE(detail, nullptr);
  if (expected.contains("status")) {
    EXPECT_EQ(detail->status, expected["status"].get<int>());
  }
  if (expected.contains("retry_after_ms")) {
    EXPECT_EQ(count_or_null(detail->retry_after_ms), expected["retry_after_ms"]);
  }
  if (expected.contains("provider_request_id")) {
    EXPECT_EQ(detail->request_id, expected["provider_request_id"].get<std::string>());
  }
}

inline void expect_response(const Response& response, const Json& expected) {
  EXPECT_EQ(Json(response.output_text.value_or("")), expected["text"]);
  EXPECT_EQ(Json(response.finish_reason ? to_string(*response.finish_reason) : "null"), expected["finish_reason"]);
  if (expected.contains("raw_finish_reason")) {
    EXPECT_EQ(response.raw_finish_reason ? Json(*response.raw_finish_reason) : Json(nullptr),
              expected["raw_finish_reason"]);
  }
  const Json& calls = expected["tool_calls"];
  ASSERT_EQ(response.tool_calls.size(), calls.size());
  std::set<std::string> ids;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const ToolCall& call = response.tool_calls[i];
    EXPECT_TRUE(ids.insert(call.id).second) << "two calls have the id " << call.id;
    if (!calls[i]["id"].get<std::string>().starts_with("<")) {
      EXPECT_EQ(Json(call.id), calls[i]["id"]);
    }
    EXPECT_EQ(Json(call.name), calls[i]["name"]);
    EXPECT_TRUE(json_equal(call.arguments, calls[i]["arguments"]));
    if (calls[i].contains("metadata")) {
      EXPECT_TRUE(json_equal(call.metadata, calls[i]["metadata"])) << call.metadata;
    }
  }
  expect_usage(response.usage, expected["usage"]);
  if (expected.contains("usage_extra")) {
    for (const auto& [name, value] : expected["usage_extra"].items()) EXPECT_EQ(response.usage.extra[name], value);
  }
  ASSERT_EQ(response.error.has_value(), expected.contains("error"));
  if (response.error) expect_error(*response.error, expected["error"]);
}

// Decodes a transcript in every way and compares events and response with what it expects.
inline std::vector<Event> expect_transcript(const Codec& codec, const AdapterCall& call, const Transcript& transcript) {
  const std::vector<Event> events = decoded_in_every_way(codec, call, transcript.head, transcript.body);
  const Json& expected = transcript.expect();
  if (expected.contains("events")) {
    Json list = Json::array();
    for (const Json& entry : expected["events"]) {
      if (entry[0] != "raw_chunk") list.push_back(entry);
    }
    EXPECT_TRUE(json_equal(in_notation(events), list)) << in_notation(events) << "\nexpected " << list;
  }
  expect_response(folded(events), expected);
  return events;
}

// The message of an answer after it was saved and loaded as in a session.
inline Message stored_message(const std::vector<Event>& events) {
  const auto* completed = events.back().get_if<MessageCompleted>();
  if (completed == nullptr) {
    ADD_FAILURE() << "the answer is not complete";
    return {};
  }
  Result<Message> message = from_json<Message>(*to_json(completed->message));
  EXPECT_TRUE(message.has_value());
  return message ? *std::move(message) : Message{};
}

}  // namespace allm
