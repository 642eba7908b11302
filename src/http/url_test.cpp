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

TEST(LoopbackHost, HasManyForms) {
  for (const char* host : {"localhost", "a.localhost", "127.0.0.1", "127.255.0.9", "127.1", "0x7f000001", "2130706433",
                           "0.0.0.0", "::1", "::", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(is_loopback_host(host)) << host;
  }
  for (const char* host : {"", "localhost.test", "notlocalhost", "127.0.0.1.test", "128.0.0.1", "0127.0.0.1", "::2",
                           "::ffff:10.0.0.1", "1270.0.0.1", "feed", "10.0.0.127"}) {
    EXPECT_FALSE(is_loopback_host(host)) << host;
  }
}

TEST(PrivateUrl, IsHttpsOrLoopback) {
  for (const char* url :
       {"https://h/v1", "HTTPS://h", "http://localhost:1/v1", "http://user@[::1]:1/", "http://127.0.0.1"}) {
    EXPECT_TRUE(is_private_url(url)) << url;
  }
  for (const char* url : {"http://h/v1", "http://localhost@h/", "http://h?@localhost", "http://h#@localhost/",
                          "http://h\\@localhost/", "localhost", "ftp://localhost", "http://127.0.0.1.h/"}) {
    EXPECT_FALSE(is_private_url(url)) << url;
  }
}

}  // namespace
}  // namespace allm::url_test
