// The engine of `allm ask` and `allm worker`. Reads files and the environment and blocks meanwhile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "allm/engine.hpp"

#include "cli/command/spec.hpp"

namespace allm::cli {

// An engine for `model` (provider:model, or provider@base_url:model) with the tools of these files. Fails if the model,
// the user's model file or a tools file cannot be used.
Result<Engine> command_engine(const std::string& model, const std::optional<std::string>& base_url,
                              const std::vector<std::string>& tools_files);

// The options --model, --base-url and --tools.
std::vector<OptionSpec> engine_options(std::string& model, std::optional<std::string>& base_url,
                                       std::vector<std::string>& tools_files);

// A section of texts: how models are named.
CommandSection models_section();

}  // namespace allm::cli
