// How an answer in JSON is asked for, and so where in the response it is found. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "allm/adapter.hpp"

#include "providers/anthropic/anthropic.hpp"

namespace allm {

struct AnthropicStructure {
  enum class Way : std::uint8_t {
    none,
    tool,    // the model calls a tool whose arguments are the answer
    native,  // `output_config.format`
  };
  Way way = Way::none;
  std::string tool_name = {};  // for tool
  Json schema = null_json();   // for tool
  Json format = null_json();   // for native
};

// Whether the model thinks before it answers, by the settings of the call.
bool anthropic_thinks(const Json& settings);

// Fails with AdapterError `unsupported_feature` where a format cannot be had.
Result<AnthropicStructure> anthropic_structure(const AnthropicCodecOptions& options, const AdapterCall& call,
                                               const Json& settings);

}  // namespace allm
