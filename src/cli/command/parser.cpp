// The only file that includes CLI11. CLI11 finds options, their values and positional arguments in a command line. It
// knows one command at a time: this file finds the command, and converts and checks all values.
#include "cli/command/parser.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command/help.hpp"
#include "cli/command/nearest.hpp"

namespace allm::cli {
namespace {

// The message of an error; nullopt: it worked.
using Refusal = std::optional<std::string>;

Refusal range_error(const OptionSpec& option, double number) {
  if (option.minimum && number < *option.minimum) return fmt::format("must be at least {}", *option.minimum);
  if (option.maximum && number > *option.maximum) return fmt::format("must be at most {}", *option.maximum);
  return std::nullopt;
}

template <class Number>
Refusal store_number(const OptionSpec& option, const std::string& text, Number& target) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool all = end == text.data() + text.size();
  if (all && error == std::errc::result_out_of_range) return fmt::format("'{}' is too large", printable(text));
  if (!all || error != std::errc{} || !std::isfinite(static_cast<double>(number))) {
    const char* kind = "a number";
    if (std::is_integral_v<Number>) kind = std::is_unsigned_v<Number> ? "a whole number from 0" : "a whole number";
    return fmt::format("'{}' is not {}", printable(text), kind);
  }
  if (auto refusal = range_error(option, static_cast<double>(number))) return refusal;
  target = number;
  return std::nullopt;
}

Refusal store_value(const OptionSpec& option, const std::string& text) {
  if (!option.choices.empty() && std::ranges::find(option.choices, text) == option.choices.end()) {
    return fmt::format("'{}' is not one of {}{}", printable(text), option.value_text(),
                       did_you_mean(text, option.choices));
  }
  return std::visit(
      [&]<class Target>(const Target& target) -> Refusal {
        if constexpr (std::is_same_v<Target, bool*>) {
          *target = true;
        } else if constexpr (std::is_same_v<Target, std::function<void(const std::string&)>>) {
          target(text);
        } else if constexpr (std::is_same_v<Target, std::string*> ||
                             std::is_same_v<Target, std::optional<std::string>*>) {
          *target = text;
        } else if constexpr (requires { target->emplace_back(text); }) {
          target->emplace_back(text);
        } else if constexpr (requires { target->value(); }) {
          return store_number(option, text, target->emplace());
        } else {
          return store_number(option, text, *target);
        }
        return std::nullopt;
      },
      option.target);
}

// An option and the values that the command line gives it.
struct GivenOption {
  const OptionSpec* option;
  std::vector<std::string> values = {};
};

Refusal store_values(const GivenOption& given) {
  const OptionSpec& option = *given.option;
  if (given.values.empty() && option.required) {
    return option.positional() ? option.value_text() + " is missing"
                               : fmt::format("{} {} is missing", option.shown_name(), option.value_text());
  }
  const bool many = option.repeated() || option.flag() ||
                    std::holds_alternative<std::function<void(const std::string&)>>(option.target);
  if (given.values.size() > 1 && !many) return option.shown_name() + " is given more than once";
  for (const std::string& value : given.values) {
    if (const Refusal refusal = store_value(option, value)) return option.shown_name() + ": " + *refusal;
  }
  return std::nullopt;
}

// "-x" and "--x", but not "-", "-5" and "-.5".
bool looks_like_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && std::string_view("0123456789.").find(word[1]) == std::string_view::npos;
}

Refusal unknown_option(const CommandSpec& spec, const std::string& word) {
  std::vector<std::string> names = {"--help"};
  for (const OptionSpec& option : spec.options) {
    if (!option.positional()) std::ranges::copy(option.each_name(), std::back_inserter(names));
  }
  const std::string name = word.starts_with("--") ? word.substr(0, word.find('=')) : word;
  return fmt::format("{} is not an option{}", printable(name), did_you_mean(name, names));
}

const OptionSpec* option_named(const CommandSpec& spec, std::string_view name) {
  for (const OptionSpec& option : spec.options) {
    const std::vector<std::string> names = option.each_name();
    if (!option.positional() && std::ranges::find(names, name) != names.end()) return &option;
  }
  return nullptr;
}

// CLI11 takes the next argument as the value in "--name=". This makes "--name" and "" of it.
std::vector<std::string> with_empty_values(const CommandSpec& spec, std::span<const std::string> arguments) {
  const auto takes_value = [&](std::string_view name) {
    const OptionSpec* option = option_named(spec, name);
    return option != nullptr && !option->flag();
  };
  std::vector<std::string> changed;
  bool is_value = false;
  bool after_mark = false;
  for (const std::string& word : arguments) {
    after_mark = after_mark || (word == "--" && !is_value);
    const bool empty = !is_value && !after_mark && word.ends_with('=') && takes_value(word.substr(0, word.size() - 1));
    changed.push_back(empty ? word.substr(0, word.size() - 1) : word);
    if (empty) changed.emplace_back();
    is_value = !is_value && !after_mark && takes_value(word);
  }
  return changed;
}

