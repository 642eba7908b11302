// Tools files: command tools declared in TOML, so that an agent can be put together without compiling.
#pragma once

#include <string>
#include <vector>

#include "allm/tool.hpp"

namespace allm {

// Tools from a tools file, which declares commands (docs/tool-lanes.md has the format). Fails with ValidationError
// `invalid_tool`; the message names the file, the line and what is wrong there.
Result<std::vector<Tool>> read_tools_file(const std::string& path);
// The same from its text; `name` stands for the file in messages.
Result<std::vector<Tool>> tools_from_toml(const std::string& text, const std::string& name = "tools");

}  // namespace allm
