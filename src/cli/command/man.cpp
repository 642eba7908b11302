#include "cli/command/man.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace allm::cli {
namespace {

// The text with everything escaped that roff would interpret.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\(rs";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      case '"':
        result += "\\(dq";
        break;
      default:
        result += c;
    }
  }
  // A dot at the beginning of a line would make it a request.
  return result.starts_with('.') ? "\\&" + result : result;
}

std::string bold(std::string_view text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fR"; }

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
  return text;
}

std::string paragraphs(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\n\n"), text.size());
    result += (result.empty() ? "" : ".PP\n") + escaped(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return result;
}

std::string term(const std::string& roff_term, std::string_view explanation) {
  return ".TP\n" + roff_term + "\n" + escaped(explanation) + "\n";
}

// The choices "thread|worker" are literal, other values stand for something.
std::string value_of(const OptionSpec& option) {
  return option.choices.empty() ? italic(option.value) : bold(option.value_text());
}

std::string option_entry(const OptionSpec& option) {
  std::string names;
  if (option.positional()) {
    names = value_of(option) + (option.repeated() ? "..." : "");
  } else {
    for (const std::string& name : option.each_name()) names += (names.empty() ? "" : ", ") + bold(name);
    if (!option.flag()) names += " " + value_of(option);
  }
  return term(names, explanation_text(option));
}

std::string options_of(const CommandPath& path) {
  std::string positional;
  std::string named;
  for (const OptionSpec& option : path.back()->options) {
    (option.positional() ? positional : named) += option_entry(option);
  }
  named += term(bold("-h") + ", " + bold("--help"), "Print a help text.");
  if (path.size() == 1) named += term(bold("--version"), "Print the version.");
  return positional + named;
}

std::string examples_of(const CommandSpec& spec) {
  std::string text;
  for (const CommandExample& example : spec.examples) {
    text += ".PP\n" + escaped(example.meaning) + "\n.PP\n.RS 4\n.nf\n" + escaped(example.command) + "\n.fi\n.RE\n";
  }
  return text;
}

// The commands of the command of a page, with their options, as subsections.
void write_subsections(CommandPath& path, std::string& text) {
  for (const CommandSpec& command : path.back()->commands) {
    if (command.hidden) continue;
    path.push_back(&command);
    text += ".SS " + escaped(path_text(path)) + "\n" + escaped(command.summary + ".") + "\n";
    if (!command.description.empty()) text += ".PP\n" + paragraphs(command.description);
    text += ".PP\n" + bold(usage_text(path)) + "\n" + options_of(path) + examples_of(command);
    write_subsections(path, text);
    path.pop_back();
  }
}

std::string page_name(const CommandPath& path) {
  std::string name = path_text(path);
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string see_also(const CommandPath& path) {
  std::string text;
  if (path.size() > 1) return bold(path.front()->name) + "(1)\n";
  for (const std::string& name : command_names(*path.front())) {
    text += (text.empty() ? "" : ",\n") + bold(path.front()->name + "-" + name) + "(1)";
  }
  return text + "\n";
}

std::string synopsis(CommandPath& path) {
  if (path.back()->commands.empty()) return bold(usage_text(path)) + "\n";
  std::string text;
  for (const CommandSpec& command : path.back()->commands) {
    if (command.hidden) continue;
    path.push_back(&command);
    text += (text.empty() ? "" : ".br\n") + bold(usage_text(path)) + "\n";
    path.pop_back();
  }
  return text;
}

std::string man_page(CommandPath path, const std::string& version) {
  const CommandSpec& spec = *path.back();
  const std::string name = page_name(path);
  std::string text = ".TH " + escaped(upper(name)) + " 1 \"\" \"" + escaped(path.front()->name + " " + version) +
                     "\" \"User Commands\"\n.nh\n.SH NAME\n" + escaped(name) + " \\- " + escaped(spec.summary) +
                     "\n.SH SYNOPSIS\n" + synopsis(path) + ".SH DESCRIPTION\n" +
                     paragraphs(spec.description.empty() ? spec.summary + "." : spec.description);
  if (path.size() > 1) {
    if (!spec.commands.empty()) text += ".SH COMMANDS\n";
    write_subsections(path, text);
  } else {
    text += ".SH COMMANDS\n";
    for (const CommandSpec& command : spec.commands) {
      if (!command.hidden) text += term(bold(command.name), command.summary + ".");
    }
  }
  text += ".SH OPTIONS\n" + options_of(path);
  for (const CommandSection& section : spec.sections) {
    text += ".SH " + escaped(upper(section.title)) + "\n";
    for (const auto& [name_of_entry, explanation] : section.entries) text += term(bold(name_of_entry), explanation);
  }
  if (!spec.exit_codes.empty()) {
    text += ".SH EXIT STATUS\n";
    for (const auto& [code, meaning] : spec.exit_codes) text += term(bold(std::to_string(code)), meaning);
  }
  if (!spec.examples.empty()) text += ".SH EXAMPLES\n" + examples_of(spec);
  return text + ".SH SEE ALSO\n" + see_also(path);
}

}  // namespace

std::vector<ManPage> man_pages(const CommandSpec& root, const std::string& version) {
  std::vector<ManPage> pages;
  each_command(root, [&](const CommandPath& path) {
    if (path.size() <= 2) pages.push_back({page_name(path), man_page(path, version)});
  });
  return pages;
}

}  // namespace allm::cli
