// Renders the man pages of all commands with groff and man.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command/man.hpp"
#include "cli/commands.hpp"

namespace allm::cli::man_command_test {
namespace {

namespace fs = std::filesystem;

// The standard output and standard error of a shell command.
std::string output_of(const std::string& line) {
  std::FILE* const pipe = popen((line + " 2>&1 </dev/null").c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), count);
  pclose(pipe);
  return output;
}

bool has_program(const std::string& name) { return std::system(("command -v " + name + " >/dev/null").c_str()) == 0; }

class RenderedManPages : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_program("groff") || !has_program("man")) GTEST_SKIP() << "groff or man is not installed";
    std::string name = (fs::temp_directory_path() / "allm_man_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    for (const ManPage& page : man_pages(root_, "1.2.3")) {
      const fs::path path = folder_ / (page.name + ".1");
      std::ofstream(path, std::ios::binary) << page.text;
      pages_.push_back(path.string());
    }
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  CommandSpec root_ = all_commands();
  fs::path folder_;
  std::vector<std::string> pages_;
};

TEST_F(RenderedManPages, HaveNoWarnings) {
  for (const std::string& page : pages_) EXPECT_EQ(output_of("groff -man -ww -Tutf8 -z " + page), "") << page;
}

// The first words of the lines that begin with an option: "-m, --model".
std::multiset<std::string> rendered_options(const std::string& text) {
  std::multiset<std::string> options;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    line.erase(0, line.find_first_not_of(' '));
    if (line.size() < 2 || line[0] != '-' || line[1] == ' ') continue;
    std::size_t after = line.find(' ');
    while (after != std::string::npos && line[after - 1] == ',') after = line.find(' ', after + 1);
    options.insert(line.substr(0, after));
  }
  return options;
}

std::multiset<std::string> options_in_data(const CommandSpec& spec, bool with_commands) {
  std::multiset<std::string> options = {"-h, --help"};
  for (const OptionSpec& option : spec.options) {
    if (option.positional()) continue;
    std::string names;
    for (const std::string& name : option.each_name()) names += (names.empty() ? "" : ", ") + name;
    options.insert(names);
  }
  for (const CommandSpec& command : spec.commands) {
    if (with_commands && !command.hidden) options.merge(options_in_data(command, true));
  }
  return options;
}

TEST_F(RenderedManPages, HaveExactlyTheOptionsOfTheCommands) {
  const auto rendered = [](const std::string& page) {
    return rendered_options(output_of("LC_ALL=C.UTF-8 MANWIDTH=200 man -l " + page));
  };
  auto options = options_in_data(root_, false);
  options.insert("--version");
  EXPECT_EQ(rendered(folder_ / "allm.1"), options);
  for (const CommandSpec& command : root_.commands) {
    const fs::path page = folder_ / ("allm-" + command.name + ".1");
    EXPECT_EQ(fs::exists(page), !command.hidden) << command.name;
    if (command.hidden) continue;
    EXPECT_EQ(rendered(page), options_in_data(command, true)) << command.name;
  }
}

TEST_F(RenderedManPages, HaveTheSectionsThatManualsHave) {
  const std::string text = output_of("LC_ALL=C.UTF-8 MANWIDTH=100 man -l " + (folder_ / "allm.1").string());
  for (const char* heading : {"NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "ENVIRONMENT", "FILES",
                              "EXIT STATUS", "EXAMPLES", "SEE ALSO"}) {
    EXPECT_THAT(text, ::testing::HasSubstr(std::string("\n") + heading + "\n"));
  }
  for (const char* fact : {"OPENAI_API_KEY", "ALLM_STORE", "NO_COLOR", "sessions.db", "allm-ask(1)"}) {
    EXPECT_THAT(text, ::testing::HasSubstr(fact));
  }
}

}  // namespace
}  // namespace allm::cli::man_command_test
