// Commands as data. The parser, the help texts, the man pages and the shell completions are made from these values, so
// that they cannot differ.
//
//   auto arguments = std::make_shared<AskArguments>();
//   CommandSpec spec{.name = "ask", .summary = "Ask a model a question"};
//   spec.options.push_back({.names = "-m,--model", .value = "MODEL", .help = "...", .target = &arguments->model});
//   spec.run = [arguments](const CommandContext& context) { return ask_command(*arguments, context.in, ...); };
//
// All texts are ASCII, so that a byte is a column and man pages need no encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cli/terminal.hpp"

namespace allm::cli {

// The exit code of a command line that is wrong.
inline constexpr int kUsageError = 2;

struct CommandSpec;

// What a command works with. Valid while the command runs.
struct CommandContext {
  std::FILE* in;
  const Terminal& out;
  const Terminal& errors;
  const CommandSpec& root;  // the parent of all commands
  const std::string& version;
};

// Where the parser stores the value of an option. The pointers must outlive the parsing; the arguments they point into
// are usually owned by CommandSpec::run. A bool makes the option a flag, a vector makes it one that may be repeated. A
// function is called once for each value.
using OptionTarget = std::variant<bool*, int*, double*, std::int64_t*, std::size_t*, std::string*,
                                  std::optional<double>*, std::optional<std::int64_t>*, std::optional<std::size_t>*,
                                  std::optional<std::string>*, std::vector<std::string>*,
                                  std::vector<std::filesystem::path>*, std::function<void(const std::string&)>>;

// What a shell offers as the value of an option.
enum class Completion : std::uint8_t { nothing, files, directories, commands, models, sessions };

struct OptionSpec {
  std::string names = {};  // "-m,--model"; a name without dashes is a positional argument
  std::string value = {};  // what stands for the value in help texts: "MODEL"; empty for flags and choices
  std::string help = {};   // sentences
  OptionTarget target = static_cast<bool*>(nullptr);
  bool required = false;
  std::vector<std::string> choices = {};  // if there are any, other values are refused
  std::optional<double> minimum = std::nullopt;
  std::optional<double> maximum = std::nullopt;
  bool show_default = false;  // whether texts show the value that the target has before the parsing
  Completion completion = Completion::nothing;

  bool positional() const { return !names.starts_with('-'); }
  bool flag() const { return std::holds_alternative<bool*>(target); }
  bool repeated() const {
    return std::holds_alternative<std::vector<std::string>*>(target) ||
           std::holds_alternative<std::vector<std::filesystem::path>*>(target);
  }
  // "MODEL", or "thread|worker" for choices.
  std::string value_text() const;
  // The names one by one: "-m" and "--model".
  std::vector<std::string> each_name() const;
  // The name for messages: the last one, which is the long one; the value of a positional argument.
  std::string shown_name() const;
};

struct CommandExample {
  std::string command = {};
  std::string meaning = {};
};

// A heading with terms and their explanations.
struct CommandSection {
  std::string title = {};
  std::vector<std::pair<std::string, std::string>> entries = {};
  bool in_help = true;  // false: only in the man page
};

struct CommandSpec {
  std::string name = {};
  std::string summary = {};      // a phrase without a full stop
  std::string description = {};  // paragraphs, separated by empty lines
  std::vector<OptionSpec> options = {};
  std::vector<CommandSpec> commands = {};  // a command with commands has no positional arguments
  std::vector<CommandExample> examples = {};
  std::vector<std::pair<int, std::string>> exit_codes = {};
  std::vector<CommandSection> sections = {};
  bool hidden = false;  // for commands that scripts use: in no text that is made from the data
  // Looks at options together, after the parsing: the message of an error, or nullopt. May be empty.
  std::function<std::optional<std::string>()> check = {};
  // Runs the command and returns the exit code. Empty: the command needs one of its `commands`.
  std::function<int(const CommandContext&)> run = {};
};

// From the root to a command, never empty.
using CommandPath = std::vector<const CommandSpec*>;

// The value that an option's target has, as texts show it; empty if it has none or if it is not to be shown.
std::string default_text(const OptionSpec& option);

// The explanation of an option in texts: its help, whether it may be repeated, and its default.
std::string explanation_text(const OptionSpec& option);

// The command of that name in `parent`; null if there is none.
const CommandSpec* find_command(const CommandSpec& parent, std::string_view name);

// The names of the commands in `parent` that are not hidden.
std::vector<std::string> command_names(const CommandSpec& parent);

// "allm sessions show".
std::string path_text(const CommandPath& path);

// "allm sessions show [OPTIONS] ID".
std::string usage_text(const CommandPath& path);

// Calls `visit` with the path of every command that is not hidden, parents first.
void each_command(const CommandSpec& root, const std::function<void(const CommandPath&)>& visit);

}  // namespace allm::cli
