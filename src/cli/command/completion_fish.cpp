#include <string>
#include <string_view>

#include "cli/command/completion.hpp"

namespace allm::cli {
namespace {

constexpr std::string_view kFishFunctions = R"SCRIPT(
# Whether the command line begins with the commands $argv.
function __NAME_at
    set -l words (commandline -opc)
    set -l index 1
    for command in $argv
        set index (math $index + 1)
        test "$words[$index]" = "$command"; or return 1
    end
end

# Whether the next word of the command line is a command in the command $argv.
function __NAME_needs_command
    set -l words (commandline -opc)
    test (count $words) -eq (math (count $argv) + 1); and __NAME_at $argv
end

function __NAME_values
    command NAME complete $argv[1] 2>/dev/null
end

complete -c NAME -f
complete -c NAME -s h -l help -d 'Print a help text.'
complete -c NAME -n __NAME_needs_command -l version -d 'Print the version.'
)SCRIPT";

std::string fish_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

// What fish offers as the values of an option or argument.
std::string fish_values(const OptionSpec& option, const CommandSpec& root) {
  std::string words;
  for (const std::string& choice : option.choices) words += (words.empty() ? "" : " ") + choice;
  switch (option.completion) {
    case Completion::nothing:
      return words.empty() ? "" : " -a " + fish_quoted(words);
    case Completion::files:
      return " -F";
    case Completion::directories:
      return " -a '(__fish_complete_directories)'";
    case Completion::commands:
      for (const std::string& name : command_names(root)) words += (words.empty() ? "" : " ") + name;
      return " -a " + fish_quoted(words);
    case Completion::models:
      return " -a '(__" + root.name + "_values models)'";
    case Completion::sessions:
      return " -a '(__" + root.name + "_values sessions)'";
  }
  return "";
}

std::string fish_option(const OptionSpec& option, const CommandSpec& root) {
  std::string values = fish_values(option, root);
  if (option.positional()) return values;
  std::string text;
  for (const std::string& name : option.each_name()) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.flag()) text += option.completion == Completion::files ? " -r" : " -x";
  return text + (option.flag() ? "" : values) + " -d " + fish_quoted(option.help);
}

void add_fish_command(const CommandPath& path, std::string& text) {
  const CommandSpec& spec = *path.back();
  std::string commands;
  for (std::size_t i = 1; i < path.size(); ++i) commands += " " + path[i]->name;
  const std::string begin = "complete -c " + path.front()->name + " -n ";
  const std::string function = "__" + path.front()->name;
  for (const CommandSpec& command : spec.commands) {
    if (command.hidden) continue;
    text += begin + fish_quoted(function + "_needs_command" + commands) + " -a " + command.name + " -d " +
            fish_quoted(command.summary) + "\n";
  }
  for (const OptionSpec& option : spec.options) {
    const std::string completed = fish_option(option, *path.front());
    if (!completed.empty()) text += begin + fish_quoted(function + "_at" + commands) + completed + "\n";
  }
}

}  // namespace

std::string fish_completion(const CommandSpec& root) {
  std::string text = "# Completions of " + root.name + " for fish, made by: " + root.name + " completion fish\n" +
                     std::string(kFishFunctions);
  for (std::size_t at = text.find("NAME"); at != std::string::npos; at = text.find("NAME", at)) {
    text.replace(at, 4, root.name);
  }
  each_command(root, [&](const CommandPath& path) { add_fish_command(path, text); });
  return text;
}

}  // namespace allm::cli
