#include "schema/number.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace allm::schema_detail::number_test {
namespace {

Number num(const Json& value) { return Number(value); }

constexpr std::uint64_t kTwoTo53 = 9007199254740992;

TEST(Number, IntegersAreRecognisedInEveryNotation) {
  EXPECT_TRUE(num(1).is_integer());
  EXPECT_TRUE(num(1.0).is_integer());
  EXPECT_TRUE(num(-0.0).is_integer());
  EXPECT_TRUE(num(1e300).is_integer());
  EXPECT_FALSE(num(1.5).is_integer());
  EXPECT_FALSE(num(std::nan("")).is_integer());
}

TEST(Number, ComparesIntegersAndDoublesExactly) {
  EXPECT_EQ(num(1), num(1.0));
  EXPECT_EQ(num(0), num(-0.0));
  // These are equal if they are compared as doubles.
  EXPECT_LT(num(static_cast<double>(kTwoTo53)), num(kTwoTo53 + 1));
  EXPECT_LT(num(std::numeric_limits<std::uint64_t>::max()), num(18446744073709551616.0));
  EXPECT_GT(num(std::numeric_limits<std::int64_t>::min()), num(-1e19));
  EXPECT_LT(num(-1), num(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_LT(num(2), num(2.5));
  EXPECT_GT(num(3), num(2.5));
  EXPECT_LT(num(-3), num(-2.5));
  EXPECT_GT(num(-2), num(-2.5));
  EXPECT_GT(num(2.5), num(2));
  EXPECT_FALSE(num(1) == num(std::nan("")));
}

TEST(Number, DividesDecimalsExactly) {
  EXPECT_TRUE(num(0.0075).is_multiple_of(num(0.0001)));
  EXPECT_FALSE(num(0.00751).is_multiple_of(num(0.0001)));
  EXPECT_TRUE(num(19.99).is_multiple_of(num(0.01)));
  EXPECT_TRUE(num(-4.5).is_multiple_of(num(1.5)));
  EXPECT_TRUE(num(0).is_multiple_of(num(0.3)));
  EXPECT_TRUE(num(12391239123).is_multiple_of(num(1e-8)));
  EXPECT_TRUE(num(1e308).is_multiple_of(num(0.5)));
  EXPECT_FALSE(num(1e308).is_multiple_of(num(0.123456789)));
  EXPECT_FALSE(num(1e-300).is_multiple_of(num(1e300)));
  EXPECT_FALSE(num(5e-324).is_multiple_of(num(3)));
  EXPECT_FALSE(num(0.5).is_multiple_of(num(100)));
  EXPECT_FALSE(num(10'000'000'000'000'000'000U).is_multiple_of(num(1e20)));
  EXPECT_TRUE(num(3e20).is_multiple_of(num(1e20)));
  EXPECT_TRUE(num(1.5e22).is_multiple_of(num(100)));
  EXPECT_TRUE(num(std::numeric_limits<std::int64_t>::min()).is_multiple_of(num(2)));
  EXPECT_FALSE(num(std::numeric_limits<std::uint64_t>::max()).is_multiple_of(num(2)));
  EXPECT_FALSE(num(INFINITY).is_multiple_of(num(2)));
}

TEST(Number, ReadsCountsFromAnyIntegerNotation) {
  EXPECT_EQ(num(2.0).natural(), 2U);
  EXPECT_EQ(num(1e300).natural(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(num(-1).natural(), std::nullopt);
  EXPECT_EQ(num(0.5).natural(), std::nullopt);
}

TEST(Number, IsWrittenReadably) {
  EXPECT_EQ(num(-12).to_text(), "-12");
  EXPECT_EQ(num(0.01).to_text(), "0.01");
  EXPECT_EQ(num(5.0).to_text(), "5");
  EXPECT_EQ(num(1e300).to_text(), "1e+300");
}

}  // namespace
}  // namespace allm::schema_detail::number_test
