#include "cli/help_command.hpp"

#include <memory>
#include <string>
#include <vector>

#include "cli/command/help.hpp"
#include "cli/command/nearest.hpp"

namespace allm::cli {
namespace {

int help_command(const std::vector<std::string>& names, const CommandContext& context) {
  CommandPath path{&context.root};
  for (const std::string& name : names) {
    const CommandSpec* const command = find_command(*path.back(), name);
    if (command == nullptr) {
      context.errors.write(context.errors.paint(Style::red, "allm help:") + " '" + printable(name) +
                           "' is not a command of " + path_text(path) +
                           did_you_mean(name, command_names(*path.back())) + "\n");
      return kUsageError;
    }
    path.push_back(command);
  }
  context.out.write(help_text(path, context.out));
  return 0;
}

}  // namespace

CommandSpec help_spec() {
  auto names = std::make_shared<std::vector<std::string>>();
  return {.name = "help",
          .summary = "Explain a command",
          .options = {{.names = "command",
                       .value = "COMMAND",
                       .help = "The command, such as ask, or sessions list. Default: all commands.",
                       .target = names.get(),
                       .completion = Completion::commands}},
          .exit_codes = {{0, "Success."}, {2, "The command does not exist."}},
          .run = [names](const CommandContext& context) { return help_command(*names, context); }};
}

}  // namespace allm::cli
