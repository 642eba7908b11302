#include "providers/anthropic/text_delta.hpp"

#include <algorithm>
#include <array>

#include <simdjson.h>

#include "data/immortal.hpp"
#include "http/sse_parser.hpp"

namespace allm {
namespace {

namespace ondemand = simdjson::ondemand;

static_assert(kSsePadding >= simdjson::SIMDJSON_PADDING);

// Larger events are rare, and the parser keeps memory in proportion to the largest one.
constexpr std::size_t kMaxBytes = 64U << 10U;

using Delta = AnthropicAnswer::Delta;
constexpr std::array<AnthropicDeltaForm, 4> kForms = {{
    {"text_delta", "text", Delta::text},
    {"input_json_delta", "partial_json", Delta::input_json},
    {"thinking_delta", "thinking", Delta::thinking},
    {"signature_delta", "signature", Delta::signature},
}};

// Reads the two members of a delta, in any order.
bool read_delta(ondemand::value value, AnthropicDelta& delta) {
  ondemand::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return false;
  std::string_view type;
  std::string_view member;
  for (auto field : object) {
    std::string_view key;
    std::string_view text;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
    if (field.value().get_string().get(text) != simdjson::SUCCESS) return false;
    if (key == "type" && type.data() == nullptr) {
      type = text;
    } else if (member.data() == nullptr) {
      member = key;
      delta.text = text;
    } else {
      return false;
    }
  }
  const AnthropicDeltaForm* form = anthropic_delta_form(type);
  if (form == nullptr || form->member != member) return false;
  delta.kind = form->kind;
  return true;
}

}  // namespace

const AnthropicDeltaForm* anthropic_delta_form(std::string_view type) {
  const auto* form = std::ranges::find(kForms, type, &AnthropicDeltaForm::type);
  return form == kForms.end() ? nullptr : form;
}

std::optional<AnthropicDelta> read_anthropic_delta(std::string_view data) {
  if (data.size() > kMaxBytes) return std::nullopt;
  auto& parser = thread_instance<ondemand::parser>();
  ondemand::document document;
  ondemand::object object;
  if (parser.iterate(data.data(), data.size(), data.size() + kSsePadding).get(document) != simdjson::SUCCESS ||
      document.get_object().get(object) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  AnthropicDelta delta;
  std::array<bool, 3> seen{};
  for (auto field : object) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return std::nullopt;
    ondemand::value value;
    if (field.value().get(value) != simdjson::SUCCESS) return std::nullopt;
    std::size_t which = 0;
    bool fits = false;
    if (key == "type") {
      std::string_view type;
      fits = value.get_string().get(type) == simdjson::SUCCESS && type == "content_block_delta";
    } else if (key == "index") {
      which = 1;
      fits = value.get_int64().get(delta.index) == simdjson::SUCCESS;
    } else if (key == "delta") {
      which = 2;
      fits = read_delta(value, delta);
    }
    if (!fits || seen[which]) return std::nullopt;
    seen[which] = true;
  }
  const bool whole = document.current_location().error() == simdjson::OUT_OF_BOUNDS;
  if (!whole || !seen[0] || !seen[1] || !seen[2]) return std::nullopt;
  return delta;
}

}  // namespace allm
