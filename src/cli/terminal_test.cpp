#include "cli/terminal.hpp"

#include <cstdio>

#include <gtest/gtest.h>

namespace allm::cli::terminal_test {
namespace {

TEST(Terminal, PaintsOnlyWhereColoursAreWanted) {
  EXPECT_EQ(Terminal(stdout, true, true).paint(Style::red, "x"), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(Terminal(stdout, true, true).paint(Style::plain, "x"), "x");
  EXPECT_EQ(Terminal(stdout, true, true).paint(Style::red, ""), "");
  EXPECT_EQ(Terminal(stdout, true, false).paint(Style::red, "x"), "x");
}

TEST(Terminal, AFileIsNeitherWatchedNorPainted) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const Terminal terminal(file);
  EXPECT_FALSE(terminal.interactive());
  EXPECT_EQ(terminal.paint(Style::bold, "x"), "x");
  std::fclose(file);
}

TEST(Terminal, ControlCharactersDoNotReachIt) {
  EXPECT_EQ(printable("a\x1b[31m\nb\x7f"), "a [31m b ");
  EXPECT_EQ(printable("größe"), "größe");
}

}  // namespace
}  // namespace allm::cli::terminal_test
