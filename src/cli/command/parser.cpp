#include "cli/command/parser.hpp"

#include <map>
#include <type_traits>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command/help.hpp"
#include "cli/command/nearest.hpp"

namespace allm::cli {
namespace {

using Path = std::vector<const CommandSpec*>;

template <class Target>
constexpr bool kIsFunction = std::is_same_v<Target, std::function<void(const std::string&)>>;

// Whether the values of this target are numbers, and whether they are whole.
template <class Target>
constexpr bool kIsWhole = std::is_same_v<Target, int*> || std::is_same_v<Target, std::int64_t*> ||
                          std::is_same_v<Target, std::size_t*> || std::is_same_v<Target, std::optional<std::int64_t>*> ||
                          std::is_same_v<Target, std::optional<std::size_t>*>;
template <class Target>
constexpr bool kIsNumber =
    kIsWhole<Target> || std::is_same_v<Target, double*> || std::is_same_v<Target, std::optional<double>*>;

std::string range_error(const OptionSpec& option, double number) {
  if (option.minimum && number < *option.minimum) return fmt::format("must be at least {}", *option.minimum);
  if (option.maximum && number > *option.maximum) return fmt::format("must be at most {}", *option.maximum);
  return "";
}

std::string number_error(const OptionSpec& option, bool whole, const std::string& value) {
  double number = 0;
  const bool parsed = CLI::detail::lexical_cast(value, number);
  if (!parsed || (whole && number != static_cast<double>(static_cast<std::int64_t>(number)))) {
    return fmt::format("'{}' is not a {}number", printable(value), whole ? "whole " : "");
  }
  return range_error(option, number);
}

std::string choice_error(const OptionSpec& option, const std::string& value) {
  for (const std::string& choice : option.choices) {
    if (choice == value) return "";
  }
  return fmt::format("'{}' is not one of {}{}", printable(value), option.value_text(),
                     did_you_mean(value, option.choices));
}

void add_option(CLI::App& app, const OptionSpec& option) {
  CLI::Option* added = std::visit(
      [&]<class Target>(const Target& target) -> CLI::Option* {
        if constexpr (kIsFunction<Target>) {
          return app.add_option_function<std::string>(option.names, target);
        } else if constexpr (std::is_same_v<Target, bool*>) {
          return app.add_flag(option.names, *target);
        } else {
          CLI::Option* const made = app.add_option(option.names, *target);
          if constexpr (kIsNumber<Target>) {
            made->check([&option](const std::string& value) { return number_error(option, kIsWhole<Target>, value); });
          }
          return made;
        }
      },
      option.target);
  added->required(option.required);
  if (option.repeated() && !option.positional()) added->allow_extra_args(false);
  if (!option.choices.empty()) added->check([&option](const std::string& value) { return choice_error(option, value); });
}

class Parser {
 public:
  Parser(const CommandSpec& root, const std::string& version) : app_("", root.name) {
    app_.set_version_flag("--version", version, "");
    add({&root}, app_);
  }

  int run(int argc, char** argv, const CommandStreams& streams) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      streams.out.write(help_text(current(), streams.out));
      return 0;
    } catch (const CLI::CallForVersion& version) {
      streams.out.write(std::string(version.what()) + "\n");
      return 0;
    } catch (const CLI::ParseError& error) {
      return refuse(explain(error), streams);
    }
    const CommandSpec& spec = *current().back();
    if (spec.check) {
      if (const std::optional<std::string> message = spec.check()) return refuse(*message, streams);
    }
    if (!spec.run) {
      streams.errors.write(help_text(current(), streams.errors));
      return kUsageError;
    }
    return spec.run(streams);
  }

 private:
  void add(const Path& path, CLI::App& app) {
    const CommandSpec& spec = *path.back();
    paths_[&app] = path;
    app.set_help_flag("-h,--help", "");
    for (const OptionSpec& option : spec.options) add_option(app, option);
    for (const CommandSpec& command : spec.commands) {
      Path longer = path;
      longer.push_back(&command);
      add(longer, *app.add_subcommand(command.name));
    }
  }

  // The command that was recognised last.
  const CLI::App& current_app() const {
    const CLI::App* app = &app_;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().back();
    return *app;
  }
  const Path& current() const { return paths_.at(&current_app()); }

  std::string explain(const CLI::ParseError& error) const {
    if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return error.what();
    const std::vector<std::string> left = current_app().remaining(true);
    if (left.empty()) return error.what();
    const std::string& word = left.front();
    const CommandSpec& spec = *current().back();
    std::vector<std::string> names;
    const bool is_option = word.size() > 1 && word.starts_with('-');
    if (is_option) {
      for (const OptionSpec& option : spec.options) {
        for (const std::string& name : option.each_name()) names.push_back(name);
      }
      names.emplace_back("--help");
      const std::string name = word.substr(0, word.find('='));
      return fmt::format("{} is not an option{}", printable(name), did_you_mean(name, names));
    }
    if (spec.commands.empty()) return fmt::format("'{}' is one argument too many", printable(word));
    for (const CommandSpec& command : spec.commands) {
      if (!command.hidden) names.push_back(command.name);
    }
    return fmt::format("'{}' is not a command{}", printable(word), did_you_mean(word, names));
  }

  int refuse(const std::string& message, const CommandStreams& streams) const {
    const std::string name = path_text(current());
    streams.errors.write(streams.errors.paint(Style::red, name + ":") + " " + printable_lines(message) + "\nTry '" +
                         name + " --help'.\n");
    return kUsageError;
  }

  CLI::App app_;
  std::map<const CLI::App*, Path> paths_;
};

}  // namespace

int run_command_line(const CommandSpec& root, const std::string& version, int argc, char** argv,
                     const CommandStreams& streams) {
  return Parser(root, version).run(argc, argv, streams);
}

}  // namespace allm::cli
