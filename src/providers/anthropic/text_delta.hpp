// The event that nearly all of a stream consists of, read in place. Any thread.
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

// {"type": "content_block_delta", "index", "delta": {"type", <one text>}}; nothing for everything else, such as a
// delta with further members. At least kSsePadding readable bytes must follow the data.
std::optional<AnthropicDelta> read_anthropic_delta(std::string_view data);

// The kind of a delta and the name of the member with its text; nothing if it is none of them.
struct AnthropicDeltaForm {
  std::string_view type;
  std::string_view member;
  AnthropicAnswer::Delta kind;
};
const AnthropicDeltaForm* anthropic_delta_form(std::string_view type);

}  // namespace allm
