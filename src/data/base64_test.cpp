#include "data/base64.hpp"

#include <random>

#include <gtest/gtest.h>

namespace allm::base64_test {
namespace {

TEST(Base64Test, EncodesTheVectorsOfTheRfc) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text), bytes);
  }
}

TEST(Base64Test, UrlSafeFormHasNoPadding) {
  EXPECT_EQ(base64url_encode("\xfb\xff\xfe"), "-__-");
  EXPECT_EQ(base64_encode("\xfb\xff\xfe"), "+//+");
  EXPECT_EQ(base64url_encode("f"), "Zg");
  EXPECT_EQ(base64url_encode(std::string(16, '\xff')).size(), 22U);
}

TEST(Base64Test, RandomBytesComeBack) {
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 300; ++size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    const std::string text = base64_encode(bytes);
    EXPECT_TRUE(is_base64(text));
    EXPECT_EQ(base64_decode(text), bytes);
  }
}

TEST(Base64Test, RefusesEverythingElse) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "=", "====", "===", "Z===", "Zg==Zg==", "Zm=v", "=Zm9", "Zm9v\n",
                           "Zm 9", "-__-", "Zm9!", "Zm9\xc3"}) {
    EXPECT_FALSE(is_base64(text)) << text;
    EXPECT_EQ(base64_decode(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace allm::base64_test
