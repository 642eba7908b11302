#include <algorithm>
#include <string>
#include <string_view>

#include "cli/command/completion.hpp"
#include "cli/command/quoting.hpp"

namespace allm::cli {
namespace {

// `text` inside the brackets or between the colons of a specification of _arguments.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("[]:\\").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_function(const CommandPath& path) {
  std::string name = "_" + path_text(path);
  std::ranges::replace(name, ' ', '_');
  return name;
}

// ":MODEL: _allm_values models". The space keeps _arguments from adding options to the call.
std::string zsh_value(const OptionSpec& option, const std::string& root) {
  const std::string begin = ":" + zsh_text(option.value.empty() ? "value" : option.value) + ":";
  if (!option.choices.empty()) {
    std::string choices;
    for (const std::string& choice : option.choices) choices += (choices.empty() ? "" : " ") + choice;
    return begin + "(" + choices + ")";
  }
  switch (option.completion) {
    case Completion::nothing:
      return begin + "()";
    case Completion::files:
      return begin + "_files";
    case Completion::directories:
      return begin + "_files -/";
    case Completion::commands:
      return begin + "_" + root + "_commands_of_" + root;
    case Completion::models:
      return begin + " _" + root + "_values models";
    case Completion::sessions:
      return begin + " _" + root + "_values sessions";
  }
  return begin + "()";
}

void add_specification(std::string& list, const std::string& specification) {
  list += " \\\n    " + single_quoted(specification);
}

std::string zsh_named(const OptionSpec& option, const std::string& root) {
  std::string excluded;
  for (const std::string& name : option.each_name()) excluded += (excluded.empty() ? "" : " ") + name;
  std::string list;
  for (const std::string& name : option.each_name()) {
    std::string specification = option.repeated() ? "*" : "(" + excluded + ")";
    specification += name;
    // -mX and -m X, --model=X and --model X.
    if (!option.flag()) specification += name.starts_with("--") ? "=" : "+";
    specification += "[" + zsh_text(option.help) + "]";
    if (!option.flag()) specification += zsh_value(option, root);
    add_specification(list, specification);
  }
  return list;
}

std::string zsh_options(const CommandPath& path) {
  std::string list;
  int position = 1;
  for (const OptionSpec& option : path.back()->options) {
    const std::string& root = path.front()->name;
    if (!option.positional()) {
      list += zsh_named(option, root);
    } else if (option.repeated()) {
      add_specification(list, "*" + zsh_value(option, root));
    } else {
      add_specification(list, std::to_string(position++) + (option.required ? "" : ":") + zsh_value(option, root));
    }
  }
  add_specification(list, "(- *)-h[Print a help text.]");
  add_specification(list, "(- *)--help[Print a help text.]");
  if (path.size() == 1) add_specification(list, "(- *)--version[Print the version.]");
  return list;
}

// "_allm_commands_of_allm", which offers the commands in a command.
std::string zsh_commands_function(const CommandPath& path) {
  std::string name = "_" + path.front()->name + "_commands_of" + zsh_function(path);
  std::string text = name + "()\n{\n  local -a commands=(";
  for (const CommandSpec& command : path.back()->commands) {
    if (!command.hidden) text += "\n    " + single_quoted(zsh_text(command.name) + ":" + command.summary);
  }
  return text + "\n  )\n  _describe -t commands command commands\n}\n\n";
}

std::string zsh_command(const CommandPath& path) {
  const CommandSpec& spec = *path.back();
  const std::string name = zsh_function(path);
  if (spec.commands.empty()) return name + "()\n{\n  _arguments -s -S" + zsh_options(path) + "\n}\n\n";
  std::string text = zsh_commands_function(path) + name +
                     "()\n{\n  local curcontext=$curcontext state line\n  local -A opt_args\n  _arguments -s -S -C" +
                     zsh_options(path) +
                     " \\\n    '1: :->command' '*:: :->arguments'\n  case $state in\n    command) _" +
                     path.front()->name + "_commands_of" + name + " ;;\n    arguments)\n      case $words[1] in\n";
  for (const CommandSpec& command : spec.commands) {
    if (!command.hidden) text += "        " + command.name + ") " + name + "_" + command.name + " ;;\n";
  }
  return text + "      esac ;;\n  esac\n}\n\n";
}

}  // namespace

std::string zsh_completion(const CommandSpec& root) {
  std::string text =
      "#compdef " + root.name + "\n# Completions of " + root.name + " for zsh, made by: " + root.name +
      " completion zsh\n\n# Offers what `" + root.name + " complete $1` prints.\n_" + root.name +
      "_values()\n{\n  local -a found=(\"${(@f)$(command " + root.name +
      " complete $1 -- \"${(Q)PREFIX}\" 2>/dev/null)}\")\n  found=(${found:#})\n  compadd -a found\n}\n\n";
  each_command(root, [&](const CommandPath& path) { text += zsh_command(path); });
  // In a folder of fpath, this file is the function; otherwise it has been sourced.
  return text + "if [[ $funcstack[1] == _" + root.name + " ]]; then\n  _" + root.name + " \"$@\"\nelse\n  compdef _" +
         root.name + " " + root.name + "\nfi\n";
}

}  // namespace allm::cli
