#include "tools/compact.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/schema.hpp"

namespace allm::compact_test {
namespace {

Tool weather() {
  return {.name = "weather",
          .description = "Weather of a city. Covers 14 days.\nUses the national services.",
          .schema = Json::parse(R"({"type": "object",
            "properties": {"unit": {"type": "string"}, "city": {"type": "string"}, "days": {"type": "integer"},
                           "country": {"type": "string"}},
            "required": ["city", "country"]})"),
          .handler = [](const Json&) { return ok("sunny"); },
          .compact = true,
          .metadata = {{"team", "sky"}}};
}
Tool clock() {
  return {.name = "clock",
          .description = "The time.",
          .schema = Json::parse(R"({"type": "object", "properties": {}})"),
          .handler = [](const Json&) { return ok("noon"); }};
}

// The description of a compact tool that is sent to the model.
std::string sent_description(const Tool& tool) { return project_tools({tool}, std::nullopt).front().description; }
std::string described(std::string description) {
  return sent_description({.name = "t", .description = std::move(description), .compact = true});
}

TEST(CompactTools, AreSentInShortFormFollowedByToolHelp) {
  const std::vector<Tool> sent = project_tools({weather(), clock()}, std::nullopt);
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[0].name, "weather");
  EXPECT_EQ(sent[0].description, "Weather of a city. Args: city, country, [days], [unit] [compact]");
  EXPECT_EQ(sent[0].schema, Json::parse(R"({"type": "object"})"));
  EXPECT_EQ(sent[0].metadata, Json::parse(R"({"team": "sky"})"));
  EXPECT_FALSE(sent[0].handler);
  EXPECT_EQ(sent[1].description, clock().description);
  EXPECT_EQ(sent[1].schema, clock().schema);
  EXPECT_FALSE(sent[1].handler);
  EXPECT_TRUE(is_tool_help(sent[2]));
}

TEST(CompactTools, WithoutAnyToolsAreSentInFull) {
  const std::vector<Tool> sent = project_tools({clock()}, std::nullopt);
  EXPECT_EQ(sent, std::vector{clock()});
  EXPECT_FALSE(sent[0].handler);
  EXPECT_FALSE(has_compact_tools({clock()}));
  EXPECT_TRUE(has_compact_tools({clock(), weather()}));
  EXPECT_TRUE(project_tools({}, std::nullopt).empty());
}

TEST(CompactTools, ProjectingTwiceChangesNothing) {
  const std::vector<Tool> once = project_tools({weather(), clock()}, std::nullopt);
  EXPECT_EQ(project_tools(once, std::nullopt), once);
}

TEST(CompactTools, OwnSummaryIsUsedUnlessEmpty) {
  Tool tool = weather();
  tool.summary = "Sky";
  EXPECT_EQ(sent_description(tool), "Sky Args: city, country, [days], [unit] [compact]");
  tool.summary = "";
  EXPECT_EQ(sent_description(tool), "Weather of a city. Args: city, country, [days], [unit] [compact]");
}

TEST(CompactTools, SummaryIsTheFirstSentenceOfTheFirstLine) {
  EXPECT_EQ(described("One. Two."), "One. [compact]");
  EXPECT_EQ(described("  One!\tTwo."), "One! [compact]");
  EXPECT_EQ(described("Is v1.5 fast? Yes."), "Is v1.5 fast? [compact]");
  EXPECT_EQ(described("No stop here\nSecond line."), "No stop here [compact]");
  EXPECT_EQ(described("\n\nLeading lines \r\nare skipped."), "Leading lines [compact]");
  EXPECT_EQ(described("Ends."), "Ends. [compact]");
  EXPECT_EQ(described(""), "[compact]");
  EXPECT_EQ(described(" \n "), "[compact]");
}

TEST(CompactTools, SummaryIsTruncatedAt160Characters) {
  const std::string marker = " [compact]";
  EXPECT_EQ(described(std::string(160, 'a')), std::string(160, 'a') + marker);
  EXPECT_EQ(described(std::string(161, 'a')), std::string(157, 'a') + "..." + marker);
  std::string umlauts;
  std::string kept;
  for (int i = 0; i < 161; ++i) umlauts += "ö";
  for (int i = 0; i < 157; ++i) kept += "ö";
  EXPECT_EQ(described(umlauts), kept + "..." + marker);
  EXPECT_EQ(described(umlauts.substr(2)), umlauts.substr(2) + marker);
}

TEST(CompactTools, HintFollowsTheSchema) {
  const auto hint = [](const char* schema) {
    return sent_description({.name = "t", .schema = Json::parse(schema), .compact = true});
  };
  EXPECT_EQ(hint(R"({"properties": {}})"), "Args: none [compact]");
  EXPECT_EQ(hint(R"({})"), "[compact]");
  EXPECT_EQ(hint(R"({"properties": 5})"), "[compact]");
  EXPECT_EQ(hint(R"({"properties": {"b": {}, "a": {}}})"), "Args: [a], [b] [compact]");
  EXPECT_EQ(hint(R"({"properties": {"b": {}, "a": {}}, "required": ["b", "a"]})"), "Args: b, a [compact]");
  EXPECT_EQ(hint(R"({"properties": {"a": {}}, "required": "a"})"), "Args: [a] [compact]");
}

