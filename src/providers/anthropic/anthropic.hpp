// Anthropic's Messages API.
//
// State that allm::Message has no field for is kept in its metadata under "anthropic": for an assistant message, its
// original content blocks (thinking with its signature, redacted thinking, citations), which the next request sends
// back unchanged. Members of `metadata.anthropic` of a text part, an image part or a tool are added to its block, such
// as {"cache_control": {"type": "ephemeral"}}. A tool message with `metadata.is_error` true is sent as an error.
//
// These settings are translated to the provider's names: `stop` (a text or a list), `user`, `parallel_tool_calls` and
// `reasoning_effort`. All others are sent unchanged.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "providers/codec.hpp"

namespace allm {

struct AnthropicCodecOptions {
  // Change it for a gateway or proxy that speaks the same protocol.
  std::string base_url = "https://api.anthropic.com/v1";
  // The header `anthropic-version`. This is the only version in use, and the decoders expect it.
  std::string version = "2023-06-01";
  // The header `anthropic-beta`. No feature of allm needs one.
  std::vector<std::string> beta = {};
  // Sent if the caller sets no `max_tokens`, because the provider requires it. The smallest model accepts 4096, which
  // is enough for most answers. A thinking budget is added to it.
  std::int64_t default_max_tokens = 4096;
  // Ask for JSON by `output_config.format` instead of a tool that the model must call. The tool is the default because
  // it works with every model. It cannot be combined with thinking, so with thinking `output_config.format` is always
  // used.
  bool native_structured_output = false;
};

std::shared_ptr<const Codec> anthropic_codec(AnthropicCodecOptions options = {});

inline constexpr std::string_view kAnthropic = "anthropic";

}  // namespace allm
