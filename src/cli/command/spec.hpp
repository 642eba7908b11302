// Commands as data. The parser, the help texts, the man pages and the shell completions are made from these values, so
// that they cannot differ.
//
//   auto arguments = std::make_shared<AskArguments>();
//   CommandSpec spec{.name = "ask", .summary = "Ask a model a question"};
//   spec.options.push_back({.names = "-m,--model", .value = "MODEL", .help = "…", .target = &arguments->model});
//   spec.run = [arguments](const CommandStreams& streams) { return ask_command(*arguments, streams); };
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/terminal.hpp"

namespace allm::cli {

// The exit code of a command line that is wrong.
inline constexpr int kUsageError = 2;

// Where a command reads and writes.
struct CommandStreams {
  std::FILE* in;
  const Terminal& out;
  const Terminal& errors;
};

// Where the parser stores the value of an option. The pointers must outlive the parsing; the arguments they point into
// are usually owned by CommandSpec::run. A bool makes the option a flag, a vector makes it one that may be repeated.
using OptionTarget =
    std::variant<bool*, int*, double*, std::int64_t*, std::size_t*, std::string*, std::optional<double>*,
                 std::optional<std::int64_t>*, std::optional<std::size_t>*, std::optional<std::string>*,
                 std::vector<std::string>*, std::function<void(const std::string&)>>;

// What a shell offers as the value of an option.
enum class Completion : std::uint8_t { nothing, files, directories, models, sessions, tools, templates };

struct OptionSpec {
  std::string names = {};  // "-m,--model"; a name without dashes is a positional argument
  std::string value = {};  // what stands for the value in help texts: "MODEL"; empty for flags and choices
  std::string help = {};   // sentences
  OptionTarget target = static_cast<bool*>(nullptr);
  bool required = false;
  std::vector<std::string> choices = {};  // if there are any, other values are refused
  std::optional<double> minimum = std::nullopt;
  std::optional<double> maximum = std::nullopt;
  bool show_default = false;  // whether the help text shows the value that the target has before the parsing
  Completion completion = Completion::nothing;

  bool positional() const { return !names.starts_with('-'); }
  bool flag() const { return std::holds_alternative<bool*>(target); }
  bool repeated() const { return std::holds_alternative<std::vector<std::string>*>(target); }
  // "MODEL", or "thread|worker" for choices.
  std::string value_text() const;
  // The names one by one: "-m" and "--model".
  std::vector<std::string> each_name() const;
};

struct CommandExample {
  std::string command = {};
  std::string meaning = {};
};

// A heading with paragraphs, for the man page and for the help of this command.
struct CommandSection {
  std::string title = {};
  std::vector<std::pair<std::string, std::string>> entries = {};  // a term and its explanation
};

struct CommandSpec {
  std::string name = {};
  std::string summary = {};      // a phrase without a full stop
  std::string description = {};  // paragraphs, separated by empty lines
  std::vector<OptionSpec> options = {};
  std::vector<CommandSpec> commands = {};
  std::vector<CommandExample> examples = {};
  std::vector<std::pair<int, std::string>> exit_codes = {};
  std::vector<CommandSection> sections = {};
  bool hidden = false;  // not in help texts, for commands that scripts use
  // Looks at options together, after the parsing: the message of an error, or nullopt. May be empty.
  std::function<std::optional<std::string>()> check = {};
  // Runs the command and returns the exit code. Empty: the command needs one of its `commands`.
  std::function<int(const CommandStreams&)> run = {};
};

// The value that an option's target has, as it is shown in help texts; empty if it has none.
std::string default_text(const OptionSpec& option);

}  // namespace allm::cli
