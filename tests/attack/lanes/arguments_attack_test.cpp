// A model leaves out optional arguments of a command, so that another argument would become the value of an option.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/tool_runner.hpp"

namespace allm::testing::arguments_attack_test {
namespace {

using Words = std::vector<std::string>;

// The words that a program got, each in brackets, or the error that the model is told.
std::string words_of(Words words, std::vector<Words> groups, const Json& arguments) {
  Command command{.argv = {"sh", "-c", R"(printf '[%s]' "$@")", "sh"}, .groups = std::move(groups)};
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  const Tool tool{.name = "t", .command = std::move(command)};
  const auto batch = run_tool_calls({{.id = "c1", .name = "t", .arguments = arguments}}, {tool});
  return batch ? batch->messages.at(0).text() : batch.error().message();
}

TEST(AttackArguments, NoArgumentBecomesTheValueOfAnOption) {
  const Json without_values = {{"file", "notes.txt"}};
  const Json with_nothing = {{"file", "notes.txt"}, {"cfg", nullptr}, {"list", Json::array()}};
  for (const Json& arguments : {without_values, with_nothing}) {
    for (const Words& words : std::vector<Words>{{"--config", "{cfg}", "{file}"},
                                                 {"-o", "{list}", "{file}"},
                                                 {"-o", "a{cfg}b", "{file}"},
                                                 {"-v", "-o", "{cfg}", "{file}"}}) {
      const std::string told = words_of(words, {}, arguments);
      EXPECT_EQ(told.find("[notes.txt]"), std::string::npos) << words.front() << ": " << told;
      EXPECT_NE(told.find("may be missing"), std::string::npos) << words.front() << ": " << told;
    }
    EXPECT_EQ(words_of({"--config", "{cfg}", "{file}"}, {{"--config", "{cfg}"}}, arguments), "[notes.txt]");
    EXPECT_EQ(words_of({"-l", "{cfg}", "{file}"}, {{"{cfg}"}}, arguments), "[-l][notes.txt]");
    EXPECT_EQ(words_of({"--config={cfg}", "{file}"}, {}, arguments), "[notes.txt]");
  }
  EXPECT_EQ(words_of({"--config", "{cfg}", "{file}"}, {{"--config", "{cfg}"}}, {{"file", "f"}, {"cfg", "c"}}),
            "[--config][c][f]");
}

}  // namespace
}  // namespace allm::testing::arguments_attack_test
