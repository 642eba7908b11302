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
std::expected<std::vector<std::string>, std::string> expand_command(const std::vector<std::string>& argv,
                                                                    const Json& arguments);

// What is wrong with a template, for who wrote it; nothing if it is in order.
std::optional<std::string> template_problem(const std::vector<std::string>& argv);

// The arguments that a template in order uses.
std::vector<std::string> template_names(const std::vector<std::string>& argv);

// "NAME=value" of what the command gets.
std::vector<std::string> command_environment(const Command& command);

}  // namespace allm
