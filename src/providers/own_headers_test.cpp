#include "providers/own_headers.hpp"

#include <gtest/gtest.h>

namespace allm::own_headers_test {
namespace {

bool is_secret(const std::string& name, const std::string& value = "some-long-value") {
  return OwnHeaders({{name, value}}).has_secret();
}

TEST(OwnHeaders, LookLikeAKeyByTheirName) {
  for (const char* name : {"X-Api-Key", "apikey", "x_key_id", "key", "x-portkey-api-key", "X-Gateway-Token", "Cookie",
                           "Proxy-Credentials", "X-Signature-256"}) {
    EXPECT_TRUE(is_secret(name)) << name;
  }
  for (const char* name : {"X-Team", "x-portkey-provider", "x-portkey-custom-host", "X-Keyboard"}) {
    EXPECT_FALSE(is_secret(name)) << name;
  }
}

TEST(OwnHeaders, LookLikeAKeyByTheirValue) { EXPECT_TRUE(is_secret("X-Team", "sk-proj-abc_DEF-123")); }

}  // namespace
}  // namespace allm::own_headers_test
