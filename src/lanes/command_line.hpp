// Command lines from templates and arguments.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "allm/lane.hpp"
#include "allm/tool.hpp"

namespace allm {

// The words of a command's argv for these arguments; see Command. Fails with a message for the model.
std::expected<std::vector<std::string>, std::string> expand_command(const Command& command, const Json& arguments);

// What is wrong with a command's argv and groups, as a message for its author; nullopt if they are valid. `schema` is
// that of the tool: the arguments that it does not require may be missing.
std::optional<std::string> template_error(const Command& command, const Json& schema);

// The names of the arguments that a valid template uses.
std::vector<std::string> template_names(const std::vector<std::string>& argv);

// The environment of the command's process, "NAME=value" each.
std::vector<std::string> command_environment(const Command& command);

}  // namespace allm
