// Hostile schemas and instances lead to an error, in bounded time and with a bounded stack.
#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include "allm/schema.hpp"

namespace allm::schema_limits_test {
namespace {

Schema compiled(std::string_view text, const SchemaOptions& options = {}) {
  return Schema::compile(Json::parse(text), options).value();
}

Json nested(std::size_t levels, std::string_view key = {}) {
  Json value = Json::array();
  for (std::size_t i = 0; i < levels; ++i) {
    Json outer = key.empty() ? Json::array() : Json::object();
    if (key.empty()) {
      outer.push_back(std::move(value));
    } else {
      outer[std::string(key)] = std::move(value);
    }
    value = std::move(outer);
  }
  return value;
}

// The message of the only error, without the path in front of it.
std::string limit_message(const Schema& schema, const Json& instance) {
  EXPECT_FALSE(schema.accepts(instance));
  const auto errors = schema.validate(instance);
  EXPECT_EQ(errors.size(), 1U);
  if (errors.empty()) return "valid";
  EXPECT_EQ(errors.back().keyword, "");
  const std::string& message = errors.back().message;
  const std::size_t colon = message.rfind(": ");
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

TEST(SchemaLimits, DeepInstancesAreAnErrorAndDoNotOverflowTheStack) {
  const Schema list = compiled(R"({"items": {"$ref": "#"}})");
  EXPECT_EQ(limit_message(list, nested(100'000)), "nested too deeply");
  EXPECT_TRUE(list.accepts(nested(250)));
  EXPECT_EQ(limit_message(compiled(R"({"additionalProperties": {"$ref": "#"}})"), nested(100'000, "a")),
            "nested too deeply");
  EXPECT_EQ(limit_message(compiled(R"({"items": {"$ref": "#"}, "unevaluatedItems": false})"), nested(100'000)),
            "nested too deeply");
}

TEST(SchemaLimits, DepthIsLimitedOnlyWhereTheValueIsChecked) {
  const Json deep = nested(100'000);
  EXPECT_TRUE(compiled(R"({"type": "array"})").accepts(deep));
  EXPECT_FALSE(compiled(R"({"const": [[[]]]})").accepts(deep));
  EXPECT_FALSE(compiled(R"({"enum": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]})").accepts(deep));
  Json twice = Json::array();
  twice.push_back(nested(100'000));
  twice.push_back(nested(100'000));
  EXPECT_EQ(limit_message(compiled(R"({"uniqueItems": true})"), twice), "nested too deeply");
}

TEST(SchemaLimits, ALimitIsNotUndoneByNegation) {
  const Json deep = nested(100'000);
  EXPECT_EQ(limit_message(compiled(R"({"not": {"items": {"not": {"$ref": "#"}}}})"), deep), "nested too deeply");
  constexpr std::string_view kList = R"("$defs": {"list": {"items": {"$ref": "#/$defs/list"}}})";
  for (const std::string_view rule : {R"("not": {"$ref": "#/$defs/list"})", R"("if": {"$ref": "#/$defs/list"})",
                                      R"("anyOf": [{"$ref": "#/$defs/list"}, true])",
                                      R"("contains": {"$ref": "#/$defs/list"}, "minContains": 0, "maxContains": 1)"}) {
    EXPECT_EQ(limit_message(compiled("{" + std::string(rule) + ", " + std::string(kList) + "}"), deep),
              "nested too deeply");
  }
}

TEST(SchemaLimits, DeepSchemasDoNotCompile) {
  Json document = Json::object();
  for (int i = 0; i < 100'000; ++i) {
    Json outer = Json::object();
    outer["not"] = std::move(document);
    document = std::move(outer);
  }
  const auto schema = Schema::compile(document);
  ASSERT_FALSE(schema);
  EXPECT_EQ(schema.error().message(), "invalid schema: nested deeper than 512 levels");
}

TEST(SchemaLimits, LongChainsOfReferencesAreAnErrorAndDoNotOverflowTheStack) {
  Json document = {{"$ref", "#/$defs/d0"}, {"$defs", Json::object()}};
  Json::object_t defs;
  for (int i = 0; i < 20'000; ++i) {
    defs.push_back({"d" + std::to_string(i), {{"$ref", "#/$defs/d" + std::to_string(i + 1)}}});
  }
  defs.push_back({"d20000", {{"type", "integer"}}});
  document["$defs"] = std::move(defs);
  const auto schema = Schema::compile(document);
  ASSERT_TRUE(schema) << schema.error().message();
  EXPECT_EQ(limit_message(*schema, Json(1)), "nested too deeply");
}

TEST(SchemaLimits, LoopsThroughTheDynamicScopeAreAnError) {
  const Schema schema = compiled(R"({"$dynamicAnchor": "a", "$dynamicRef": "#a"})");
  EXPECT_EQ(limit_message(schema, Json(1)), "the schema applies itself to this value without end, by $dynamicRef");
}

// Each definition applies the next one twice.
Json fan_out(const char* keyword) {
  Json document = {{"$ref", "#/$defs/d0"}, {"$defs", Json::object()}};
  for (int i = 0; i < 60; ++i) {
    const Json next = {{"$ref", "#/$defs/d" + std::to_string(i + 1)}};
    document["$defs"]["d" + std::to_string(i)] = {{keyword, {next, next}}};
  }
  document["$defs"]["d60"] = {{"type", "string"}};
  return document;
}

TEST(SchemaLimits, FanOutRunsOutOfSteps) {
  const std::string expected = "checking this value takes too much work; the limit is 10000000 steps";
  EXPECT_EQ(limit_message(*Schema::compile(fan_out("anyOf")), Json(1)), expected);
  EXPECT_EQ(limit_message(*Schema::compile(fan_out("allOf")), Json("x")), expected);
  EXPECT_EQ(limit_message(*Schema::compile(fan_out("oneOf")), Json("x")), expected);
}

TEST(SchemaLimits, ErrorsFoundBeforeALimitIsReachedAreReported) {
  Json document = fan_out("anyOf");
  document["minimum"] = 5;
  document["$ref"] = "#/$defs/d52";
  const auto errors = Schema::compile(document, {.max_steps = 5'000})->validate(Json(1));
  ASSERT_GE(errors.size(), 1U);
  EXPECT_EQ(errors.front().message, "must be at least 5, got 1");
}

TEST(SchemaLimits, LargeArraysAreNotComparedPairwise) {
  Json items = Json::array();
  for (int i = 0; i < 200'000; ++i) items.push_back({{"id", i}});
  const Schema unique = compiled(R"({"uniqueItems": true})");
  EXPECT_TRUE(unique.accepts(items));
  items.push_back({{"id", 77.0}});
  const auto errors = unique.validate(items);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].message, "items must be unique, but items 77 and 200000 are equal");
}

TEST(SchemaLimits, WorkOnLongTextCountsAsSteps) {
  const Schema schema =
      compiled(R"({"allOf": [{"pattern": "(a|b)*c$"}, {"pattern": "(a|b)*d?$"}]})", {.max_steps = 100});
  EXPECT_TRUE(schema.accepts(Json("abc")));
  EXPECT_FALSE(schema.accepts(Json(std::string(100'000, 'a') + "c")));
}

TEST(SchemaLimits, PatternsShareOneMemoryLimit) {
  Json document = {{"allOf", Json::array()}};
  for (int i = 0; i < 100; ++i) document["allOf"].push_back({{"pattern", "^.{1,999}" + std::to_string(i)}});
  const auto schema = Schema::compile(document);
  ASSERT_FALSE(schema);
  EXPECT_NE(schema.error().message().find("the patterns of this schema are too large together"), std::string::npos);
  Json same = {{"allOf", Json::array()}};
  for (int i = 0; i < 100; ++i) same["allOf"].push_back({{"pattern", "^.{1,999}$"}});
  EXPECT_TRUE(Schema::compile(same));
}

TEST(SchemaLimits, MessagesStayShort) {
  const std::string lengthy(100'000, 'x');
  const Schema schema = compiled(R"({"properties": {"a": {"enum": ["y"]}}, "additionalProperties": false})");
  const auto errors = schema.validate({{"a", lengthy}, {"b" + lengthy, 1}});
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_LT(errors[0].message.size(), 200U);
  EXPECT_LT(errors[1].message.size(), 200U);
}

TEST(SchemaLimits, ASchemaMayBeUsedFromManyThreads) {
  const Schema schema = compiled(R"({"patternProperties": {"^a+$": {"uniqueItems": true}}, "required": ["a"]})");
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([schema, i] {
      for (int j = 0; j < 200; ++j) {
        EXPECT_TRUE(schema.accepts({{"a", {i, j + 1000}}}));
        EXPECT_EQ(schema.validate({{"aa", {j, j}}}).size(), 2U);
      }
    });
  }
}

}  // namespace
}  // namespace allm::schema_limits_test
