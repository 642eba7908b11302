#include "http/exchange.hpp"

#include <gtest/gtest.h>

namespace allm::exchange_test {
namespace {

TEST(FindHeader, FindsTheFirstHeaderOfANameAndIgnoresCase) {
  const HttpHeaders headers = {{"Content-Type", "a"}, {"RETRY-after", "1"}, {"retry-After", "2"}};
  ASSERT_NE(find_header(headers, "retry-after"), nullptr);
  EXPECT_EQ(*find_header(headers, "retry-after"), "1");
  EXPECT_EQ(*find_header(headers, "CONTENT-TYPE"), "a");
  EXPECT_EQ(find_header(headers, "content"), nullptr);
  EXPECT_EQ(find_header({}, "x"), nullptr);
}

}  // namespace
}  // namespace allm::exchange_test
