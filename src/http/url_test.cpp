#include "http/url.hpp"

#include <gtest/gtest.h>

namespace allm::url_test {
namespace {

TEST(ShownUrl, HasNoCredentialsAndNoQuery) {
  EXPECT_EQ(shown_url("https://h:1/v1/models/m:go?key=secret#x"), "https://h:1/v1/models/m:go");
  EXPECT_EQ(shown_url("https://user:p@ss@h/v1"), "https://h/v1");
  EXPECT_EQ(shown_url("https://user:pass@h?x=@y"), "https://h");
  EXPECT_EQ(shown_url("https://h/a@b"), "https://h/a@b");
  EXPECT_EQ(shown_url("user:pass@h/a"), "h/a");
  EXPECT_EQ(shown_url("h"), "h");
  EXPECT_EQ(shown_url(""), "");
}

}  // namespace
}  // namespace allm::url_test
