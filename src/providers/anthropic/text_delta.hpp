// Reads the most common event of a stream in place, without a JSON value. Safe to call from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "providers/anthropic/answer.hpp"

namespace allm {

struct AnthropicDelta {
  std::int64_t index = 0;
  AnthropicAnswer::Delta kind = AnthropicAnswer::Delta::text;
  std::string_view text = {};  // valid until the next call on this thread
};

// {"type": "content_block_delta", "index", "delta": {"type", <one text>}}; nullopt for everything else, such as a delta
// with further members. At least kSsePadding readable bytes must follow the data.
std::optional<AnthropicDelta> read_anthropic_delta(std::string_view data);

// A type of delta, its kind, and the member that contains its text. anthropic_delta_form returns null for other types.
struct AnthropicDeltaForm {
  std::string_view type;
  std::string_view member;
  AnthropicAnswer::Delta kind;
};
const AnthropicDeltaForm* anthropic_delta_form(std::string_view type);

}  // namespace allm
