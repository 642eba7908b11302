#include "allm/json.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace allm::json_test {
namespace {

const FieldError& field_error(const Error& error) { return error.get_if<ValidationError>()->errors.at(0); }

// "<path> <reason>" of a text that must not parse.
std::string refusal(std::string_view text, const ReadLimits& limits = {}) {
  const Result<Json> result = parse_json(text, limits);
  if (result.has_value()) return "accepted";
  EXPECT_TRUE(result.error().is<ValidationError>(ValidationError::Reason::invalid_request));
  EXPECT_EQ(result.error().get_if<ValidationError>()->errors.size(), 1U);
  return to_string(field_error(result.error()).path) + " " + field_error(result.error()).reason;
}

std::string refusal_to_write(const Json& value) {
  const Result<std::string> result = write_json(value);
  if (result.has_value()) return "accepted";
  return to_string(field_error(result.error()).path) + " " + field_error(result.error()).reason;
}

std::string rewritten(std::string_view text) {
  const Result<Json> value = parse_json(text);
  return value.has_value() ? write_json(*value).value_or("not written") : value.error().message();
}

std::string nested(std::size_t depth, std::string_view inner = "") {
  return std::string(depth, '[') + std::string(inner) + std::string(depth, ']');
}

TEST(ParseJson, KeepsValuesAndTheOrderOfKeys) {
  const std::string text = R"({"z":1,"a":[true,false,null,-5,"x"],"m":{"b":{},"a":[]}})";
  EXPECT_EQ(rewritten(text), text);
}

TEST(ParseJson, KeepsKindsOfNumbers) {
  const Json value = *parse_json("[0,7,-7,18446744073709551615,1.0,-0.0,1e22,5e-324]");
  EXPECT_TRUE(value[0].is_number_unsigned());
  EXPECT_TRUE(value[1].is_number_unsigned());
  EXPECT_TRUE(value[2].is_number_integer() && !value[2].is_number_unsigned());
  EXPECT_EQ(value[3].get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(value[4].is_number_float());
  EXPECT_TRUE(std::signbit(value[5].get<double>()));
  EXPECT_EQ(write_json(value), "[0,7,-7,18446744073709551615,1.0,-0.0,1e+22,5e-324]");
}

TEST(ParseJson, MakesDoublesOfIntegersBeyond64Bits) {
  const Json value = *parse_json(R"({"a":[18446744073709551616,-9223372036854775809,1],"b":"x"})");
  EXPECT_EQ(value["a"][0].get<double>(), 0x1p64);
  EXPECT_EQ(value["a"][1].get<double>(), -0x1p63);
  EXPECT_TRUE(value["a"][2].is_number_unsigned());
  EXPECT_EQ(value["b"], "x");
}

TEST(ParseJson, SaysWhatIsBrokenAndWhere) {
  for (const std::string_view text : {"",      " ",     "nul",      "[1,2",           "[1,]", "{\"a\" 1}", "{a:1}",
                                      "[1] 2", "'x'",   "\"\\x\"",  "\"\\ud800\"",    "01",   "1.",        "1e999",
                                      "-",     "[1 2]", "\"a\nb\"", "\xEF\xBB\xBF[]", "NaN",  "\"unclosed"}) {
    EXPECT_EQ(refusal(text), "json malformed") << text;
  }
  EXPECT_EQ(parse_json("[1, x]").error().message(),
            "malformed JSON at byte 4: syntax error while parsing value - invalid literal");
}

TEST(ParseJson, RefusesWhatIsNoUtf8) {
  for (const std::string_view text : {"\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xe2\x82\"", "{\"\xff\":1}"}) {
    EXPECT_EQ(refusal(text), "json malformed");
    // Whatever the text holds, the error can be shown and written.
    EXPECT_TRUE(write_json(parse_json(text).error().message()).has_value());
  }
}

TEST(ParseJson, RefusesRepeatedKeysWithTheirPath) {
  EXPECT_EQ(refusal(R"({"a":[1,{"b":1,"c":2,"b":3}]})"), "a[1].b duplicate_key");
  // The same through the reader for large numbers.
  EXPECT_EQ(refusal(R"({"a":[99999999999999999999,{"b":1,"b":3}]})"), "a[1].b duplicate_key");
  std::string many = "{";
  for (int i = 0; i < 100; ++i) many += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_EQ(refusal(many + "\"k3\":0}"), "k3 duplicate_key");
  EXPECT_EQ(refusal(many + "\"k77\":0}"), "k77 duplicate_key");
  EXPECT_EQ(refusal(many + "\"k100\":0}"), "accepted");
}

TEST(ParseJson, LimitsDepth) {
  EXPECT_EQ(refusal(nested(128)), "accepted");
  EXPECT_EQ(refusal(nested(128, "1")), "accepted");
  EXPECT_EQ(refusal(nested(129)), "json too_deep");
  EXPECT_EQ(refusal(nested(129, "1")), "json too_deep");
  EXPECT_EQ(refusal(nested(129, "99999999999999999999")), "json too_deep");
  EXPECT_EQ(refusal(nested(3), {.max_depth = 2}), "json too_deep");
  EXPECT_EQ(refusal("7", {.max_depth = 0}), "accepted");
  EXPECT_EQ(refusal("[]", {.max_depth = 0}), "json too_deep");
  EXPECT_EQ(refusal(nested(128)), "accepted");
}

TEST(ParseJson, SurvivesAHundredThousandBrackets) {
  EXPECT_EQ(refusal(nested(100'000)), "json too_deep");
  EXPECT_EQ(refusal(std::string(100'000, '[')), "json too_deep");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(refusal(objects), "json too_deep");
}

TEST(ParseJson, NeverNestsDeeperThanTheStackBears) {
  EXPECT_EQ(refusal(nested(1000, "1"), {.max_depth = 1'000'000}), "accepted");
  EXPECT_EQ(refusal(nested(1001, "1"), {.max_depth = 1'000'000}), "json too_deep");
  EXPECT_EQ(refusal(nested(100'000), {.max_depth = 1'000'000}), "json too_deep");
}

TEST(ParseJson, LimitsSizes) {
  EXPECT_EQ(refusal("[1,2,3]", {.max_bytes = 7}), "accepted");
  EXPECT_EQ(refusal("[1,2,3]", {.max_bytes = 6}), "json too_large");
  EXPECT_EQ(refusal(R"({"a":["12345"]})", {.max_string_bytes = 5}), "accepted");
  EXPECT_EQ(refusal(R"({"a":["123456"]})", {.max_string_bytes = 5}), "a[0] too_large");
  EXPECT_EQ(refusal(R"({"123456":1})", {.max_string_bytes = 5}), "123456 too_large");
  EXPECT_EQ(refusal(R"({"a":[1,2,3]})", {.max_items = 3}), "accepted");
  EXPECT_EQ(refusal(R"({"a":[1,2,3,4]})", {.max_items = 3}), "a too_large");
  EXPECT_EQ(refusal(R"({"a":{"a":1,"b":2,"c":3,"d":4}})", {.max_items = 3}), "a too_large");
  // The same through the reader for large numbers.
  EXPECT_EQ(refusal(R"({"a":[99999999999999999999,"123456"]})", {.max_string_bytes = 5}), "a[1] too_large");
  EXPECT_EQ(refusal(R"({"a":[99999999999999999999,2,3,4]})", {.max_items = 3}), "a[3] too_large");
}

TEST(ParseJson, WorksOnManyThreadsAndAfterLargeTexts) {
  const std::string large = "[\"" + std::string(2U << 20U, 'x') + "\"]";
  std::vector<std::jthread> threads;
  std::atomic<int> equal = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      equal += rewritten(large) == large;
      equal += rewritten("[1]") == "[1]";
    });
  }
  threads.clear();
  EXPECT_EQ(equal, 8);
}

TEST(WriteJson, EscapesOnlyWhatItMust) {
  EXPECT_EQ(write_json("a/b\x7f é 你 😀"), "\"a/b\x7f é 你 😀\"");
  EXPECT_EQ(write_json("\"\\\b\f\n\r\t"), R"("\"\\\b\f\n\r\t")");
  EXPECT_EQ(write_json(std::string("\0\x01\x1f", 3)), R"("\u0000\u0001\u001f")");
}

// The scan takes eight bytes at a time: every position and every byte must be right.
TEST(WriteJson, EscapesAtEveryPosition) {
  for (std::size_t length = 1; length < 20; ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      for (int byte = 0; byte < 128; ++byte) {
        std::string text(length, 'x');
        text[at] = static_cast<char>(byte);
        const std::string written = *write_json(text);
        const bool escaped = byte < 0x20 || byte == '"' || byte == '\\';
        EXPECT_EQ(written.find('\\') != std::string::npos, escaped);
        EXPECT_EQ(Json::parse(written), text);
      }
    }
  }
}

TEST(WriteJson, WritesLongTexts) {
  for (const std::size_t size : {4095U, 4096U, 4097U, 100'000U}) {
    std::string text(size, '\x01');
    EXPECT_EQ(*parse_json(*write_json(text)), text);
    text.assign(size, 'y');
    EXPECT_EQ(*parse_json(*write_json(text)), text);
  }
}

TEST(WriteJson, NamesThePathOfWhatJsonCannotCarry) {
  EXPECT_EQ(refusal_to_write({{"a", {1, std::nan("")}}}), "a[1] not_a_number");
  EXPECT_EQ(refusal_to_write({{"a", {{"b", -std::numeric_limits<double>::infinity()}}}}), "a.b not_a_number");
  EXPECT_EQ(refusal_to_write({{"a", Json::binary({1, 2})}}), "a unsupported_value");
  EXPECT_EQ(refusal_to_write(Json::binary({1, 2})), "json unsupported_value");
  for (const char* text : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x82", "12345678\x80"}) {
    EXPECT_EQ(refusal_to_write({1, text}), "[1] invalid_utf8");
  }
  // The path of a broken key is itself fit to be written.
  EXPECT_EQ(refusal_to_write({{"k\xff", 1}}), "k? invalid_utf8");
}

TEST(WriteJson, RefusesToNestDeeperThanTheStackBears) {
  Json value;
  for (int i = 0; i < 1000; ++i) value = Json::array({std::move(value)});
  EXPECT_EQ(refusal_to_write(value), "accepted");
  value = Json::array({std::move(value)});
  EXPECT_EQ(refusal_to_write(value), "json too_deep");
  for (int i = 0; i < 200'000; ++i) {
    Json outer = Json::object();
    outer["a"] = std::move(value);
    value = std::move(outer);
  }
  EXPECT_EQ(refusal_to_write(value), "json too_deep");
}

TEST(JsonEqual, ComparesByValue) {
  const auto equal = [](std::string_view a, std::string_view b) { return json_equal(Json::parse(a), Json::parse(b)); };
  EXPECT_TRUE(equal(R"({"a":1,"b":[2.0,{"c":null,"d":"x"}]})", R"({"b":[2,{"d":"x","c":null}],"a":1.0})"));
  EXPECT_FALSE(equal(R"({"a":1,"b":2})", R"({"a":1,"c":2})"));
  EXPECT_FALSE(equal(R"({"a":1,"b":2})", R"({"b":1,"a":2})"));
  EXPECT_FALSE(equal(R"({"a":1})", R"({"a":1,"b":2})"));
  EXPECT_FALSE(equal("[1,2]", "[2,1]"));
  EXPECT_FALSE(equal("[1]", "[1,1]"));
  EXPECT_FALSE(equal("1", "\"1\""));
  EXPECT_FALSE(equal("0", "false"));
  EXPECT_TRUE(equal("null", "null"));
}

TEST(JsonEqual, ComparesNumbersExactly) {
  EXPECT_TRUE(json_equal(Json(5), Json(5U)));
  EXPECT_FALSE(json_equal(Json(-1), Json(std::numeric_limits<std::uint64_t>::max())));
  EXPECT_TRUE(json_equal(Json(-3), Json(-3.0)));
  EXPECT_FALSE(json_equal(Json(3), Json(3.5)));
  EXPECT_FALSE(json_equal(Json(9007199254740993), Json(9007199254740992.0)));
  EXPECT_FALSE(json_equal(Json(std::numeric_limits<std::uint64_t>::max()), Json(0x1p64)));
  EXPECT_FALSE(json_equal(Json(1), Json(std::nan(""))));
}

TEST(JsonEqual, ComparesValuesOfAnyDepth) {
  const auto deep = [](int depth) {
    Json value;
    for (int i = 0; i < depth; ++i) value = Json::array({std::move(value)});
    return value;
  };
  EXPECT_TRUE(json_equal(deep(200'000), deep(200'000)));
  EXPECT_FALSE(json_equal(deep(200'000), deep(200'001)));
}

}  // namespace
}  // namespace allm::json_test
