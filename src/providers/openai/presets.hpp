// Servers that speak OpenAI's protocol, by name. A constant table; any thread.
#pragma once

#include <span>
#include <string_view>

#include "providers/openai/openai.hpp"

namespace allm {

struct OpenAiPreset {
  std::string_view name;
  std::string_view base_url;      // "" where every customer has their own: it must be given
  bool needs_key;                 // local servers take any key or none
  std::string_view key_variable;  // the environment's name for the key
  OpenAiQuirks quirks;
};

std::span<const OpenAiPreset> openai_presets();
// Null if there is none of that name.
const OpenAiPreset* find_openai_preset(std::string_view name);
// The options of a preset, to be changed further and given to openai_codec.
OpenAiCodecOptions options_of(const OpenAiPreset& preset);

}  // namespace allm
