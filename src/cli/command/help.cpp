#include "cli/command/help.hpp"

#include <algorithm>
#include <string_view>

namespace allm::cli {
namespace {

constexpr std::size_t kWidth = 100;
// Explanations begin in this column; longer terms have a line of their own.
constexpr std::size_t kColumn = 28;

// Wraps `text` at spaces; every line but the first is indented. Line feeds in `text` begin new lines.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t column) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    if (column > indent && column + 1 + word.size() > kWidth) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
    if (end < text.size() && text[end] == '\n') {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string entry(const std::string& term, const std::string& explanation) {
  std::string line = "  " + term;
  if (line.size() + 2 > kColumn) {
    line += "\n" + std::string(kColumn, ' ');
  } else {
    line += std::string(kColumn - line.size(), ' ');
  }
  return line + wrapped(explanation, kColumn, kColumn) + "\n";
}

std::string option_term(const OptionSpec& option) {
  if (option.positional()) return option.value_text() + (option.repeated() ? "..." : "");
  std::string term;
  for (const std::string& name : option.each_name()) {
    // A long name is aligned behind the column of short ones.
    if (term.empty() && name.starts_with("--")) term = "    ";
    term += (term.empty() || term.ends_with("  ") ? "" : ", ") + name;
  }
  return option.flag() ? term : term + " " + option.value_text();
}

std::string option_help(const OptionSpec& option) {
  const std::string shown = default_text(option);
  std::string text = option.help;
  if (option.repeated() && !option.positional()) text += " May be repeated.";
  if (!shown.empty()) text += " Default: " + shown + ".";
  return text;
}

std::string heading(const std::string& title, const Terminal& out) {
  return "\n" + out.paint(Style::bold, title + ":") + "\n";
}

std::string paragraphs(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\n\n"), text.size());
    result += "\n" + wrapped(text.substr(0, end), 0, 0) + "\n";
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return result;
}

std::string options_of(const CommandSpec& spec, const Terminal& out) {
  std::string positional;
  std::string named;
  for (const OptionSpec& option : spec.options) {
    (option.positional() ? positional : named) += entry(option_term(option), option_help(option));
  }
  named += entry("-h, --help", "Print this help.");
  return (positional.empty() ? "" : heading("Arguments", out) + positional) + heading("Options", out) + named;
}

}  // namespace

std::string path_text(const std::vector<const CommandSpec*>& path) {
  std::string text;
  for (const CommandSpec* spec : path) text += (text.empty() ? "" : " ") + spec->name;
  return text;
}

std::string usage_text(const std::vector<const CommandSpec*>& path) {
  const CommandSpec& spec = *path.back();
  std::string text = path_text(path);
  const bool has_named = std::any_of(spec.options.begin(), spec.options.end(),
                                     [](const OptionSpec& option) { return !option.positional(); });
  if (has_named) text += " [OPTIONS]";
  for (const OptionSpec& option : spec.options) {
    if (!option.positional()) continue;
    const std::string value = option.value_text() + (option.repeated() ? "..." : "");
    text += option.required ? " " + value : " [" + value + "]";
  }
  if (!spec.commands.empty()) text += spec.run ? " [COMMAND]" : " COMMAND";
  return text;
}

std::string help_text(const std::vector<const CommandSpec*>& path, const Terminal& out) {
  const CommandSpec& spec = *path.back();
  std::string text = wrapped(spec.summary + ".", 0, 0) + "\n\n" + out.paint(Style::bold, "Usage:") + " " +
                     usage_text(path) + "\n" + paragraphs(spec.description);
  std::string commands;
  for (const CommandSpec& command : spec.commands) {
    if (!command.hidden) commands += entry(command.name, command.summary);
  }
  if (!commands.empty()) text += heading("Commands", out) + commands;
  text += options_of(spec, out);
  for (const CommandSection& section : spec.sections) {
    text += heading(section.title, out);
    for (const auto& [term, explanation] : section.entries) text += entry(term, explanation);
  }
  if (!spec.examples.empty()) {
    text += heading("Examples", out);
    for (const CommandExample& example : spec.examples) {
      text += "  " + example.command + "\n      " + wrapped(example.meaning, 6, 6) + "\n";
    }
  }
  if (!spec.exit_codes.empty()) {
    text += heading("Exit codes", out);
    for (const auto& [code, meaning] : spec.exit_codes) text += entry(std::to_string(code), meaning);
  }
  return text;
}

}  // namespace allm::cli
