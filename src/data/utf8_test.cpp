// is_utf8 on texts of every short length.
#include "data/utf8.hpp"

#include <cstddef>
#include <string>

#include <gtest/gtest.h>

namespace allm::utf8_test {
namespace {

TEST(Utf8, AByteThatIsNotValidIsFoundAtEveryPlaceOfAText) {
  for (std::size_t size = 0; size <= 80; ++size) {
    std::string text(size, 'a');
    EXPECT_TRUE(is_utf8(text)) << size;
    for (std::size_t i = 0; i < size; ++i) {
      text[i] = '\xff';
      EXPECT_FALSE(is_utf8(text)) << size << " " << i;
      text[i] = 'a';
    }
  }
}

TEST(Utf8, ACharacterOfSeveralBytesIsValidAtEveryPlaceOfAText) {
  for (std::size_t before = 0; before <= 70; ++before) {
    const std::string text = std::string(before, 'a') + "€" + std::string(before % 9, 'b');
    EXPECT_TRUE(is_utf8(text)) << before;
    EXPECT_FALSE(is_utf8(text.substr(0, before + 2))) << before;
  }
}

}  // namespace
}  // namespace allm::utf8_test
