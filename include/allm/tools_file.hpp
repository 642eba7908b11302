// Tools files: command tools declared in TOML, so that tools can be added to an agent without compiling.
#pragma once

#include <string>
#include <vector>

#include "allm/tool.hpp"

namespace allm {

// Reads the tools of a tools file of at most 16 MiB; docs/tool-lanes.md describes the format. Blocks while reading.
// Fails with ValidationError `invalid_tool`; the message names the file, the line and the error.
Result<std::vector<Tool>> read_tools_file(const std::string& path);
// Reads the tools from the text of a tools file; messages use `name` as the name of the file. Safe to call from any
// thread.
Result<std::vector<Tool>> tools_from_toml(const std::string& text, const std::string& name = "tools");

}  // namespace allm
