#include "cli/command/spec.hpp"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

namespace allm::cli {
namespace {

void visit_commands(CommandPath& path, const std::function<void(const CommandPath&)>& visit) {
  if (path.back()->hidden) return;
  visit(path);
  for (const CommandSpec& command : path.back()->commands) {
    path.push_back(&command);
    visit_commands(path, visit);
    path.pop_back();
  }
}

std::string argument_text(const OptionSpec& option) {
  const std::string value = option.value_text() + (option.repeated() ? "..." : "");
  return option.required ? value : "[" + value + "]";
}

}  // namespace

std::string OptionSpec::value_text() const {
  if (choices.empty()) return value;
  std::string text;
  for (const std::string& choice : choices) text += (text.empty() ? "" : "|") + choice;
  return text;
}

std::vector<std::string> OptionSpec::each_name() const {
  std::vector<std::string> found;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t comma = std::min(names.find(',', begin), names.size());
    found.push_back(names.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return found;
}

std::string OptionSpec::shown_name() const { return positional() ? value_text() : each_name().back(); }

std::string default_text(const OptionSpec& option) {
  if (!option.show_default) return "";
  return std::visit(
      [](const auto& target) -> std::string {
        using Target = std::remove_cvref_t<decltype(target)>;
        if constexpr (std::is_same_v<Target, int*> || std::is_same_v<Target, double*> ||
                      std::is_same_v<Target, std::int64_t*> || std::is_same_v<Target, std::size_t*> ||
                      std::is_same_v<Target, std::string*>) {
          return fmt::format("{}", *target);
        } else {
          return "";
        }
      },
      option.target);
}

std::string explanation_text(const OptionSpec& option) {
  const std::string shown = default_text(option);
  std::string text = option.help;
  if (option.repeated() && !option.positional()) text += " May be repeated.";
  if (!shown.empty()) text += " Default: " + shown + ".";
  return text;
}

const CommandSpec* find_command(const CommandSpec& parent, std::string_view name) {
  const auto found = std::find_if(parent.commands.begin(), parent.commands.end(),
                                  [&](const CommandSpec& command) { return command.name == name; });
  return found == parent.commands.end() ? nullptr : &*found;
}

std::vector<std::string> command_names(const CommandSpec& parent) {
  std::vector<std::string> names;
  for (const CommandSpec& command : parent.commands) {
    if (!command.hidden) names.push_back(command.name);
  }
  return names;
}

std::string path_text(const CommandPath& path) {
  std::string text;
  for (const CommandSpec* spec : path) text += (text.empty() ? "" : " ") + spec->name;
  return text;
}

std::string usage_text(const CommandPath& path) {
  const CommandSpec& spec = *path.back();
  std::string text = path_text(path);
  const bool has_named = std::any_of(spec.options.begin(), spec.options.end(),
                                     [](const OptionSpec& option) { return !option.positional(); });
  if (has_named) text += " [OPTIONS]";
  for (const OptionSpec& option : spec.options) {
    if (option.positional()) text += " " + argument_text(option);
  }
  if (!spec.commands.empty()) text += spec.run ? " [COMMAND]" : " COMMAND";
  return text;
}

void each_command(const CommandSpec& root, const std::function<void(const CommandPath&)>& visit) {
  CommandPath path{&root};
  visit_commands(path, visit);
}

}  // namespace allm::cli
