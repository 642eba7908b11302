#include "providers/openai/fast_reader.hpp"

#include <array>
#include <utility>

#include <simdjson.h>

#include "data/immortal.hpp"
#include "http/sse_parser.hpp"

namespace allm::openai_wire {
namespace {

namespace ondemand = simdjson::ondemand;
static_assert(kSsePadding >= simdjson::SIMDJSON_PADDING);

// Larger chunks are rare, and the parser keeps memory in proportion to the largest one.
constexpr std::size_t kMaxBytes = 64U << 10U;

bool is(ondemand::raw_json_string key, std::string_view name) {
  return *key.raw() == name.front() && key.unsafe_is_equal(name);
}

// An escaped key may be equal to a key that is looked for.
bool is_escaped(ondemand::raw_json_string key) {
  for (const char* at = key.raw(); *at != '"'; ++at) {
    if (*at == '\\') return true;
  }
  return false;
}

bool is_null(ondemand::value value) {
  bool null = false;
  return value.is_null().get(null) == simdjson::SUCCESS && null;
}

// Calls `take(key, value)` for each member; returns false if `take` does or if the object is malformed.
template <class Take>
bool each_member(ondemand::object object, Take&& take) {
  for (auto member : object) {
    ondemand::field field;
    if (std::move(member).get(field) != simdjson::SUCCESS) return false;
    if (!take(field.key(), field.value())) return false;
  }
  return true;
}

template <class Take>
bool each_member(ondemand::value value, Take&& take) {
  ondemand::object object;
  return value.get_object().get(object) == simdjson::SUCCESS && each_member(object, std::forward<Take>(take));
}

// Calls `take` with the only element. Returns false if the array is empty or has several elements.
template <class Take>
bool only_element(ondemand::value value, Take&& take) {
  ondemand::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return false;
  int count = 0;
  for (auto element : array) {
    ondemand::value item;
    if (++count > 1 || std::move(element).get(item) != simdjson::SUCCESS || !take(item)) return false;
  }
  return count == 1;
}

// Accepts null, or a string if `text` was not set before.
bool take_text(ondemand::value value, std::string_view& text) {
  return text.data() == nullptr && (is_null(value) || value.get_string().get(text) == simdjson::SUCCESS);
}

struct DeltaName {
  std::string_view type;
  FastDelta::Kind kind;
};
constexpr std::array<DeltaName, 5> kDeltas = {{
    {"response.output_text.delta", FastDelta::Kind::text},
    {"response.function_call_arguments.delta", FastDelta::Kind::arguments},
    {"response.reasoning_summary_text.delta", FastDelta::Kind::summary},
    {"response.reasoning_text.delta", FastDelta::Kind::reasoning},
    {"response.refusal.delta", FastDelta::Kind::refusal},
}};

bool take_kind(ondemand::value value, FastDelta::Kind& kind) {
  ondemand::raw_json_string type;
  if (value.get_raw_json_string().get(type) != simdjson::SUCCESS) return false;
  for (const DeltaName& delta : kDeltas) {
    if (is(type, delta.type)) kind = delta.kind;
  }
  return kind != FastDelta::Kind::none;
}

bool take_function(ondemand::value function, FastChunk& chunk) {
  return each_member(function, [&](ondemand::raw_json_string key, ondemand::value value) {
    if (is(key, "arguments")) return !is_null(value) && take_text(value, chunk.arguments);
    return is(key, "name") && take_text(value, chunk.call_name);
  });
}

bool take_call(ondemand::value call, FastChunk& chunk) {
  return each_member(call, [&](ondemand::raw_json_string key, ondemand::value value) {
    if (is(key, "index")) return value.get_int64().get(chunk.call_index) == simdjson::SUCCESS && chunk.call_index >= 0;
    if (is(key, "function")) return take_function(value, chunk);
    if (is(key, "id")) return take_text(value, chunk.call_id);
    return is(key, "type");
  });
}

bool take_message_delta(ondemand::value delta, FastChunk& chunk) {
  return each_member(delta, [&](ondemand::raw_json_string key, ondemand::value value) {
    if (is(key, "content")) return take_text(value, chunk.text);
    if (is(key, "tool_calls")) {
      if (is_null(value)) return chunk.call_index < 0;
      return only_element(value, [&](ondemand::value call) { return take_call(call, chunk); });
    }
    if (is(key, "reasoning_content") || is(key, "reasoning")) return take_text(value, chunk.reasoning);
    if (is(key, "role")) return true;
    return is_null(value);
  });
}

bool take_choice(ondemand::value choice, bool escapes, FastChunk& chunk) {
  int deltas = 0;
  const bool usual = each_member(choice, [&](ondemand::raw_json_string key, ondemand::value value) {
    if (is(key, "delta")) return ++deltas == 1 && take_message_delta(value, chunk);
    if (is(key, "finish_reason")) return take_text(value, chunk.finish);
    if (is(key, "index")) {
      std::int64_t index = 0;
      return value.get_int64().get(index) == simdjson::SUCCESS && index == 0;
    }
    return !is(key, "message") && !(escapes && is_escaped(key));
  });
  return usual && deltas == 1;
}

// Calls `take` for the members of the document's object.
template <class Take>
bool read_object(std::string_view data, Take&& take) {
  if (data.size() > kMaxBytes) return false;
  // One parser per thread and not per stream: it needs more memory than the rest of a decoder.
  auto& parser = thread_instance<ondemand::parser>();
  ondemand::document document;
  ondemand::object object;
  const simdjson::padded_string_view padded(data.data(), data.size(), data.size() + simdjson::SIMDJSON_PADDING);
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS) return false;
  if (document.get_object().get(object) != simdjson::SUCCESS) return false;
  return each_member(object, std::forward<Take>(take)) &&
         document.current_location().error() != simdjson::SUCCESS;  // no bytes follow the object
}

}  // namespace