TEST(CompactTools, ForcedToolIsSentInFull) {
  for (const char* text :
       {R"("weather")", R"(["tool", "weather"])", R"({"type": "tool", "name": "weather"})",
        R"({"type": "function", "function": {"name": "weather"}})", R"({"type": "function", "name": "weather"})",
        R"({"mode": "ANY", "allowedFunctionNames": ["weather"]})"}) {
    const auto sent = project_tools({weather(), clock()}, ToolChoice::from_json(Json::parse(text)));
    EXPECT_EQ(sent[0].description, weather().description) << text;
    EXPECT_EQ(sent[0].schema, weather().schema) << text;
    EXPECT_FALSE(sent[0].handler) << text;
    EXPECT_TRUE(is_tool_help(sent.back())) << text;
  }
  EXPECT_EQ(project_tools({weather()}, ToolChoice::tool("weather"))[0].schema, weather().schema);
}

TEST(CompactTools, OtherChoicesForceNothing) {
  for (const char* text :
       {R"("auto")", R"("required")", R"("none")", R"("clock")", R"(5)", R"(null)", R"([])", R"({"type": "tool"})",
        R"({"type": "tool", "name": 5})", R"({"type": "function", "function": 5})",
        R"({"mode": "AUTO", "allowedFunctionNames": ["weather"]})",
        R"({"mode": "ANY", "allowedFunctionNames": ["weather", "clock"]})",
        R"({"mode": "ANY", "allowedFunctionNames": "weather"})"}) {
    const auto sent = project_tools({weather(), clock()}, ToolChoice::from_json(Json::parse(text)));
    EXPECT_TRUE(sent[0].description.ends_with("[compact]")) << text;
  }
}

TEST(ToolHelp, IsRecognisedByItsMetadataOnly) {
  EXPECT_TRUE(is_tool_help(tool_help_tool()));
  EXPECT_FALSE(is_tool_help({.name = "tool_help"}));
  EXPECT_EQ(tool_help_tool().metadata, Json::parse(R"({"allm_builtin": "tool_help"})"));
  const Result<Schema> schema = Schema::compile(tool_help_tool().schema);
  ASSERT_TRUE(schema.has_value());
  EXPECT_TRUE(schema->accepts({{"names", {"weather"}}}));
  EXPECT_FALSE(schema->accepts(Json::object()));
}

TEST(ToolHelp, ShowsEachToolOnceInTheOrderAsked) {
  const Json arguments = {{"names", {"clock", "weather", "clock"}}};
  EXPECT_EQ(answer_tool_help({weather(), clock()}, arguments),
            "## clock\nThe time.\n{\"type\":\"object\",\"properties\":{}}\n\n"
            "## weather\nWeather of a city. Covers 14 days.\nUses the national services.\n" +
                weather().schema.dump());
}

TEST(ToolHelp, NamesTheCompactToolsWhereANameIsUnknown) {
  EXPECT_EQ(answer_tool_help({weather(), clock()}, {{"names", {"wether", "clock"}}}),
            "## wether\nThere is no tool of this name. Compact tools: weather\n\n"
            "## clock\nThe time.\n{\"type\":\"object\",\"properties\":{}}");
  EXPECT_EQ(answer_tool_help({clock()}, {{"names", {"x"}}}),
            "## x\nThere is no tool of this name. Compact tools: (none)");
}

TEST(ToolHelp, ExplainsItselfForInvalidArguments) {
  for (const char* text : {"{}", "[]", "null", "5", R"({"names": []})", R"({"names": "weather"})", R"({"names": [1]})",
                           R"({"names": ["weather", null]})"}) {
    const std::string answer = answer_tool_help({weather()}, Json::parse(text));
    EXPECT_TRUE(answer.starts_with("Usage: tool_help takes \"names\"")) << text << ": " << answer;
    EXPECT_TRUE(answer.ends_with("Compact tools: weather")) << text << ": " << answer;
  }
}

TEST(CompactTools, MissingArgumentsAreNamedWithTheHelp) {
  const std::string help = answer_tool_help({weather()}, {{"names", {"weather"}}});
  EXPECT_EQ(missing_compact_arguments(weather(), Json::object()),
            "Missing required arguments: city, country\n\n" + help);
  EXPECT_EQ(missing_compact_arguments(weather(), {{"city", "Rome"}, {"x", 1}}),
            "Missing required argument: country\n\n" + help);
}

TEST(CompactTools, CompleteArgumentsAndFullToolsGetNoHelp) {
  EXPECT_EQ(missing_compact_arguments(weather(), {{"country", nullptr}, {"city", "Rome"}}), std::nullopt);
  Tool full = weather();
  full.compact = false;
  EXPECT_EQ(missing_compact_arguments(full, Json::object()), std::nullopt);
  EXPECT_EQ(missing_compact_arguments({.name = "t", .compact = true}, Json::object()), std::nullopt);
}

}  // namespace
}  // namespace allm::compact_test
