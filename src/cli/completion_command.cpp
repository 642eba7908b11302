#include "cli/completion_command.hpp"

#include <memory>
#include <string>

#include "cli/command/completion.hpp"

namespace allm::cli {

CommandSpec completion_spec() {
  auto shell = std::make_shared<std::string>();
  CommandSpec spec{.name = "completion",
                   .summary = "Print the completion script of a shell",
                   .description = "An installed allm has these scripts where the shells look for them.",
                   .options = {{.names = "shell",
                                .help = "The shell.",
                                .target = shell.get(),
                                .required = true,
                                .choices = {"bash", "zsh", "fish"}}},
                   .examples = {{"source <(allm completion bash)", "Complete commands in this bash."},
                                {"allm completion fish > ~/.config/fish/completions/allm.fish",
                                 "Complete commands in fish from now on."}},
                   .exit_codes = {{0, "Success."}, {2, "The command line is wrong."}}};
  spec.run = [shell](const CommandContext& context) {
    const auto script = *shell == "bash" ? bash_completion : *shell == "zsh" ? zsh_completion : fish_completion;
    context.out.write(script(context.root));
    return 0;
  };
  return spec;
}

}  // namespace allm::cli
