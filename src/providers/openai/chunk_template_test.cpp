#include "providers/openai/chunk_template.hpp"

#include <gtest/gtest.h>

namespace allm::openai_wire::chunk_template_test {
namespace {

std::string chunk(const std::string& text, const std::string& noise = "k", int number = 7) {
  return R"({"id":"c","sequence_number":)" + std::to_string(number) + R"(,"choices":[{"delta":{"content":")" + text +
         R"("},"logprobs":null}],"obfuscation":")" + noise + R"("})";
}

TEST(ChunkTemplate, RecognisesChunksThatDifferOnlyInTheirText) {
  ChunkTemplate shape("content");
  EXPECT_EQ(shape.match(chunk("a")), std::nullopt);
  shape.learn(chunk("a"));
  EXPECT_EQ(shape.match(chunk("a")), "a");
  EXPECT_EQ(shape.match(chunk("é longer {}[],:", "", 123456)), "é longer {}[],:");
  EXPECT_EQ(shape.match(chunk("", "noise", 0)), "");
}

TEST(ChunkTemplate, DoesNotMatchOtherChunks) {
  ChunkTemplate shape("content");
  shape.learn(chunk("a"));
  const std::string usual = chunk("a");
  for (const std::string& other :
       {chunk(R"(\n)"), chunk("\xFF"), chunk("a\tb"), chunk("a", R"(\")"), chunk(R"(b","content":"c)"), usual + " ",
        usual + "}", usual.substr(0, usual.size() - 1), std::string(), std::string("{}"), " " + usual}) {
    EXPECT_EQ(shape.match(other), std::nullopt) << other;
  }
  std::string number = usual;
  number.replace(number.find(":7"), 2, ":07");
  EXPECT_EQ(shape.match(number), std::nullopt);
  number.replace(number.find(":07"), 3, ":-1");
  EXPECT_EQ(shape.match(number), std::nullopt);
}

TEST(ChunkTemplate, DoesNotLearnAmbiguousChunks) {
  ChunkTemplate shape("content");
  const std::string twice = R"({"content":"x","delta":{"content":"y"}})";
  shape.learn(twice);
  EXPECT_EQ(shape.match(twice), std::nullopt);
  const std::string escaped = R"({"delta":{"content":"\u0041"}})";
  shape.learn(escaped);
  EXPECT_EQ(shape.match(escaped), std::nullopt);
}

TEST(ChunkTemplate, LearnsAnotherChunkAfterTheStreamChanged) {
  ChunkTemplate shape("content");
  shape.learn(chunk("a"));
  const std::string other = R"({"id":"d","choices":[{"delta":{"content":"b"}}]})";
  for (int i = 0; i < 20 && !shape.match(other); ++i) shape.learn(other);
  EXPECT_EQ(shape.match(other), "b");
}

}  // namespace
}  // namespace allm::openai_wire::chunk_template_test
