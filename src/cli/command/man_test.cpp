#include "cli/command/man.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command/test_commands.hpp"

namespace allm::cli::man_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ManPages, ThereIsOneForTheRootAndOneForEachCommand) {
  TestTargets targets;
  const CommandSpec root = test_commands(targets);
  std::vector<std::string> names;
  for (const ManPage& page : man_pages(root, "1.2.3")) names.push_back(page.name);
  EXPECT_THAT(names, ::testing::ElementsAre("prog", "prog-all", "prog-strict", "prog-group"));
}

TEST(ManPages, HaveTheOptionsOfTheirCommandsAndOfThoseBelow) {
  TestTargets targets;
  const CommandSpec root = test_commands(targets);
  const std::vector<ManPage> pages = man_pages(root, "1.2.3");
  EXPECT_THAT(pages[0].text, HasSubstr(".TH PROG 1 \"\" \"prog 1.2.3\" \"User Commands\"\n"));
  EXPECT_THAT(pages[0].text, Not(HasSubstr("secret")));
  EXPECT_THAT(pages[1].text, HasSubstr(".TP\n\\fB\\-n\\fR, \\fB\\-\\-number\\fR \\fIN\\fR\nA number. Default: 7.\n"));
  EXPECT_THAT(pages[1].text, HasSubstr("\\fB\\-\\-lane\\fR \\fBthread|worker\\fR\n"));
  EXPECT_THAT(pages[3].text, HasSubstr(".SS prog group one\n"));
}

TEST(ManPages, TextsAreNotInterpreted) {
  const CommandSpec root{
      .name = "prog", .summary = ".so /etc/passwd", .description = ".pso date\n\n'back\\slash' \"quoted\" -x `y` ^~"};
  const std::string text = man_pages(root, "1").front().text;
  EXPECT_THAT(
      text, HasSubstr("\n\\&.pso date\n.PP\n\\(aqback\\(rsslash\\(aq \\(dqquoted\\(dq \\-x \\(gay\\(ga \\(ha\\(ti\n"));
  EXPECT_THAT(text, Not(HasSubstr("\n.so")));
}

}  // namespace
}  // namespace allm::cli::man_test
