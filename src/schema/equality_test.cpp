#include "schema/equality.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace allm::schema_detail::equality_test {
namespace {

bool equal(const Json& a, const Json& b) {
  std::size_t cost = 0;
  const bool result = equal_values(a, b, cost);
  EXPECT_EQ(equal_values(b, a, cost), result);
  EXPECT_TRUE(!result || hash_value(a, cost) == hash_value(b, cost)) << a << " and " << b;
  return result;
}

Json object_of(int first, int last, int step) {
  Json object = Json::object();
  for (int i = first; i != last; i += step) object["key" + std::to_string(i)] = i;
  return object;
}

TEST(Equality, NumbersCompareByValue) {
  EXPECT_TRUE(equal(1, 1.0));
  EXPECT_TRUE(equal(0, -0.0));
  EXPECT_TRUE(equal(std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<std::uint64_t>::max()));
  EXPECT_FALSE(equal(1, true));
  EXPECT_FALSE(equal(0, nullptr));
  EXPECT_FALSE(equal(9007199254740993, 9007199254740992.0));
}

TEST(Equality, ObjectsIgnoreTheOrderOfTheirKeys) {
  EXPECT_TRUE(
      equal(Json::parse(R"({"a":[{"x":1,"y":2}],"b":null})"), Json::parse(R"({"b":null,"a":[{"y":2.0,"x":1}]})")));
  EXPECT_FALSE(equal(Json::parse(R"({"a":1,"b":2})"), Json::parse(R"({"a":2,"b":1})")));
  EXPECT_FALSE(equal(Json::parse(R"({"a":1})"), Json::parse(R"({"b":1})")));
  EXPECT_FALSE(equal(Json::parse("[1,2]"), Json::parse("[2,1]")));
  EXPECT_TRUE(equal(object_of(0, 1000, 1), object_of(999, -1, -1)));
  EXPECT_FALSE(equal(object_of(0, 1000, 1), object_of(1000, 0, -1)));
}

TEST(Equality, DeepValuesHashWithoutDeepRecursion) {
  Json deep = Json::array();
  for (int i = 0; i < 100'000; ++i) {
    Json outer = Json::array();
    outer.push_back(std::move(deep));
    deep = std::move(outer);
  }
  std::size_t cost = 0;
  hash_value(deep, cost);
  EXPECT_TRUE(deeper_than(deep, 500, cost));
  EXPECT_LT(cost, 1000U);
}

TEST(ValueSet, FindsValuesInSmallAndLargeSets) {
  for (const int size : {3, 300}) {
    std::vector<Json> values;
    for (int i = 0; i < size; ++i) values.push_back({{"n", i}, {"text", std::to_string(i)}});
    const ValueSet set(values);
    std::size_t cost = 0;
    EXPECT_TRUE(set.contains(Json{{"text", "2"}, {"n", 2.0}}, cost));
    EXPECT_FALSE(set.contains(Json{{"text", "2"}, {"n", 1}}, cost));
  }
}

TEST(FindEqualItems, NamesTheEarlierItemFirst) {
  for (const std::size_t size : {5U, 5000U}) {
    Json::array_t items;
    for (std::size_t i = 0; i < size; ++i) items.push_back(std::to_string(i));
    std::size_t cost = 0;
    EXPECT_EQ(find_equal_items(items, cost, 1'000'000), std::make_pair(std::size_t{0}, std::size_t{0}));
    items[size - 1] = items[1];
    EXPECT_EQ(find_equal_items(items, cost, 1'000'000), std::make_pair(std::size_t{1}, size - 1));
  }
}

}  // namespace
}  // namespace allm::schema_detail::equality_test
