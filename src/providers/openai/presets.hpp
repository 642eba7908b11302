// Servers that speak OpenAI's protocol, by name. A constant table; safe to call from any thread.
#pragma once

#include <span>
#include <string_view>

#include "providers/openai/openai.hpp"

namespace allm {

struct OpenAiPreset {
  std::string_view name;
  std::string_view base_url;      // "" if every customer has a different one: the program must set it
  bool needs_key;                 // false for local servers
  std::string_view key_variable;  // environment variable with the key
  OpenAiQuirks quirks;
};

std::span<const OpenAiPreset> openai_presets();
// Null if no preset has that name.
const OpenAiPreset* find_openai_preset(std::string_view name);
// The options of a preset, for openai_codec.
OpenAiCodecOptions options_of(const OpenAiPreset& preset);

}  // namespace allm
