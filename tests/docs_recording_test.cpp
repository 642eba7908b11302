// The code of docs/recording-format.md.
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"
#include "allm/recording.hpp"

namespace allm::docs_recording_test {
namespace {

TEST(DocsRecording, RecordOnceAndReplay) {
  std::string folder = (std::filesystem::temp_directory_path() / "allm-docs-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string file = folder + "/weather.jsonl";
  const std::shared_ptr<allm::Adapter> real = allm::fake({{allm::fake_text("Sunny.")}});
  const char* today = "Today is Monday.";
  for (const bool recording : {true, false}) {
    // [recording]
    auto model = recording ? allm::record(real, file) : allm::replay(file, {.ignore = {"/options/trace_id"}});
    ASSERT_TRUE(model) << model.error().message();
    allm::Engine engine({.adapter = *model});
    auto result = allm::chat(engine, {allm::system(today), allm::user("Weather in Rome?")});
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->text(), "Sunny.");
    // [/recording]
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace allm::docs_recording_test
