#include "cli/command/nearest.hpp"

#include <gtest/gtest.h>

namespace allm::cli::nearest_test {
namespace {

const std::vector<std::string> kNames = {"--model", "--max-turns", "--system", "--json"};

TEST(NearestName, IsTheOneWithTheFewestEdits) {
  EXPECT_EQ(nearest_name("--modle", kNames), "--model") << "swapped";
  EXPECT_EQ(nearest_name("--moddel", kNames), "--model") << "inserted";
  EXPECT_EQ(nearest_name("--mdel", kNames), "--model") << "deleted";
  EXPECT_EQ(nearest_name("--jsom", kNames), "--json") << "replaced";
  EXPECT_EQ(nearest_name("--max-turn", kNames), "--max-turns");
  EXPECT_EQ(nearest_name("worker", {"workers", "worker"}), "worker");
}

TEST(NearestName, CanBeAbbreviated) {
  EXPECT_EQ(nearest_name("se", {"worker", "sessions"}), "sessions");
  EXPECT_EQ(nearest_name("--s", kNames), "--system");
  EXPECT_EQ(nearest_name("s", {"worker", "sessions"}), std::nullopt);
  EXPECT_EQ(nearest_name("--", kNames), std::nullopt);
}

TEST(NearestName, IsMissingIfNothingIsClose) {
  EXPECT_EQ(nearest_name("", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("--verbose", kNames), std::nullopt);
  EXPECT_EQ(nearest_name(std::string(1'000'000, 'x'), kNames), std::nullopt);
  EXPECT_EQ(nearest_name("x", {}), std::nullopt);
}

TEST(NearestName, IsAQuestionInMessages) {
  EXPECT_EQ(did_you_mean("--modle", kNames), "; did you mean '--model'?");
  EXPECT_EQ(did_you_mean("--verbose", kNames), "");
}

}  // namespace
}  // namespace allm::cli::nearest_test
