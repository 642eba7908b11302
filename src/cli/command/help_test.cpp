#include "cli/command/help.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands.hpp"

namespace allm::cli::help_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A command that does not change with those of allm.
CommandSpec example_command(std::string& model, bool& json, std::int64_t& turns, std::vector<std::string>& files) {
  CommandSpec spec{.name = "ask",
                   .summary = "Ask a model",
                   .description =
                       "The question is followed by piped input, if there is any, and by the contents of the "
                       "files that are named.\n\nOnly the answer is printed."};
  spec.options = {
      {.names = "file", .value = "FILE", .help = "Files to add.", .target = &files},
      {.names = "-m,--model", .value = "MODEL", .help = "The model.", .target = &model, .required = true},
      {.names = "--json", .help = "Print JSON lines.", .target = &json},
      {.names = "--the-most-turns-of-a-run", .value = "N", .help = "A limit.", .target = &turns, .show_default = true}};
  spec.examples = {{"ask -m x notes.txt", "Ask about a file."}};
  spec.exit_codes = {{0, "The model has answered."}};
  spec.sections = {{.title = "Models", .entries = {{"demo", "Needs no key."}}},
                   {.title = "Files", .entries = {{"ask.toml", "Settings."}}, .in_help = false}};
  return spec;
}

std::string example_help(const Terminal& out) {
  std::string model;
  bool json = false;
  std::int64_t turns = 8;
  std::vector<std::string> files;
  const CommandSpec spec = example_command(model, json, turns, files);
  const CommandSpec root{.name = "tool"};
  return help_text({&root, &spec}, out);
}

TEST(Help, HasAllPartsOfACommand) {
  EXPECT_EQ(example_help(Terminal(stdout, false, false)),
            R"(Ask a model.

Usage: tool ask [OPTIONS] [FILE...]

The question is followed by piped input, if there is any, and by the contents of the files that are
named.

Only the answer is printed.

Arguments:
  FILE...                   Files to add.

Options:
  -m, --model MODEL         The model.
      --json                Print JSON lines.
      --the-most-turns-of-a-run N
                            A limit. Default: 8.
  -h, --help                Print this help.

Models:
  demo                      Needs no key.

Examples:
  ask -m x notes.txt
      Ask about a file.

Exit codes:
  0                         The model has answered.
)");
}

TEST(Help, FitsANarrowTerminal) {
  const std::string text = example_help(Terminal(stdout, true, false, 40));
  EXPECT_THAT(text, HasSubstr(R"(
The question is followed by piped input,
if there is any, and by the contents of
the files that are named.
)"));
  EXPECT_THAT(text, HasSubstr("\n  -m, --model MODEL\n        The model.\n"));
}

TEST(Help, OnlyATerminalWithColoursHasBoldHeadings) {
  EXPECT_THAT(example_help(Terminal(stdout, true, true, 80)), HasSubstr("\n\x1b[1mOptions:\x1b[0m\n"));
  EXPECT_THAT(example_help(Terminal(stdout, true, false, 80)), Not(HasSubstr("\x1b")));
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

TEST(Help, EveryCommandFits) {
  const CommandSpec root = all_commands();
  each_command(root, [](const CommandPath& path) {
    EXPECT_LE(longest_line(help_text(path, Terminal(stdout, false, false))), 100U) << path_text(path);
    EXPECT_LE(longest_line(help_text(path, Terminal(stdout, true, false, 300))), 100U) << path_text(path);
    EXPECT_LE(longest_line(help_text(path, Terminal(stdout, true, false, 81))), 81U) << path_text(path);
    static_cast<void>(help_text(path, Terminal(stdout, true, false, 1)));
  });
}

bool is_ascii(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
}

TEST(Help, EveryCommandIsDescribed) {
  const CommandSpec root = all_commands();
  each_command(root, [](const CommandPath& path) {
    const CommandSpec& spec = *path.back();
    EXPECT_TRUE(is_ascii(help_text(path, Terminal(stdout, false, false)))) << path_text(path);
    EXPECT_FALSE(spec.summary.empty() || spec.summary.ends_with('.')) << path_text(path);
    EXPECT_TRUE(spec.run || !spec.commands.empty()) << path_text(path);
    if (spec.run) {
      EXPECT_FALSE(spec.exit_codes.empty()) << path_text(path);
    }
    bool positional = false;
    for (const OptionSpec& option : spec.options) {
      EXPECT_TRUE(option.help.ends_with('.')) << path_text(path) << " " << option.names << ": help is sentences";
      EXPECT_EQ(option.value_text().empty(), option.flag()) << path_text(path) << " " << option.names;
      positional = positional || option.positional();
    }
    EXPECT_FALSE(positional && !spec.commands.empty()) << path_text(path);
  });
}

}  // namespace
}  // namespace allm::cli::help_test