// What one command's part of a command line contains.
class CommandLine {
 public:
  explicit CommandLine(const CommandPath& path, const std::string& version) : spec_(*path.back()) {
    app_.set_help_flag("-h,--help", "")->disable_flag_override();
    if (path.size() == 1) {
      app_.set_version_flag("--version", path.front()->name + " " + version, "")->disable_flag_override();
    }
    app_.allow_extras();
    for (const OptionSpec& option : spec_.options) {
      CLI::Option* added = nullptr;
      if (option.flag()) {
        added = app_.add_flag(option.names)->disable_flag_override();
      } else if (!option.positional()) {
        added = app_.add_option(option.names)->expected(1, -1)->allow_extra_args(false);
      }
      added_.push_back(added);
    }
  }

  // Throws what CLI11 throws: CLI::CallForHelp, CLI::CallForVersion, CLI::ParseError.
  void parse(std::vector<std::string> arguments) {
    std::ranges::reverse(arguments);
    app_.parse(std::move(arguments));
  }

  // What CLI11 refuses: an option without its value, and a flag with one.
  std::string explain(const CLI::ParseError& error) const {
    const std::string text = error.what();
    const std::string name = text.substr(0, text.find_first_of(": "));
    const OptionSpec* const option = option_named(spec_, name);
    // CLI11 names flags without their dashes.
    if (option == nullptr) return "--" + printable(name) + " takes no value";
    return fmt::format("{} needs a value: {}", name, option->value_text());
  }

  // Stores the values in the targets of the options.
  Refusal store() const {
    std::vector<GivenOption> all;
    for (std::size_t i = 0; i < added_.size(); ++i) {
      all.push_back({&spec_.options[i]});
      if (added_[i] != nullptr) all.back().values = added_[i]->results();
    }
    if (Refusal refusal = sort_positionals(all)) return refusal;
    for (const GivenOption& given : all) {
      if (Refusal refusal = store_values(given)) return refusal;
    }
    return spec_.check ? spec_.check() : std::nullopt;
  }

 private:
  // The words that CLI11 left over are positional arguments and unknown options.
  Refusal sort_positionals(std::vector<GivenOption>& all) const {
    auto next = all.begin();
    bool after_mark = false;
    for (const std::string& word : app_.remaining()) {
      if (!after_mark && word == "--") {
        after_mark = true;
        continue;
      }
      if (!after_mark && looks_like_option(word)) return unknown_option(spec_, word);
      next = std::find_if(next, all.end(), [](const GivenOption& given) {
        return given.option->positional() && (given.values.empty() || given.option->repeated());
      });
      if (next == all.end()) return fmt::format("'{}' is one argument too many", printable(word));
      next->values.push_back(word);
    }
    return std::nullopt;
  }

  const CommandSpec& spec_;
  CLI::App app_;
  std::vector<CLI::Option*> added_;  // one for each option of the command; null for positional arguments
};

int refuse(const CommandPath& path, const std::string& message, const CommandContext& context) {
  const std::string name = path_text(path);
  context.errors.write(context.errors.paint(Style::red, name + ":") + " " + printable_lines(message) + "\nTry '" +
                       name + " --help'.\n");
  return kUsageError;
}

int run_command(const CommandPath& path, std::span<const std::string> arguments, const CommandContext& context) {
  const CommandSpec& spec = *path.back();
  CommandLine line(path, context.version);
  try {
    line.parse(with_empty_values(spec, arguments));
  } catch (const CLI::CallForHelp&) {
    context.out.write(help_text(path, context.out));
    return 0;
  } catch (const CLI::CallForVersion& version) {
    context.out.write(std::string(version.what()) + "\n");
    return 0;
  } catch (const CLI::ParseError& error) {
    return refuse(path, line.explain(error), context);
  }
  if (const Refusal refusal = line.store()) return refuse(path, *refusal, context);
  if (spec.run) return spec.run(context);
  context.errors.write(help_text(path, context.errors));
  return kUsageError;
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments, const CommandContext& context) {
  CommandPath path{&context.root};
  std::span<const std::string> rest = arguments;
  while (!path.back()->commands.empty() && !rest.empty() && !rest.front().starts_with('-')) {
    const CommandSpec* const command = find_command(*path.back(), rest.front());
    if (command == nullptr) {
      return refuse(path,
                    fmt::format("'{}' is not a command{}", printable(rest.front()),
                                did_you_mean(rest.front(), command_names(*path.back()))),
                    context);
    }
    path.push_back(command);
    rest = rest.subspan(1);
  }
  return run_command(path, rest, context);
}

}  // namespace allm::cli
