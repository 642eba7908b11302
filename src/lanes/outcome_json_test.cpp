#include "lanes/outcome_json.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

namespace allm::outcome_json_test {
namespace {

Result<ToolOutcome> there_and_back(const ToolOutcome& outcome) {
  const Result<std::string> text = write_outcome(outcome);
  if (!text) return std::unexpected(text.error());
  return read_outcome(Json::parse(*text), true);
}

TEST(OutcomeJson, PartsAreTheSameInTheOtherProcess) {
  const ToolOutcome outcome =
      ok(TextPart{.text = "see"}, ImagePart{.image = {.source = MediaBytes{"\xff"}, .mime_type = "image/png"}},
         FilePart{.file = {.source = MediaId{"file-1"}, .name = "a.pdf"}},
         AudioPart{.audio = {.source = MediaUrl{"https://example.org/a.mp3"}}});
  const Result<ToolOutcome> read = there_and_back(outcome);
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(*read, outcome);
}

TEST(OutcomeJson, AnswersWithoutPartsAreWrittenAsOk) { EXPECT_EQ(write_outcome(ok({{"a", 1}})), R"({"ok":{"a":1}})"); }

TEST(OutcomeJson, AFileIsReadWhereTheToolRuns) {
  const std::string path =
      (std::filesystem::path(::testing::TempDir()) / ("allm_outcome_" + std::to_string(::getpid()) + ".pdf")).string();
  std::ofstream(path, std::ios::binary) << "%PDF";
  const Result<ToolOutcome> read = there_and_back(ok(FilePart{.file = file_from_path(path)}));
  std::filesystem::remove(path);
  ASSERT_TRUE(read.has_value()) << read.error().message();
  const auto& part = std::get<FilePart>(std::get<ToolOk>(*read).parts.at(0));
  EXPECT_EQ(std::get<MediaBytes>(part.file.source).bytes, "%PDF");
  EXPECT_EQ(part.file.mime_type, "application/pdf");
  EXPECT_FALSE(write_outcome(ok(FilePart{.file = file_from_path(path)})).has_value());
}

TEST(OutcomeJson, AToolCannotChooseAFileForTheProgramToRead) {
  for (const char* part : {R"({"type": "image", "file": "/etc/passwd"})", R"({"type": "file", "file": "/etc/passwd"})",
                           R"({"type": "audio", "file": "/etc/passwd"})"}) {
    const Json outcome = {{"ok_parts", Json::array({Json::parse(part)})}};
    EXPECT_FALSE(read_outcome(outcome, true).has_value()) << part;
    EXPECT_FALSE(read_outcome(outcome, false).has_value()) << part;
  }
}

TEST(OutcomeJson, BrokenPartsAreRefused) {
  for (const char* outcome :
       {R"({"ok_parts": []})", R"({"ok_parts": "text"})", R"({"ok_parts": [{"type": "video"}]})"}) {
    EXPECT_FALSE(read_outcome(Json::parse(outcome), false).has_value()) << outcome;
  }
}

}  // namespace
}  // namespace allm::outcome_json_test
