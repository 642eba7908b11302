#include "testing/scenario/transcript_expect.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "allm/retry.hpp"
#include "allm/serialize.hpp"

namespace allm {
namespace {

constexpr std::array<const char*, 6> kCounters = {
    "input_tokens",    "output_tokens", "total_tokens", "cached_input_tokens", "cache_write_input_tokens",
    "reasoning_tokens"};

// Expects every member of `expected` in `got`, in nested objects too.
void expect_members(const std::string& what, const Json& expected, const Json& got, Mismatches& mismatches) {
  if (!expected.is_object() || !got.is_object()) return expect_equal(what, expected, got, mismatches);
  for (const auto& [name, value] : expected.items()) {
    const auto found = got.find(name);
    expect_members(what + "." + name, value, found == got.end() ? Json(nullptr) : *found, mismatches);
  }
}

Json observed(const Event& event) {
  const Json tag = to_string(event.tag());
  if (const auto* text = event.get_if<TextDelta>()) return {tag, text->delta};
  if (const auto* text = event.get_if<TextCompleted>()) return {tag, text->text};
  if (const auto* reasoning = event.get_if<ReasoningDelta>()) return {tag, reasoning->delta};
  if (const auto* call = event.get_if<ToolCallStarted>()) return {tag, call->id, call->name};
  if (const auto* call = event.get_if<ToolCallDelta>()) return {tag, call->id, call->arguments_delta};
  if (const auto* done = event.get_if<ToolCallCompleted>()) {
    return {tag, done->call.id, done->call.name, done->call.arguments, done->call.raw_arguments.value_or("")};
  }
  if (const auto* done = event.get_if<MessageCompleted>()) {
    return {tag, done->finish_reason ? Json(to_string(*done->finish_reason)) : Json(nullptr)};
  }
  if (const auto* failed = event.get_if<ErrorEvent>()) return {tag, failed->error.kind(), failed->error.reason()};
  return Json::array({tag});
}

Json without_raw_chunks(const Json& events) {
  Json kept = Json::array();
  for (const Json& event : events) {
    if (event.at(0) != "raw_chunk") kept.push_back(event);
  }
  return kept;
}

Json usage_of(const Usage& usage) {
  const Json all = to_json_value(usage).at("data");
  Json counters = Json::object();
  for (const char* name : kCounters) counters[name] = all.at(name);
  return counters;
}

Json optional_text(const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); }

void check_calls(const Json& expect, const Response& response, MadeIds& ids, Mismatches& mismatches) {
  expect_equal("number of tool_calls", expect.size(), response.tool_calls.size(), mismatches);
  for (std::size_t i = 0; i < std::min(expect.size(), response.tool_calls.size()); ++i) {
    const ToolCall& call = response.tool_calls[i];
    for (std::size_t k = 0; k < i; ++k) {
      if (response.tool_calls[k].id == call.id) mismatches.push_back("tool_calls: the id " + call.id + " comes twice");
    }
    Json expected = expect[i];
    const std::string what = "tool_calls[" + std::to_string(i) + "]";
    ids.compare(expected["id"], call.id, what, mismatches);
    expect_members(what, expected,
                   {{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}, {"metadata", call.metadata}},
                   mismatches);
  }
}

void check_text(const Json& expected, const Response& response, Mismatches& mismatches) {
  const std::string got = response.text().value_or("");
  if (expected == got) return;
  // A text that the decoder writes from a JSON value may be formatted differently: compare the values.
  const Json a = Json::parse(expected.get<std::string>(), nullptr, false);
  const Json b = Json::parse(got, nullptr, false);
  if (a.is_discarded() || b.is_discarded() || !json_equal(a, b)) expect_equal("text", expected, got, mismatches);
}

// The response's metadata, and the provider's state from the message's metadata, by the names that transcripts use.
Json metadata_of(const Response& response) {
  Json metadata = response.metadata;
  if (!response.message) return metadata;
  for (const auto& [provider, state] : response.message->metadata.items()) {
    if (provider == "anthropic") metadata["content_blocks"] = state;
    if (!state.is_array()) continue;
    for (const Json& item : state) {
      if (item.is_object() && item.value("type", "") == "reasoning") metadata["reasoning_items"].push_back(item);
    }
  }
  return metadata;
}

}  // namespace

void expect_equal(const std::string& what, const Json& expected, const Json& got, Mismatches& mismatches) {
  if (!json_equal(expected, got)) mismatches.push_back(what + ": expected " + expected.dump() + ", got " + got.dump());
}

