// The code of docs/vision.md.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"

namespace allm::docs_vision_test {
namespace {

TEST(DocsVision, Parts) {
  // [vision-parts]
  const std::vector<allm::Part> parts = {
      allm::ImagePart{.image = allm::image_from_file("photo.jpg"), .detail = allm::ImageDetail::low},
      allm::ImagePart{.image = {.source = allm::MediaUrl{"https://example.org/chart.png"}}},
      allm::FilePart{.file = allm::file_from_path("report.pdf")},
      allm::FilePart{.file = {.source = allm::MediaId{"file-abc123"}}},
      allm::AudioPart{.audio = allm::audio_from_file("question.wav")},
  };
  const allm::Message message = allm::user(parts);
  // [/vision-parts]
  EXPECT_TRUE(has_media(message.content));
  EXPECT_TRUE(validate(message).has_value());
  const Result<std::vector<Part>> read = parts_from_json(Json::parse(R"([
    {"type": "image", "file": "photo.jpg", "detail": "low"},
    {"type": "image", "url": "https://example.org/chart.png"},
    {"type": "file", "file": "report.pdf"}, {"type": "file", "file_id": "file-abc123"},
    {"type": "audio", "file": "question.wav"}])"));
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(*read, parts);
}

TEST(DocsVision, Refused) {
  // [vision-refused]
  const allm::Engine engine({.adapter = allm::anthropic({.api_key = "sk-example"}), .model = "claude-haiku-4-5"});
  const allm::Audio audio{.source = allm::MediaBytes{"RIFF"}, .mime_type = "audio/wav"};
  const auto result = allm::chat(engine, {allm::user(std::vector<allm::Part>{allm::AudioPart{.audio = audio}})});
  // messages[0].content[0]: anthropic does not take audio parts
  const std::string message = result.error().message();
  // [/vision-refused]
  EXPECT_EQ(message, "messages[0].content[0]: anthropic does not take audio parts");
  EXPECT_TRUE(result.error().is<AdapterError>(AdapterError::Reason::unsupported_feature));
}

}  // namespace
}  // namespace allm::docs_vision_test
