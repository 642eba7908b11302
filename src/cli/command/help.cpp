#include "cli/command/help.hpp"

#include <algorithm>
#include <string_view>

namespace allm::cli {
namespace {

constexpr std::size_t kWidest = 100;
constexpr std::size_t kNarrowest = 20;

class HelpWriter {
 public:
  explicit HelpWriter(const Terminal& out)
      : out_(out),
        width_(out.columns() == 0 ? kWidest : std::clamp<std::size_t>(out.columns(), kNarrowest, kWidest)),
        column_(width_ < 70 ? 8 : 28) {}

  const std::string& text() const { return text_; }
  std::string bold(std::string_view text) const { return out_.paint(Style::bold, text); }

  void heading(const std::string& title) { text_ += "\n" + bold(title + ":") + "\n"; }

  // A text that begins in `column` of a line that has been started. Its other lines are indented by `indent`.
  void wrapped(std::string_view text, std::size_t indent, std::size_t column) {
    bool first = true;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
      const std::string_view word = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (word.empty()) continue;
      if (!first && column + 1 + word.size() > width_) {
        text_ += "\n" + std::string(indent, ' ');
        column = indent;
      } else if (!first) {
        text_ += ' ';
        ++column;
      }
      text_ += word;
      column += word.size();
      first = false;
    }
    text_ += '\n';
  }

  void paragraphs(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find("\n\n"), text.size());
      text_ += '\n';
      wrapped(text.substr(0, end), 0, 0);
      text.remove_prefix(std::min(end + 2, text.size()));
    }
  }

  // A term and its explanation, which begins in column_ or, after a long term, in the next line.
  void entry(const std::string& term, const std::string& explanation) {
    text_ += "  ";
    std::size_t column = 2 + term.size();
    if (column > width_) {
      wrapped(term, 4, 2);
      text_.pop_back();
      column = width_;
    } else {
      text_ += term;
    }
    text_ += column + 2 > column_ ? "\n" + std::string(column_, ' ') : std::string(column_ - column, ' ');
    wrapped(explanation, column_, column_);
  }

  void write(std::string_view text) { text_ += text; }

 private:
  const Terminal& out_;
  std::size_t width_;
  std::size_t column_;  // of explanations
  std::string text_;
};

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

void write_options(HelpWriter& writer, const CommandPath& path) {
  const CommandSpec& spec = *path.back();
  const auto write = [&](bool positional) {
    for (const OptionSpec& option : spec.options) {
      if (option.positional() == positional) writer.entry(option_term(option), explanation_text(option));
    }
  };
  if (std::ranges::any_of(spec.options, &OptionSpec::positional)) {
    writer.heading("Arguments");
    write(true);
  }
  writer.heading("Options");
  write(false);
  writer.entry("-h, --help", "Print this help.");
  if (path.size() == 1) writer.entry("    --version", "Print the version.");
}

void write_examples(HelpWriter& writer, const CommandSpec& spec) {
  if (spec.examples.empty()) return;
  writer.heading("Examples");
  for (const CommandExample& example : spec.examples) {
    writer.write("  " + example.command + "\n      ");
    writer.wrapped(example.meaning, 6, 6);
  }
}

}  // namespace

std::string help_text(const CommandPath& path, const Terminal& out) {
  const CommandSpec& spec = *path.back();
  HelpWriter writer(out);
  writer.wrapped(spec.summary + ".", 0, 0);
  writer.write("\n" + writer.bold("Usage:") + " ");
  writer.wrapped(usage_text(path), 9, 7);
  writer.paragraphs(spec.description);
  if (!command_names(spec).empty()) {
    writer.heading("Commands");
    for (const CommandSpec& command : spec.commands) {
      if (!command.hidden) writer.entry(command.name, command.summary + ".");
    }
  }
  write_options(writer, path);
  for (const CommandSection& section : spec.sections) {
    if (!section.in_help) continue;
    writer.heading(section.title);
    for (const auto& [term, explanation] : section.entries) writer.entry(term, explanation);
  }
  write_examples(writer, spec);
  if (!spec.exit_codes.empty()) {
    writer.heading("Exit codes");
    for (const auto& [code, meaning] : spec.exit_codes) writer.entry(std::to_string(code), meaning);
  }
  return writer.text();
}

}  // namespace allm::cli