FastDelta::Kind delta_kind(std::string_view type) {
  for (const auto& [name, kind] : kDeltas) {
    if (type == name) return kind;
  }
  return FastDelta::Kind::none;
}

bool read_fast_chunk(std::string_view data, bool with_head, FastChunk& chunk) {
  chunk = {};
  const bool escapes = data.find('\\') != std::string_view::npos;
  int choices = 0;
  const bool usual = read_object(data, [&](ondemand::raw_json_string key, ondemand::value value) {
    if (is(key, "choices")) {
      return ++choices == 1 &&
             only_element(value, [&](ondemand::value choice) { return take_choice(choice, escapes, chunk); });
    }
    if (is(key, "usage") || is(key, "error") || is(key, "x_groq")) return is_null(value);
    if (with_head && is(key, "id")) return take_text(value, chunk.id);
    if (with_head && is(key, "model")) return take_text(value, chunk.model);
    return !(escapes && is_escaped(key));
  });
  if (!usual || choices != 1) return false;
  // Some servers end a failed message this way; the general reader reports the error.
  if (chunk.finish == "error") return false;
  const bool in_call = chunk.call_index >= 0;
  // A fragment without an index, or an index without arguments, is left to the general reader.
  if (in_call != (chunk.arguments.data() != nullptr)) return false;
  return in_call ? chunk.text.empty() : !chunk.begins_call();
}

bool read_fast_delta(std::string_view data, FastDelta& delta) {
  delta = {};
  const bool escapes = data.find('\\') != std::string_view::npos;
  const bool usual = read_object(data, [&](ondemand::raw_json_string key, ondemand::value value) {
    if (is(key, "delta")) return !is_null(value) && take_text(value, delta.delta);
    if (is(key, "type")) return delta.kind == FastDelta::Kind::none && take_kind(value, delta.kind);
    if (is(key, "item_id")) {
      const bool wanted = delta.kind == FastDelta::Kind::none || delta.kind == FastDelta::Kind::arguments;
      return !wanted || take_text(value, delta.item_id);
    }
    if (is(key, "error")) return is_null(value);
    return !(escapes && is_escaped(key));
  });
  return usual && delta.kind != FastDelta::Kind::none && delta.delta.data() != nullptr;
}

}  // namespace allm::openai_wire
