#include "allm/media.hpp"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gtest/gtest.h>

namespace allm::media_test {
namespace {

std::string field_reason(const Error& error) {
  const auto* detail = error.get_if<ValidationError>();
  return detail == nullptr || detail->errors.size() != 1 ? error.message() : detail->errors[0].reason;
}

class ImageFileTest : public ::testing::Test {
 protected:
  ImageFileTest() { std::filesystem::create_directory(directory_); }
  ~ImageFileTest() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path directory_ =
      std::filesystem::path(::testing::TempDir()) / ("allm_image_test_" + std::to_string(::getpid()));
};

TEST_F(ImageFileTest, ReadsTheFile) {
  const std::string path = directory_ / "dot.PNG";
  const std::string bytes("\x89PNG\0\xff", 6);
  std::ofstream(path, std::ios::binary) << bytes;
  const Image image = image_from_file(path);
  EXPECT_EQ(image.mime_type, "image/png");
  EXPECT_EQ(image_bytes(image), bytes);
  EXPECT_EQ(image_data_uri(image), "data:image/png;base64,iVBORwD/");
}

TEST_F(ImageFileTest, SaysWhyAFileCannotBeRead) {
  const std::string missing = directory_ / "missing.png";
  const Result<std::string> result = image_bytes(image_from_file(missing));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(field_reason(result.error()), "enoent");
  EXPECT_NE(result.error().message().find(missing), std::string::npos);
  EXPECT_EQ(field_reason(image_bytes(image_from_file(directory_)).error()), "eisdir");
  const std::string pipe = directory_ / "pipe.png";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(field_reason(image_bytes(image_from_file(pipe)).error()), "einval");
  EXPECT_EQ(field_reason(image_bytes(image_from_file(std::string("a\0b", 3))).error()), "enoent");
}

TEST_F(ImageFileTest, DocumentsAndAudioAreReadUpToALimit) {
  const std::string path = directory_ / "report.PDF";
  std::ofstream(path, std::ios::binary) << "%PDF";
  const File file = file_from_path(path);
  EXPECT_EQ(file.mime_type, "application/pdf");
  EXPECT_EQ(file.name, "report.PDF");
  EXPECT_EQ(file_bytes(file), "%PDF");
  EXPECT_EQ(file_bytes(file, 4), "%PDF");
  EXPECT_EQ(field_reason(file_bytes(file, 3).error()), "too_large");
  EXPECT_EQ(field_reason(audio_bytes(audio_from_file(path), 3).error()), "too_large");
  EXPECT_EQ(field_reason(audio_bytes({.source = MediaBytes{"abcd"}}, 3).error()), "too_large");
  EXPECT_EQ(field_reason(audio_bytes({.source = MediaBase64{"YWJjZA=="}}, 3).error()), "too_large");
  EXPECT_EQ(field_reason(file_bytes(file_from_path(directory_ / "missing.pdf")).error()), "enoent");
  EXPECT_EQ(field_reason(file_bytes({.source = MediaId{"file-1"}}).error()), "provider_file");
  EXPECT_EQ(field_reason(file_bytes({.source = MediaUrl{"https://example.com/a.pdf"}}).error()), "remote_source");
}

TEST(MediaTest, TypesOfDocumentsAndAudio) {
  EXPECT_EQ(file_from_path("notes.md").mime_type, "text/markdown");
  EXPECT_EQ(file_from_path("notes").mime_type, std::nullopt);
  EXPECT_EQ(file_from_path("notes").name, "notes");
  EXPECT_EQ(audio_from_file("a.WAV").mime_type, "audio/wav");
  EXPECT_EQ(audio_from_file("a.mp3").mime_type, "audio/mpeg");
  EXPECT_EQ(audio_from_file("a.pdf").mime_type, std::nullopt);
}

TEST(ImageTest, TypeIsToldByExtension) {
  EXPECT_EQ(image_from_file("a.jpg").mime_type, "image/jpeg");
  EXPECT_EQ(image_from_file("a.JPEG").mime_type, "image/jpeg");
  EXPECT_EQ(image_from_file("a.webp").mime_type, "image/webp");
  EXPECT_EQ(image_from_file("a.b.gif").mime_type, "image/gif");
  EXPECT_EQ(image_from_file("a.bmp").mime_type, std::nullopt);
  EXPECT_EQ(image_from_file("png").mime_type, std::nullopt);
  EXPECT_EQ(image_from_file("").mime_type, std::nullopt);
}

TEST(ImageTest, BytesComeFromBytesAndBase64) {
  EXPECT_EQ(image_bytes({.source = ImageBytes{"ab"}}), "ab");
  EXPECT_EQ(image_bytes({.source = ImageBase64{"YWI="}}), "ab");
  EXPECT_EQ(field_reason(image_bytes({.source = ImageBase64{"YWI"}}).error()), "invalid_base64");
  EXPECT_EQ(field_reason(image_bytes({.source = ImageUrl{"https://example.com/a.png"}}).error()), "remote_source");
}

TEST(ImageTest, DataUriNeedsATypeAndNoUrl) {
  EXPECT_EQ(image_data_uri({.source = ImageBytes{"ab"}, .mime_type = "image/png"}), "data:image/png;base64,YWI=");
  EXPECT_EQ(image_data_uri({.source = ImageBase64{"YWI="}, .mime_type = "image/gif"}), "data:image/gif;base64,YWI=");
  EXPECT_EQ(field_reason(image_data_uri({.source = ImageBytes{"ab"}}).error()), "missing_mime_type");
  EXPECT_EQ(field_reason(image_data_uri({.source = ImageUrl{"u"}}).error()), "remote_source");
  EXPECT_EQ(field_reason(image_data_uri({.source = ImageBase64{"?"}, .mime_type = "image/gif"}).error()),
            "invalid_base64");
}

TEST(ImageTest, ReadsDataUris) {
  const Result<Image> image = image_from_data_uri("data:image/png;base64,YWI=");
  ASSERT_TRUE(image.has_value());
  EXPECT_EQ(*image, (Image{.source = ImageBase64{"YWI="}, .mime_type = "image/png"}));
  const Result<Image> with_parameters = image_from_data_uri("data:image/png;name=a;charset=x;base64,YWI=");
  ASSERT_TRUE(with_parameters.has_value());
  EXPECT_EQ(with_parameters->mime_type, "image/png");
  EXPECT_TRUE(image_from_data_uri("DATA:image/png;BASE64,").has_value());
}

TEST(ImageTest, RefusesOtherUris) {
  for (const char* uri : {"", "data:", "data:,", "data:image/png,YWI=", "data:;base64,YWI=", "data:image;base64,YWI=",
                          "data:/png;base64,YWI=", "data:image/;base64,YWI=", "image/png;base64,YWI=",
                          "data:image/png;base64", "https://example.com/a,b", "data:;a/b;base64,YWI="}) {
    const Result<Image> image = image_from_data_uri(uri);
    ASSERT_FALSE(image.has_value()) << uri;
    EXPECT_EQ(field_reason(image.error()), "invalid_data_uri") << uri;
  }
  EXPECT_EQ(field_reason(image_from_data_uri("data:image/png;base64,YW I=").error()), "invalid_base64");
}

}  // namespace
}  // namespace allm::media_test
