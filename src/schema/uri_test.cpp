#include "schema/uri.hpp"

#include <gtest/gtest.h>

namespace allm::schema_detail::uri_test {
namespace {

TEST(Uri, ResolvesTheExamplesOfRfc3986) {
  constexpr std::string_view kBase = "http://a/b/c/d;p?q";
  EXPECT_EQ(resolve_uri(kBase, "g:h"), "g:h");
  EXPECT_EQ(resolve_uri(kBase, "g"), "http://a/b/c/g");
  EXPECT_EQ(resolve_uri(kBase, "./g"), "http://a/b/c/g");
  EXPECT_EQ(resolve_uri(kBase, "g/"), "http://a/b/c/g/");
  EXPECT_EQ(resolve_uri(kBase, "/g"), "http://a/g");
  EXPECT_EQ(resolve_uri(kBase, "//g"), "http://g");
  EXPECT_EQ(resolve_uri(kBase, "?y"), "http://a/b/c/d;p?y");
  EXPECT_EQ(resolve_uri(kBase, "g?y"), "http://a/b/c/g?y");
  EXPECT_EQ(resolve_uri(kBase, "#s"), "http://a/b/c/d;p?q#s");
  EXPECT_EQ(resolve_uri(kBase, "g;x?y#s"), "http://a/b/c/g;x?y#s");
  EXPECT_EQ(resolve_uri(kBase, ""), "http://a/b/c/d;p?q");
  EXPECT_EQ(resolve_uri(kBase, "."), "http://a/b/c/");
  EXPECT_EQ(resolve_uri(kBase, ".."), "http://a/b/");
  EXPECT_EQ(resolve_uri(kBase, "../../g"), "http://a/g");
  EXPECT_EQ(resolve_uri(kBase, "../../../../g"), "http://a/g");
  EXPECT_EQ(resolve_uri(kBase, "/./g"), "http://a/g");
  EXPECT_EQ(resolve_uri(kBase, "./g/."), "http://a/b/c/g/");
  EXPECT_EQ(resolve_uri(kBase, "g/./h"), "http://a/b/c/g/h");
  EXPECT_EQ(resolve_uri(kBase, "g/../h"), "http://a/b/c/h");
  EXPECT_EQ(resolve_uri(kBase, "g?y/./x"), "http://a/b/c/g?y/./x");
}

TEST(Uri, ResolvesAgainstBasesThatAreNotAbsolute) {
  EXPECT_EQ(resolve_uri("", "list"), "list");
  EXPECT_EQ(resolve_uri("", "#/$defs/a"), "#/$defs/a");
  EXPECT_EQ(resolve_uri("dir/root", "list"), "dir/list");
  EXPECT_EQ(resolve_uri("http://a", "g"), "http://a/g");
  EXPECT_EQ(resolve_uri("urn:uuid:deadbeef", "#foo"), "urn:uuid:deadbeef#foo");
}

TEST(Uri, DecodesOnlyValidPercentTriplets) {
  EXPECT_EQ(percent_decode("a%25b%22"), "a%b\"");
  EXPECT_EQ(percent_decode("100%"), "100%");
  EXPECT_EQ(percent_decode("%zz%4"), "%zz%4");
}

}  // namespace
}  // namespace allm::schema_detail::uri_test