void MadeIds::compare(Json& expected, const Json& got, const std::string& what, Mismatches& mismatches) {
  if (!expected.is_string() || !got.is_string()) return;
  const auto name = expected.get<std::string>();
  const auto id = got.get<std::string>();
  if (!name.starts_with('<')) return;
  if (name == "<synthesized-unique>") {
    if (id.empty()) mismatches.push_back(what + ": expected an id that the adapter made, got an empty one");
  } else {
    const auto [entry, added] = ids_.try_emplace(name, id);
    if (!added && entry->second != id) mismatches.push_back(what + ": " + name + " is no longer " + entry->second);
  }
  expected = got;
}

void check_events(const Json& expect, const std::vector<Event>& events, MadeIds& ids, Mismatches& mismatches) {
  Json got = Json::array();
  for (const Event& event : events) {
    if (event.tag() != EventTag::raw_chunk) got.push_back(observed(event));
  }
  Json expected = without_raw_chunks(expect);
  for (std::size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
    const std::string what = "events[" + std::to_string(i) + "]";
    if (expected[i].size() > 1 && got[i].size() > 1) ids.compare(expected[i][1], got[i][1], what, mismatches);
    expect_equal(what, expected[i], got[i], mismatches);
  }
  if (expected.size() != got.size()) expect_equal("number of events", expected.size(), got.size(), mismatches);
}

void check_error(const Json& expect, const Error& error, Mismatches& mismatches) {
  const auto* adapter = error.get_if<AdapterError>();
  for (const auto& [name, value] : expect.items()) {
    const std::string what = "error." + name;
    if (name == "type") {
      expect_equal(what, value, error.kind(), mismatches);
    } else if (name == "reason") {
      expect_equal(what, value, error.reason(), mismatches);
    } else if (name == "status") {
      expect_equal(what, value, adapter && adapter->status ? Json(*adapter->status) : Json(nullptr), mismatches);
    } else if (name == "retry_after_ms") {
      expect_equal(what, value, adapter && adapter->retry_after_ms ? Json(*adapter->retry_after_ms) : Json(nullptr),
                   mismatches);
    } else if (name == "provider_request_id") {
      expect_equal(what, value, adapter && adapter->request_id ? Json(*adapter->request_id) : Json(nullptr),
                   mismatches);
    } else if (name == "retryable") {
      expect_equal(what, value, is_retryable(RetryPolicy(), error), mismatches);
    } else if (name == "message_contains" || name == "message_must_not_contain") {
      for (const Json& part : value) {
        const bool found = error.message().find(part.get<std::string>()) != std::string::npos;
        if (found != (name == "message_contains")) {
          mismatches.push_back(what + " " + part.dump() + ": the message is " + Json(error.message()).dump());
        }
      }
    } else {
      mismatches.push_back(what + ": no such member of an error");
    }
  }
}

void check_response(const Json& expect, const Response& response, MadeIds& ids, Mismatches& mismatches) {
  for (const auto& [name, value] : expect.items()) {
    if (name == "text") {
      check_text(value, response, mismatches);
    } else if (name == "tool_calls") {
      check_calls(value, response, ids, mismatches);
    } else if (name == "finish_reason") {
      expect_equal(name, value, response.finish_reason ? Json(to_string(*response.finish_reason)) : Json(nullptr),
                   mismatches);
    } else if (name == "raw_finish_reason") {
      expect_equal(name, value, optional_text(response.raw_finish_reason), mismatches);
    } else if (name == "usage") {
      expect_members(name, value, usage_of(response.usage), mismatches);
    } else if (name == "usage_extra") {
      expect_members(name, value, response.usage.extra, mismatches);
    } else if (name == "id") {
      expect_equal(name, value, optional_text(response.id), mismatches);
    } else if (name == "model") {
      expect_equal(name, value, optional_text(response.model), mismatches);
    } else if (name == "metadata" || name == "provider_request_id") {
      const Json expected = name == "metadata" ? value : Json{{"provider_request_id", value}};
      expect_members("metadata", expected, metadata_of(response), mismatches);
    } else if (name == "error") {
      if (response.error) {
        check_error(value, *response.error, mismatches);
      } else {
        mismatches.push_back("error: expected " + value.dump() + ", there is none");
      }
    } else if (name != "events") {
      mismatches.push_back("expect." + name + ": no such member");
    }
  }
}

}  // namespace allm
