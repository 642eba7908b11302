// The engine of `allm ask` and `allm worker`. Reads files and the environment and blocks meanwhile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "allm/engine.hpp"

namespace allm::cli {

// An engine for `model` (provider:model, or provider@base_url:model) with the tools of these files. Fails if the model,
// the user's model file or a tools file cannot be used.
Result<Engine> command_engine(const std::string& model, const std::optional<std::string>& base_url,
                              const std::vector<std::string>& tools_files);

}  // namespace allm::cli
