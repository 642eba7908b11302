#include "cli/scenario_command.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace allm::cli::scenario_command_test {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPassing = R"({"name": "good", "about": "fine", "scripts": [[{"text": "a"}, {"finish": "stop"}]],
    "run": [{"generate": {"messages": ["hi"]}}], "expect": [{"ok": {"output_text": "a"}}]})";
constexpr const char* kFailing = R"({"name": "bad", "about": "does not hold", "scripts": [[{"text": "a"}]],
    "run": [{"generate": {"messages": ["hi"]}}], "expect": [{"ok": {"output_text": "b"}}]})";

class ScenarioCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "allm_scenario_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path file(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  // Runs the command and keeps what it wrote.
  int run(const ScenarioArguments& arguments) {
    std::FILE* out = std::tmpfile();
    std::FILE* errors = std::tmpfile();
    const int code = scenario_command(arguments, Terminal(out), Terminal(errors));
    out_ = text_of(out);
    errors_ = text_of(errors);
    return code;
  }

  fs::path folder_;
  std::string out_;
  std::string errors_;

 private:
  static std::string text_of(std::FILE* file) {
    std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
    std::rewind(file);
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    return text;
  }
};

TEST_F(ScenarioCommand, CountsWhatPassed) {
  EXPECT_EQ(run({.paths = {file("a.json", kPassing)}}), 0);
  EXPECT_EQ(out_, "1 passed, 0 failed\n");
}

TEST_F(ScenarioCommand, SaysWhatFailedAndWhere) {
  EXPECT_EQ(run({.paths = {file("a.json", kFailing)}}), 1);
  EXPECT_THAT(out_, HasSubstr("a.json"));
  EXPECT_THAT(out_, HasSubstr("does not hold"));
  EXPECT_THAT(out_, HasSubstr(R"(expect[0].ok.output_text: expected "b", got "a")"));
  EXPECT_THAT(out_, EndsWith("\n0 passed, 1 failed\n"));
}

TEST_F(ScenarioCommand, ReadsDirectoriesInOrderAndEveryScenarioOfAFile) {
  file("b.json", kFailing);
  file("a/c.json", std::string("[") + kPassing + "," + kFailing + "]");
  file("a/notes.txt", "not a scenario");
  EXPECT_EQ(run({.paths = {folder_}, .jobs = 2}), 1);
  EXPECT_LT(out_.find("c.json"), out_.find("b.json"));
  EXPECT_THAT(out_, EndsWith("\n1 passed, 2 failed\n"));
  EXPECT_THAT(out_, Not(HasSubstr("notes")));
}

TEST_F(ScenarioCommand, AFileThatIsNoScenarioCountsAsFailed) {
  file("broken.json", "{");
  file("empty.json", "");
  file("other.json", R"({"run": [{"dance": {}}], "expect": [null]})");
  EXPECT_EQ(run({.paths = {folder_, folder_ / "missing.json"}}), 1);
  EXPECT_THAT(out_, HasSubstr("run[0].dance: no such operation"));
  EXPECT_THAT(out_, HasSubstr("the file cannot be read"));
  EXPECT_THAT(out_, EndsWith("\n0 passed, 4 failed\n"));
}

TEST_F(ScenarioCommand, QuietPrintsTheLastLineOnly) {
  EXPECT_EQ(run({.paths = {file("a.json", kFailing)}, .quiet = true}), 1);
  EXPECT_EQ(out_, "0 passed, 1 failed\n");
}

TEST_F(ScenarioCommand, ObservePrintsTheObservations) {
  EXPECT_EQ(run({.paths = {file("a.json", kFailing)}, .observe = true}), 0);
  EXPECT_THAT(out_, ::testing::StartsWith("[\n"));
  EXPECT_THAT(out_, HasSubstr(R"("output_text": "a")"));
  EXPECT_THAT(out_, Not(HasSubstr("failed")));
  EXPECT_EQ(run({.paths = {file("b.json", "{")}, .observe = true}), 1);
  EXPECT_THAT(errors_, HasSubstr("b.json"));
}

TEST_F(ScenarioCommand, NothingToCheckIsAUsageError) {
  EXPECT_EQ(run({.paths = {folder_}}), 2);
  EXPECT_THAT(errors_, HasSubstr("no scenario files found"));
}

}  // namespace
}  // namespace allm::cli::scenario_command_test
