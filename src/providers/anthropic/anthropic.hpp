// Anthropic's Messages API.
//
// What a neutral message cannot say is kept in its metadata under "anthropic": for an assistant message the content
// blocks it came in (thinking with its signature, redacted thinking, citations), which the next request sends back as
// they were. Members of `metadata.anthropic` of a text part, an image part or a tool are added to its block, such as
// {"cache_control": {"type": "ephemeral"}}. A tool message with `metadata.is_error` true is sent as a failure.
//
// Settings by other names than the provider's: `stop` (a text or a list), `user`, `parallel_tool_calls` and
// `reasoning_effort`. All others are sent as they are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "providers/codec.hpp"

namespace allm {

struct AnthropicCodecOptions {
  // A gateway or proxy that speaks the same protocol has another one.
  std::string base_url = "https://api.anthropic.com/v1";
  // The header `anthropic-version`. This is the only version in use; what decoders expect depends on it.
  std::string version = "2023-06-01";
  // The header `anthropic-beta`. Nothing that allm itself asks for needs one.
  std::vector<std::string> beta = {};
  // Sent where the caller names no `max_tokens`, because the provider insists on one. 4096 is what the smallest model
  // accepts, and long enough for most answers; with a thinking budget it comes on top of it.
  std::int64_t default_max_tokens = 4096;
  // Ask for JSON by `output_config.format` instead of a tool that the model is made to call. The tool works with every
  // model, so it is the default; thinking forbids it, so with thinking the native way is taken in any case.
  bool native_structured_output = false;
};

std::shared_ptr<const Codec> anthropic_codec(AnthropicCodecOptions options = {});

inline constexpr std::string_view kAnthropic = "anthropic";

}  // namespace allm
