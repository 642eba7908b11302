#include "allm/describe.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "allm/schema.hpp"

#include "tests/cases.hpp"

namespace app {

enum class Unit { celsius, fahrenheit };
inline allm::EnumValues<Unit> describe(allm::TypeTag<Unit>) {
  return {{Unit::celsius, "celsius"}, {Unit::fahrenheit, "fahrenheit", "for users in the US"}};
}

struct WeatherArgs {
  std::string city;
  std::optional<int> days;
  Unit unit = Unit::celsius;
  std::vector<std::string> tags;

  static allm::Fields<WeatherArgs> describe() {
    return {
        allm::field("city", &WeatherArgs::city, "City name.").min_length(2),
        allm::field("days", &WeatherArgs::days, "How many days.").minimum(1).maximum(14),
        allm::field("unit", &WeatherArgs::unit, "Unit of temperatures.").defaulted(),
        allm::field("tags", &WeatherArgs::tags).max_items(2).default_value({"any"}),
    };
  }
  bool operator==(const WeatherArgs&) const = default;
};

// A type without a description of its own, as in another library.
struct Point {
  double x = 0;
  double y = 0;
  bool operator==(const Point&) const = default;
};
inline allm::Fields<Point> describe(allm::TypeTag<Point>) {
  return {allm::field("x", &Point::x), allm::field("y", &Point::y)};
}

struct Everything {
  enum class Size { small = -1, large = 7 };
  friend allm::EnumValues<Size> describe(allm::TypeTag<Size>) {
    return {{Size::small, "small"}, {Size::large, "large"}};
  }

  bool flag = false;
  std::int8_t i8 = 0;
  std::uint8_t u8 = 0;
  std::int64_t i64 = 0;
  std::uint64_t u64 = 0;
  float f = 0;
  double d = 0;
  std::string text;
  Size size = Size::small;
  Point point;
  allm::Json any;
  std::optional<std::string> maybe;
  std::optional<Point> maybe_point;
  std::optional<int> three_or_none = 3;
  std::vector<bool> bits;
  std::vector<Point> points;
  std::vector<std::vector<int>> grid;
  std::vector<std::optional<int>> gaps;
  std::map<std::string, Point> named;

  static allm::Fields<Everything> describe() {
    return {
        allm::field("flag", &Everything::flag),
        allm::field("i8", &Everything::i8),
        allm::field("u8", &Everything::u8),
        allm::field("i64", &Everything::i64),
        allm::field("u64", &Everything::u64),
        allm::field("f", &Everything::f),
        allm::field("d", &Everything::d),
        allm::field("text", &Everything::text),
        allm::field("size", &Everything::size),
        allm::field("point", &Everything::point),
        allm::field("any", &Everything::any),
        allm::field("maybe", &Everything::maybe),
        allm::field("maybe_point", &Everything::maybe_point),
        allm::field("three_or_none", &Everything::three_or_none).defaulted(),
        allm::field("bits", &Everything::bits),
        allm::field("points", &Everything::points),
        allm::field("grid", &Everything::grid),
        allm::field("gaps", &Everything::gaps),
        allm::field("named", &Everything::named),
    };
  }
  bool operator==(const Everything&) const = default;
};

struct Node {
  std::string name;
  std::vector<Node> children;
  static allm::Fields<Node> describe() {
    return {allm::field("name", &Node::name), allm::field("children", &Node::children).defaulted()};
  }
  bool operator==(const Node&) const = default;
};

struct Forest {
  Node oak;
  std::optional<Node> elm;
  static allm::Fields<Forest> describe() {
    return {allm::field("oak", &Forest::oak), allm::field("elm", &Forest::elm)};
  }
};

struct Base {
  int id = 0;
};
struct Derived : Base {
  std::string name;
  static allm::Fields<Derived> describe() {
    return {allm::field("id", &Derived::id), allm::field("name", &Derived::name)};
  }
};

struct Rules {
  std::optional<std::string> code;
  std::optional<std::string> color;
  std::optional<std::string> broken;
  std::optional<double> ratio;
  std::optional<std::vector<int>> list;
  static allm::Fields<Rules> describe() {
    return {allm::field("code", &Rules::code).pattern("^[A-Z]{3}$").min_length(3).max_length(3),
            allm::field("color", &Rules::color).one_of({"red", "green"}),
            allm::field("broken", &Rules::broken).pattern("("), allm::field("ratio", &Rules::ratio).maximum(0.5),
            allm::field("list", &Rules::list).min_items(1)};
  }
};

struct Nothing {
  static allm::Fields<Nothing> describe() { return {}; }
};

}  // namespace app

