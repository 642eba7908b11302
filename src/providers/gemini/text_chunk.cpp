#include "providers/gemini/text_chunk.hpp"

#include <utility>

#include <simdjson.h>

#include "data/immortal.hpp"
#include "http/sse_parser.hpp"

namespace allm {
namespace {

namespace ondemand = simdjson::ondemand;

static_assert(kSsePadding >= simdjson::SIMDJSON_PADDING);

// Larger chunks are rare, and the parser keeps memory in proportion to the largest one.
constexpr std::size_t kMaxBytes = 64U << 10U;

bool read_text(ondemand::value value, std::string_view& target) {
  return target.data() == nullptr && value.get_string().get(target) == simdjson::SUCCESS;
}

// Calls `take` with the key and value of each member; stops and returns false when `take` does.
template <class Take>
bool each_member(simdjson::simdjson_result<ondemand::object> found, const Take& take) {
  if (found.error() != simdjson::SUCCESS) return false;
  for (auto field : found) {
    std::string_view key;
    ondemand::value value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
    if (field.value().get(value) != simdjson::SUCCESS || !take(key, value)) return false;
  }
  return true;
}

// Calls `take` with each element; stops and returns false when `take` does.
template <class Take>
bool each_element(simdjson::simdjson_result<ondemand::array> found, const Take& take) {
  if (found.error() != simdjson::SUCCESS) return false;
  for (auto element : found) {
    ondemand::value value;
    if (element.get(value) != simdjson::SUCCESS || !take(value)) return false;
  }
  return true;
}

// Calls `take` with the only element. Returns false if the array is empty or has several elements.
template <class Take>
bool only_element(simdjson::simdjson_result<ondemand::array> found, const Take& take) {
  bool seen = false;
  const bool taken =
      each_element(std::move(found), [&](ondemand::value value) { return !std::exchange(seen, true) && take(value); });
  return taken && seen;
}

bool read_part(ondemand::value value, GeminiTextChunk& chunk) {
  return each_member(value.get_object(), [&](std::string_view key, ondemand::value member) {
    return key == "text" && read_text(member, chunk.text);
  });
}

bool read_content(ondemand::value value, GeminiTextChunk& chunk) {
  std::string_view role;
  return each_member(value.get_object(), [&](std::string_view key, ondemand::value member) {
    if (key == "role") return read_text(member, role);
    return key == "parts" &&
           only_element(member.get_array(), [&](ondemand::value part) { return read_part(part, chunk); });
  });
}

bool read_candidate(ondemand::value value, GeminiTextChunk& chunk) {
  return each_member(value.get_object(), [&](std::string_view key, ondemand::value member) {
    if (key == "content") return read_content(member, chunk);
    if (key == "finishReason") return read_text(member, chunk.finish_reason);
    std::int64_t index = -1;
    return key == "index" && member.get_int64().get(index) == simdjson::SUCCESS && index == 0;
  });
}

// Reads the whole value, because the parser validates only what is read.
bool is_sound(ondemand::value value, int depth = 0) {
  constexpr int kMaxChunkDepth = 8;
  if (depth == kMaxChunkDepth) return false;
  switch (value.type().value_unsafe()) {
    case ondemand::json_type::object:
      return each_member(value.get_object(),
                         [&](std::string_view /*key*/, ondemand::value member) { return is_sound(member, depth + 1); });
    case ondemand::json_type::array:
      return each_element(value.get_array(), [&](ondemand::value element) { return is_sound(element, depth + 1); });
    case ondemand::json_type::string:
      return value.get_string().error() == simdjson::SUCCESS;
    case ondemand::json_type::number:
      return value.get_int64().error() == simdjson::SUCCESS;
    case ondemand::json_type::boolean:
    case ondemand::json_type::null:
      break;
  }
  return false;
}

bool read_usage(ondemand::value value, std::string_view& target) {
  ondemand::object object;
  if (target.data() != nullptr || value.get_object().get(object) != simdjson::SUCCESS ||
      object.raw_json().get(target) != simdjson::SUCCESS || object.reset().error() != simdjson::SUCCESS) {
    return false;
  }
  return each_member(ondemand::object(object),
                     [](std::string_view /*key*/, ondemand::value member) { return is_sound(member); });
}

}  // namespace

std::optional<GeminiTextChunk> read_gemini_text(std::string_view data) {
  if (data.size() > kMaxBytes) return std::nullopt;
  auto& parser = thread_instance<ondemand::parser>();
  ondemand::document document;
  if (parser.iterate(data.data(), data.size(), data.size() + kSsePadding).get(document) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  GeminiTextChunk chunk;
  const bool read = each_member(document.get_object(), [&](std::string_view key, ondemand::value member) {
    if (key == "candidates") {
      return only_element(member.get_array(), [&](ondemand::value value) { return read_candidate(value, chunk); });
    }
    if (key == "usageMetadata") return read_usage(member, chunk.usage);
    if (key == "modelVersion") return read_text(member, chunk.model);
    return key == "responseId" && read_text(member, chunk.id);
  });
  const bool whole = read && document.current_location().error() == simdjson::OUT_OF_BOUNDS;
  if (!whole || chunk.text.data() == nullptr) return std::nullopt;
  return chunk;
}

}  // namespace allm
