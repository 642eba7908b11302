// Decides how a JSON answer is requested, and thus where the response contains it. Pure; safe to call from any thread.
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

// Whether the settings of the call turn thinking on.
bool anthropic_thinks(const Json& settings);

// Whether the model can be made to call a tool. A model that always thinks cannot.
bool anthropic_forces_tools(const AdapterCall& call);

// Fails with AdapterError `unsupported_feature` for JSON without a schema if a tool cannot be used.
Result<AnthropicStructure> anthropic_structure(const AnthropicCodecOptions& options, const AdapterCall& call,
                                               const Json& settings);

}  // namespace allm
