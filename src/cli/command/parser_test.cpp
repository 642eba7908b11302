#include "cli/command/parser.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "cli/command/test_commands.hpp"
#include "tests/cases.hpp"

namespace allm::cli::parser_test {
namespace {

const int kCases = testing::set_property_cases(500);

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Parser, StoresValuesOfEveryType) {
  const TestRun run = run_test_command({"all",
                                        "-f",
                                        "-n",
                                        "-3",
                                        "--factor=0.25",
                                        "--large",
                                        "-9223372036854775808",
                                        "--count",
                                        "12",
                                        "--text",
                                        "a b",
                                        "--maybe-factor",
                                        "1e3",
                                        "--maybe-large",
                                        "-5",
                                        "--maybe-count=0",
                                        "--maybe-text",
                                        "x",
                                        "--lane",
                                        "worker"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_TRUE(run.targets.flag);
  EXPECT_EQ(run.targets.number, -3);
  EXPECT_EQ(run.targets.factor, 0.25);
  EXPECT_EQ(run.targets.large, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(run.targets.count, 12U);
  EXPECT_EQ(run.targets.text, "a b");
  EXPECT_EQ(run.targets.maybe_factor, 1000);
  EXPECT_EQ(run.targets.maybe_large, -5);
  EXPECT_EQ(run.targets.maybe_count, 0U);
  EXPECT_EQ(run.targets.maybe_text, "x");
  EXPECT_THAT(run.targets.seen, ElementsAre("worker"));
  EXPECT_EQ(run.targets.ran, "all");
}

TEST(Parser, OptionsThatAreNotGivenKeepTheirDefaults) {
  const TestRun run = run_test_command({"all"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.targets.number, 7);
  EXPECT_EQ(run.targets.text, "default");
  EXPECT_EQ(run.targets.maybe_text, std::nullopt);
  EXPECT_FALSE(run.targets.flag);
}

TEST(Parser, RepeatedOptionsTakeOneValueEach) {
  const TestRun run =
      run_test_command({"all", "-w", "a", "-wb", "first", "--word=c", "--path", "p/q", "second", "third"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_THAT(run.targets.words, ElementsAre("a", "b", "c"));
  EXPECT_THAT(run.targets.paths, ElementsAre("p/q"));
  EXPECT_EQ(run.targets.first, "first");
  EXPECT_THAT(run.targets.rest, ElementsAre("second", "third"));
}

TEST(Parser, ValuesAreTakenLiterally) {
  const TestRun run = run_test_command({"all", "-t", "--flag", "-w", "[a,b]", "-w", "{}", "-w", "",
                                        "--word=", "--maybe-text=", "--", "-x", "--", "[c,d]", "++"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.targets.text, "--flag");
  EXPECT_FALSE(run.targets.flag);
  EXPECT_THAT(run.targets.words, ElementsAre("[a,b]", "{}", "", ""));
  EXPECT_EQ(run.targets.maybe_text, "");
  EXPECT_EQ(run.targets.first, "-x");
  EXPECT_THAT(run.targets.rest, ElementsAre("--", "[c,d]", "++"));
  EXPECT_EQ(run_test_command({"all", "-t", "--text="}).targets.text, "--text=");
}

TEST(Parser, NamesOfCommandsAndNegativeNumbersCanBeArguments) {
  const TestRun run = run_test_command({"all", "group", "-5", "all", "-", "-.5", "++", "[x]"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.targets.first, "group");
  EXPECT_THAT(run.targets.rest, ElementsAre("-5", "all", "-", "-.5", "++", "[x]"));
}

TEST(Parser, RunsCommandsOfCommandsAndHiddenOnes) {
  EXPECT_EQ(run_test_command({"group", "two"}).targets.ran, "two");
  EXPECT_EQ(run_test_command({"secret"}).targets.ran, "secret");
  EXPECT_EQ(run_test_command({"strict", "-m", "m", "id"}).code, 1) << "the code of the command";
}

std::string error_of(const std::vector<std::string>& arguments) {
  const TestRun run = run_test_command(arguments);
  EXPECT_EQ(run.code, 2) << run.errors;
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.targets.ran, "");
  return run.errors;
}

TEST(Parser, ExplainsWhatIsWrong) {
  EXPECT_EQ(error_of({"al"}), "prog: 'al' is not a command; did you mean 'all'?\nTry 'prog --help'.\n");
  EXPECT_EQ(error_of({"group", "tow"}),
            "prog group: 'tow' is not a command; did you mean 'two'?\nTry 'prog group --help'.\n");
  EXPECT_THAT(error_of({"nothing", "--help"}), StartsWith("prog: 'nothing' is not a command\n"));
  EXPECT_THAT(error_of({"all", "--lrage=3"}), HasSubstr("--lrage is not an option; did you mean '--large'?"));
  EXPECT_THAT(error_of({"all", "-x"}), HasSubstr("-x is not an option\n"));
  EXPECT_THAT(error_of({"all", "--text"}), HasSubstr("--text needs a value: TEXT\n"));
  EXPECT_THAT(error_of({"all", "-ft"}), HasSubstr("--text needs a value: TEXT\n"));
  EXPECT_THAT(error_of({"all", "--flag=no"}), HasSubstr("--flag takes no value\n"));
  EXPECT_THAT(error_of({"all", "--help=no"}), HasSubstr("--help takes no value\n"));
  EXPECT_THAT(error_of({"all", "-t", "a", "--text", "b"}), HasSubstr("--text is given more than once\n"));
  EXPECT_THAT(error_of({"all", "--lane", "threat"}),
              HasSubstr("--lane: 'threat' is not one of thread|worker; did you mean 'thread'?"));
  EXPECT_THAT(error_of({"strict", "id"}), HasSubstr("--model MODEL is missing"));
  EXPECT_THAT(error_of({"strict", "-m", "x"}), HasSubstr("ID is missing"));
  EXPECT_THAT(error_of({"strict", "-m", "x", "a", "b"}), HasSubstr("'b' is one argument too many"));
  EXPECT_THAT(error_of({"strict", "-m", "x", "x"}), HasSubstr("ID and --model are equal"));
  EXPECT_THAT(error_of({"group"}), HasSubstr("Usage: prog group COMMAND"));
  EXPECT_THAT(error_of({}), HasSubstr("Usage: prog COMMAND"));
  EXPECT_THAT(error_of({"secrte"}), StartsWith("prog: 'secrte' is not a command\n")) << "hidden names are not offered";
}

TEST(Parser, AbbreviationsAreRefused) {
  EXPECT_THAT(error_of({"all", "--numb", "3"}), HasSubstr("--numb is not an option; did you mean '--number'?"));
  EXPECT_THAT(error_of({"gro", "one"}), HasSubstr("'gro' is not a command; did you mean 'group'?"));
}

TEST(Parser, ExplainsWrongNumbers) {
  EXPECT_THAT(error_of({"all", "-n", "3x"}), HasSubstr("--number: '3x' is not a whole number\n"));
  EXPECT_THAT(error_of({"all", "-n", ""}), HasSubstr("'' is not a whole number"));
  EXPECT_THAT(error_of({"all", "-n", "1.5"}), HasSubstr("'1.5' is not a whole number"));
  EXPECT_THAT(error_of({"all", "-n", " 1"}), HasSubstr("is not a whole number"));
  EXPECT_THAT(error_of({"all", "-n", "0x10"}), HasSubstr("is not a whole number"));
  EXPECT_THAT(error_of({"all", "-n", "11"}), HasSubstr("--number: must be at most 10"));
  EXPECT_THAT(error_of({"all", "-n", "-11"}), HasSubstr("--number: must be at least -10"));
  EXPECT_THAT(error_of({"all", "--count", "-1"}), HasSubstr("'-1' is not a whole number from 0"));
  EXPECT_THAT(error_of({"all", "--count", "0"}), HasSubstr("must be at least 1"));
  EXPECT_THAT(error_of({"all", "--large", "9223372036854775808"}), HasSubstr("is too large"));
  EXPECT_THAT(error_of({"all", "--factor", "nan"}), HasSubstr("'nan' is not a number"));
  EXPECT_THAT(error_of({"all", "--factor", "inf"}), HasSubstr("'inf' is not a number"));
  EXPECT_THAT(error_of({"all", "--factor", "1e999"}), HasSubstr("is too large"));
  EXPECT_THAT(error_of({"all", "--maybe-factor", "-0.1"}), HasSubstr("must be at least 0"));
  EXPECT_EQ(run_test_command({"all", "-n", "010"}).targets.number, 10) << "not octal";
}

TEST(Parser, ErrorsDoNotControlTheTerminal) {
  EXPECT_EQ(error_of({"\x1b[31mred"}).find('\x1b'), std::string::npos);
  EXPECT_EQ(error_of({"all", "--\x1b[31m"}).find('\x1b'), std::string::npos);
  EXPECT_EQ(error_of({"all", "--lane", "\x1b[31m"}).find('\x1b'), std::string::npos);
  EXPECT_EQ(error_of({"all", "--\x1b[31m=3"}).find('\x1b'), std::string::npos);
}

TEST(Parser, HelpAndVersionAreNotErrors) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"all", "--help"}, {"all", "-h"}, {"all", "-n", "3", "--help"}, {"strict", "--help"}}) {
    const TestRun run = run_test_command(arguments);
    EXPECT_EQ(run.code, 0);
    EXPECT_THAT(run.out, HasSubstr("Usage: prog " + arguments.front()));
    EXPECT_EQ(run.errors, "");
    EXPECT_EQ(run.targets.ran, "");
  }
  EXPECT_EQ(run_test_command({"--version"}).out, "prog 1.2.3\n");
  EXPECT_EQ(run_test_command({"--version"}).code, 0);
  EXPECT_EQ(run_test_command({"all", "--version"}).code, 2);
  EXPECT_EQ(run_test_command({"all", "-t", "--help"}).targets.text, "--help") << "a value is not an option";
}

// Mostly words that mean something to the parser.
rc::Gen<std::string> words() {
  return rc::gen::oneOf(
      rc::gen::element<std::string>("all", "strict", "group", "one", "--", "-", "++", "--help", "-h", "--version", "-f",
                                    "--flag", "-n", "--number", "-t", "--text=", "--word", "-w", "--lane", "thread",
                                    "[a,b]", "{}", "-5", "--=", "---", "-=", "--count=1", "-ffft", "=", "", "%",
                                    "\xff"),
      rc::gen::string<std::string>(),
      rc::gen::map(rc::gen::string<std::string>(), [](const std::string& text) { return "--" + text; }),
      rc::gen::map(rc::gen::string<std::string>(), [](const std::string& text) { return "-" + text; }),
      rc::gen::map(rc::gen::string<std::string>(), [](const std::string& text) { return "--number=" + text; }));
}

TEST(Parser, EveryCommandLineEndsWithACode) {
  const bool held = rc::check([] {
    const TestRun run = run_test_command(*rc::gen::container<std::vector<std::string>>(words()));
    RC_ASSERT(run.code == 0 || run.code == 1 || run.code == 2);
    RC_ASSERT(run.code != 2 || (!run.errors.empty() && run.targets.ran.empty()));
    RC_ASSERT(run.code != 0 || run.errors.empty());
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace allm::cli::parser_test