namespace allm::describe_test {
namespace {

const int kCasesSet = testing::set_property_cases(100);

using app::Derived;
using app::Everything;
using app::Forest;
using app::Node;
using app::Nothing;
using app::Point;
using app::Rules;
using app::Unit;
using app::WeatherArgs;

// The errors of arguments: as lines "path reason", and as the message.
struct Complaint {
  std::vector<std::string> errors;
  std::string message;
};

template <class T>
Complaint complaint(const Json& json) {
  const Result<T> result = arguments_from_json<T>(json);
  if (result.has_value()) return {};
  const Error& error = result.error();
  EXPECT_TRUE(error.is<ValidationError>(ValidationError::Reason::invalid_request));
  Complaint complaint = {.errors = {}, .message = error.message()};
  for (const FieldError& field : error.get_if<ValidationError>()->errors) {
    complaint.errors.push_back(to_string(field.path) + " " + field.reason);
  }
  return complaint;
}

using Lines = std::vector<std::string>;

TEST(Describe, SchemaHasEverythingThatTheDescriptionHas) {
  EXPECT_EQ(schema_of<WeatherArgs>(), Json::parse(R"({
    "type": "object",
    "properties": {
      "city": {"type": "string", "minLength": 2, "description": "City name."},
      "days": {"type": ["integer", "null"], "minimum": 1, "maximum": 14, "description": "How many days."},
      "unit": {"type": "string", "enum": ["celsius", "fahrenheit"],
               "description": "Unit of temperatures. fahrenheit: for users in the US", "default": "celsius"},
      "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "default": ["any"]}
    },
    "required": ["city"],
    "additionalProperties": false
  })"));
}

TEST(Describe, SchemaOfEveryTypeOfField) {
  const Json properties = schema_of<Everything>()["properties"];
  const Json point = Json::parse(R"({"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
                                     "required": ["x", "y"], "additionalProperties": false})");
  EXPECT_EQ(properties["flag"], Json::parse(R"({"type": "boolean"})"));
  EXPECT_EQ(properties["i8"], Json::parse(R"({"type": "integer", "minimum": -128, "maximum": 127})"));
  EXPECT_EQ(properties["u8"], Json::parse(R"({"type": "integer", "minimum": 0, "maximum": 255})"));
  EXPECT_EQ(properties["i64"], Json::parse(R"({"type": "integer"})"));
  EXPECT_EQ(properties["u64"], Json::parse(R"({"type": "integer", "minimum": 0})"));
  EXPECT_EQ(properties["f"], Json::parse(R"({"type": "number"})"));
  EXPECT_EQ(properties["size"], Json::parse(R"({"type": "string", "enum": ["small", "large"]})"));
  EXPECT_EQ(properties["point"], point);
  EXPECT_EQ(properties["any"], Json::object());
  EXPECT_EQ(properties["maybe"], Json::parse(R"({"type": ["string", "null"]})"));
  EXPECT_EQ(properties["maybe_point"]["type"], Json::parse(R"(["object", "null"])"));
  EXPECT_EQ(properties["three_or_none"], Json::parse(R"({"type": ["integer", "null"], "default": 3})"));
  EXPECT_EQ(properties["bits"], Json::parse(R"({"type": "array", "items": {"type": "boolean"}})"));
  EXPECT_EQ(properties["points"]["items"], point);
  EXPECT_EQ(properties["grid"]["items"], Json::parse(R"({"type": "array", "items": {"type": "integer"}})"));
  EXPECT_EQ(properties["gaps"]["items"], Json::parse(R"({"type": ["integer", "null"]})"));
  EXPECT_EQ(properties["named"]["additionalProperties"], point);
}

TEST(Describe, SchemaOfAStructWithoutFieldsIsAnEmptyObject) {
  EXPECT_EQ(schema_of<Nothing>(),
            Json::parse(R"({"type": "object", "properties": {}, "additionalProperties": false})"));
  EXPECT_TRUE(arguments_from_json<Nothing>(Json::object()).has_value());
  EXPECT_EQ(complaint<Nothing>({{"x", 1}}).message, "x: is not known; there are no arguments");
}

TEST(Describe, SchemaOfARecursiveStructRefersToItself) {
  const Json schema = schema_of<Node>();
  EXPECT_EQ(schema["properties"]["children"]["items"], Json::parse(R"({"$ref": "#"})"));
  EXPECT_TRUE(Schema::compile(schema).has_value());
}

TEST(Describe, RecursiveInnerStructIsDefinedOnce) {
  const Json schema = schema_of<Forest>();
  EXPECT_EQ(schema["properties"]["oak"], Json::parse(R"({"$ref": "#/$defs/oak"})"));
  EXPECT_EQ(schema["properties"]["elm"], Json::parse(R"({"anyOf": [{"$ref": "#/$defs/oak"}, {"type": "null"}]})"));
  EXPECT_EQ(schema["$defs"]["oak"]["properties"]["children"]["items"], Json::parse(R"({"$ref": "#/$defs/oak"})"));
  const Result<Schema> compiled = Schema::compile(schema);
  ASSERT_TRUE(compiled.has_value());
  EXPECT_TRUE(compiled->accepts(Json::parse(R"({"oak": {"name": "a", "children": [{"name": "b"}]}, "elm": null})")));
  EXPECT_FALSE(compiled->accepts(Json::parse(R"({"oak": {"name": "a", "children": [{"nam": "b"}]}})")));
}

TEST(Describe, ReadsGivenMembersAndUsesDefaultsForTheRest) {
  const Result<WeatherArgs> args = arguments_from_json<WeatherArgs>({{"city", "Rome"}});
  ASSERT_TRUE(args.has_value());
  EXPECT_EQ(*args, (WeatherArgs{.city = "Rome", .days = std::nullopt, .unit = Unit::celsius, .tags = {"any"}}));

  const Json full = {{"tags", {"a", "b"}}, {"unit", "fahrenheit"}, {"days", 3}, {"city", "Rome"}};
  EXPECT_EQ(*arguments_from_json<WeatherArgs>(full),
            (WeatherArgs{.city = "Rome", .days = 3, .unit = Unit::fahrenheit, .tags = {"a", "b"}}));
  EXPECT_EQ(arguments_from_json<WeatherArgs>({{"city", "Rome"}, {"days", nullptr}})->days, std::nullopt);
}

TEST(Describe, OptionalWithADefaultDistinguishesNullFromMissing) {
  Everything value;
  value.three_or_none = std::nullopt;
  EXPECT_EQ(json_of(value)["three_or_none"], nullptr);
  Json json = json_of(value);
  EXPECT_EQ(arguments_from_json<Everything>(json)->three_or_none, std::nullopt);
  json.erase("three_or_none");
  EXPECT_EQ(arguments_from_json<Everything>(json)->three_or_none, 3);
}

TEST(Describe, ReportsEveryErrorWithItsPath) {
  const Json json = Json::parse(R"({"days": 40, "unit": "kelvin", "tags": ["a", 2], "wether": 1})");
  const Complaint all = complaint<WeatherArgs>(json);
  EXPECT_EQ(all.errors,
            (Lines{"city required", "days maximum", "unit enum", "tags[1] type", "wether additional_properties"}));
  EXPECT_NE(all.message.find("city: is required; days: "), std::string::npos) << all.message;
  EXPECT_NE(all.message.find("unit: must be one of \"celsius\", \"fahrenheit\", got \"kelvin\""), std::string::npos);
  EXPECT_NE(all.message.find("tags[1]: must be a string, got integer"), std::string::npos);
  EXPECT_NE(all.message.find("wether: is not known; known are city, days, unit, tags"), std::string::npos);
}

TEST(Describe, PathsReachIntoNestedValues) {
  Json json = json_of(Everything());
  json["points"] = Json::parse(R"([{"x": 1, "y": 2}, {"x": "1", "z": 0}])");
  json["grid"] = Json::parse("[[1], [2, true]]");
  json["named"] = Json::parse(R"({"home": {"x": 1, "y": null}})");
  json["maybe_point"] = 5;
  EXPECT_EQ(complaint<Everything>(json).errors,
            (Lines{"maybe_point type", "points[1].x type", "points[1].y required", "points[1].z additional_properties",
                   "grid[1][1] type", "named.home.y type"}));
}

TEST(Describe, ErrorsNameTheExpectedAndTheActualType) {
  Json json = json_of(Everything());
  json["flag"] = "true";
  json["i64"] = "1";
  json["d"] = "1";
  json["text"] = 1;
  json["size"] = 7;
  json["point"] = Json::array();
  json["bits"] = Json::object();
  json["named"] = 1.5;
  json["any"] = nullptr;
  EXPECT_EQ(
      complaint<Everything>(json).message,
      "flag: must be a boolean, got string; i64: must be an integer, got string; d: must be a number, got string; "
      "text: must be a string, got integer; size: must be one of \"small\", \"large\", got 7; "
      "point: must be an object, got array; bits: must be an array, got object; named: must be an object, got "
      "number");
}

TEST(Describe, ArgumentsThatAreNotAnObjectAreRefused) {
  for (const Json& json : {Json(), Json(1), Json("x"), Json::array()}) {
    EXPECT_EQ(complaint<WeatherArgs>(json).errors, Lines{" type"});
  }
  EXPECT_EQ(complaint<WeatherArgs>(Json::array()).message, "must be an object, got array");
}

TEST(Describe, IntegersMustFitTheirType) {
  const auto error_of = [](const char* field, const Json& value) {
    Json json = json_of(Everything());
    json[field] = value;
    return complaint<Everything>(json).message;
  };
  EXPECT_EQ(error_of("u8", 300), "u8: must be an integer from 0 to 255, got 300");
  EXPECT_EQ(error_of("u8", -1), "u8: must be an integer from 0 to 255, got -1");
  EXPECT_EQ(error_of("u8", 1.5), "u8: must be an integer from 0 to 255, got 1.5");
  EXPECT_EQ(error_of("i8", -129), "i8: must be an integer from -128 to 127, got -129");
  EXPECT_EQ(error_of("i64", 9223372036854775808U),
            "i64: must be an integer from -9223372036854775808 to 9223372036854775807, got 9223372036854775808");
  EXPECT_NE(error_of("i64", 9223372036854775808.0), "");  // 2^63 is one more than the largest value
  EXPECT_NE(error_of("u64", 18446744073709551616.0), "");
  EXPECT_NE(error_of("i64", std::numeric_limits<double>::quiet_NaN()), "");
  EXPECT_EQ(error_of("u8", 255), "");
  EXPECT_EQ(error_of("u8", 255.0), "");
  EXPECT_EQ(error_of("i64", -9223372036854775808.0), "");
  EXPECT_EQ(error_of("u64", 18446744073709551615U), "");
  EXPECT_EQ(error_of("u64", 1.0e19), "");
}

TEST(Describe, WholeNumbersAreIntegersAndIntegersAreNumbers) {
  Json json = json_of(Everything());
  json["i8"] = 1.0;
  json["d"] = 2;
  json["f"] = -3;
  const Result<Everything> value = arguments_from_json<Everything>(json);
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->i8, 1);
  EXPECT_EQ(value->d, 2.0);
  EXPECT_EQ(value->f, -3.0F);
}

TEST(Describe, NumbersBeyondTheTypeAreRefused) {
  Json json = json_of(Everything());
  json["f"] = 1e300;
  json["d"] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(complaint<Everything>(json).errors, (Lines{"f maximum", "d maximum"}));
}

TEST(Describe, RulesAreCheckedOnlyForValuesOfTheRightType) {
  EXPECT_EQ(complaint<Rules>({{"code", "ab1"}}).errors, Lines{"code pattern"});
  EXPECT_EQ(complaint<Rules>({{"code", "ABCD"}}).errors, (Lines{"code max_length", "code pattern"}));
  EXPECT_EQ(complaint<Rules>({{"color", "blue"}}).errors, Lines{"color enum"});
  EXPECT_EQ(complaint<Rules>({{"ratio", 1}}).errors, Lines{"ratio maximum"});
  EXPECT_EQ(complaint<Rules>({{"ratio", "1"}}).errors, Lines{"ratio type"});
  EXPECT_EQ(complaint<Rules>({{"list", Json::array()}}).errors, Lines{"list min_items"});
  EXPECT_EQ(complaint<Rules>({{"code", nullptr}, {"color", nullptr}, {"ratio", nullptr}, {"list", nullptr}}).errors,
            Lines{});
  EXPECT_EQ(complaint<Rules>({{"code", "ABC"}, {"color", "red"}, {"ratio", 0.5}, {"list", {1}}}).errors, Lines{});
}

TEST(Describe, LengthsCountCharactersNotBytes) {
  EXPECT_EQ(complaint<WeatherArgs>({{"city", "Ö"}}).errors, Lines{"city min_length"});
  EXPECT_EQ(complaint<WeatherArgs>({{"city", "Öl"}}).errors, Lines{});
}

TEST(Describe, OneOfAllowsNullInTheSchemaOfAnOptional) {
  EXPECT_EQ(schema_of<Rules>()["properties"]["color"],
            Json::parse(R"({"type": ["string", "null"], "enum": ["red", "green", null]})"));
}

TEST(Describe, AnInvalidPatternIsReportedAndNotIgnored) {
  EXPECT_EQ(complaint<Rules>({{"broken", "x"}}).errors, Lines{"broken invalid_schema"});
  EXPECT_FALSE(Schema::compile(schema_of<Rules>()).has_value());
}

TEST(Describe, ErrorsBeyondTheSixteenthAreOnlyCounted) {
  Json json = json_of(Everything());
  json["grid"] = Json::array({Json::array()});
  for (int i = 0; i < 1000; ++i) json["grid"][0].push_back("x");
  const Complaint all = complaint<Everything>(json);
  EXPECT_EQ(all.errors.size(), 16U);
  EXPECT_TRUE(all.message.ends_with("; and 984 more")) << all.message;
}

TEST(Describe, LongValuesAreCutInMessagesAtACharacter) {
  Json json = json_of(Everything());
  std::string name;
  for (int i = 0; i < 100; ++i) name += "ö";
  json["size"] = name;
  const std::string message = complaint<Everything>(json).message;
  EXPECT_TRUE(message.ends_with("ö...")) << message;
  EXPECT_LT(message.size(), 200U);
  json["size"] = "\xff\xfe";
  EXPECT_NE(complaint<Everything>(json).message, "");
}

TEST(Describe, DepthIsLimited) {
  Json json = {{"name", "leaf"}};
  for (int i = 0; i < 200; ++i) {
    Json parent = {{"name", "n"}};
    parent["children"].push_back(std::move(json));
    json = std::move(parent);
  }
  const Complaint deep = complaint<Node>(json);
  ASSERT_EQ(deep.errors.size(), 1U);
  EXPECT_TRUE(deep.errors[0].ends_with(" too_deep"));
}

TEST(Describe, FieldsOfABaseBelongToTheStruct) {
  const Result<Derived> value = arguments_from_json<Derived>({{"id", 4}, {"name", "n"}});
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->id, 4);
  EXPECT_EQ(json_of(*value), Json({{"id", 4}, {"name", "n"}}));
}

TEST(Describe, LocalStructsCanBeDescribed) {
  struct Local {
    int n = 0;
    static Fields<Local> describe() { return {field("n", &Local::n)}; }
  };
  EXPECT_EQ(arguments_from_json<Local>({{"n", 2}})->n, 2);
}

TEST(Describe, WritesContainersAndUnnamedEnumerators) {
  EXPECT_EQ(json_of(std::vector<Point>{{1, 2}}), Json::parse(R"([{"x": 1.0, "y": 2.0}])"));
  EXPECT_EQ(json_of(static_cast<Unit>(9)), Json(9));
}

static_assert(Described<WeatherArgs> && Described<Point> && !Described<int> && !Described<std::string>);
template <class F>
concept HasMinimum = requires(F f) { f.minimum(1); };
static_assert(HasMinimum<Field<WeatherArgs, int>> && HasMinimum<Field<WeatherArgs, std::optional<double>>>);
static_assert(!HasMinimum<Field<WeatherArgs, std::string>> && !HasMinimum<Field<WeatherArgs, bool>>);

// --- Random values ---

rc::Gen<double> finite() {
  return rc::gen::map(rc::gen::arbitrary<double>(), [](double d) { return std::isfinite(d) ? d : 0.0; });
}
rc::Gen<Point> point() {
  return rc::gen::build<Point>(rc::gen::set(&Point::x, finite()), rc::gen::set(&Point::y, finite()));
}
template <class T>
rc::Gen<std::optional<T>> maybe(rc::Gen<T> gen) {
  return rc::gen::map(rc::gen::pair(rc::gen::arbitrary<bool>(), std::move(gen)), [](const std::pair<bool, T>& pair) {
    return pair.first ? std::optional<T>(pair.second) : std::nullopt;
  });
}
rc::Gen<Everything> everything() {
  return rc::gen::exec([] {
    Everything value;
    value.flag = *rc::gen::arbitrary<bool>();
    value.i8 = *rc::gen::arbitrary<std::int8_t>();
    value.u8 = *rc::gen::arbitrary<std::uint8_t>();
    value.i64 = *rc::gen::arbitrary<std::int64_t>();
    value.u64 = *rc::gen::arbitrary<std::uint64_t>();
    value.f = static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 8;
    value.d = *finite();
    value.text = *rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~'));
    value.size = *rc::gen::element(Everything::Size::small, Everything::Size::large);
    value.point = *point();
    value.any = *rc::gen::element(Json(), Json(1), Json("x"), Json::parse(R"({"a": [1, null]})"));
    value.maybe = *maybe(rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~')));
    value.maybe_point = *maybe(point());
    value.three_or_none = *maybe(rc::gen::arbitrary<int>());
    value.bits = *rc::gen::arbitrary<std::vector<bool>>();
    value.points = *rc::gen::container<std::vector<Point>>(point());
    value.grid = *rc::gen::arbitrary<std::vector<std::vector<int>>>();
    value.gaps = *rc::gen::container<std::vector<std::optional<int>>>(maybe(rc::gen::arbitrary<int>()));
    for (const std::string& key : *rc::gen::arbitrary<std::vector<std::string>>()) value.named[key] = Point{1, 2};
    return value;
  });
}

RC_GTEST_PROP(DescribeProperty, AWrittenValueReadsBackEqual, ()) {
  const Everything value = *everything();
  const Result<Everything> back = arguments_from_json<Everything>(json_of(value));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == value);
}

RC_GTEST_PROP(DescribeProperty, SchemaAndParserAgree, ()) {
  static const Schema kSchema = *Schema::compile(schema_of<Everything>());
  Json json = json_of(*everything());
  RC_ASSERT(kSchema.accepts(json));
  // Replaces one member by a value that may be valid or not.
  const auto members = json.size();
  const auto at = static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(members)));
  auto member = json.begin();
  std::advance(member, at);
  *member = *rc::gen::element(Json(), Json(true), Json(-5), Json(200), Json(2.0), Json(0.5), Json(""), Json("small"),
                              Json::array(), Json::array({1}), Json::array({true}), Json::object(),
                              Json::parse(R"({"x": 1, "y": 2})"), Json::parse(R"({"k": {"x": 1, "y": 2}})"));
  RC_ASSERT(kSchema.accepts(json) == arguments_from_json<Everything>(json).has_value());
}

}  // namespace
}  // namespace allm::describe_test
