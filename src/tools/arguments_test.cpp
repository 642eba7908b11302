#include "tools/arguments.hpp"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "allm/tool_runner.hpp"

namespace allm::arguments_test {
namespace {

ToolCall call(Json arguments, std::optional<std::string> raw = std::nullopt) {
  return {.id = "c0", .name = "t", .arguments = std::move(arguments), .raw_arguments = std::move(raw)};
}

TEST(CallArguments, AreTheValueIfItIsNotEmpty) {
  EXPECT_EQ(call_arguments(call({{"a", 1}})), Json({{"a", 1}}));
  EXPECT_EQ(call_arguments(call({{"a", 1}}, "not JSON")), Json({{"a", 1}}));
}

TEST(CallArguments, AreParsedFromTheTextIfTheValueIsEmpty) {
  EXPECT_EQ(call_arguments(call(Json::object(), R"({"a":1})")), Json({{"a", 1}}));
}

TEST(CallArguments, MayBeMissing) {
  for (const Json& nothing : {Json::object(), Json(nullptr), Json(""), Json(" \n")}) {
    EXPECT_EQ(call_arguments(call(nothing)), Json::object()) << nothing;
    EXPECT_EQ(call_arguments(call(nothing, "")), Json::object()) << nothing;
    EXPECT_EQ(call_arguments(call(nothing, " \t\r\n")), Json::object()) << nothing;
    EXPECT_EQ(call_arguments(call(nothing, "{}")), Json::object()) << nothing;
    EXPECT_EQ(call_arguments(call(nothing, "null")), Json::object()) << nothing;
  }
}

TEST(CallArguments, MustBeAJsonObject) {
  for (const char* text : {"{\"a\":", "[1]", "\"text\"", "7", "true", "{} {}", "\xff", "{\"a\":1,\"a\":2}"}) {
    const auto arguments = call_arguments(call(Json::object(), text));
    ASSERT_FALSE(arguments.has_value()) << text;
    const auto* error = arguments.error().get_if<ToolError>();
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->reason, ToolError::Reason::invalid_arguments);
    EXPECT_EQ(error->tool_name, "t");
    EXPECT_EQ(error->tool_call_id, "c0");
  }
  for (const Json& value : {Json::array({1}), Json("text"), Json(7), Json(false)}) {
    EXPECT_FALSE(call_arguments(call(value)).has_value()) << value;
  }
}

TEST(CallArguments, ThatAreNestedTooDeeplyAreAnError) {
  EXPECT_FALSE(call_arguments(call(Json::object(), std::string(100'000, '['))).has_value());
}

const Json kSchema = Json::parse(
    R"({"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]})");

TEST(ArgumentCheck, NamesPathAndRuleOfEveryError) {
  const ToolSet tools({Tool{.name = "t", .schema = kSchema}});
  EXPECT_TRUE(check_arguments(tools, tools.tools()[0], call({}), {{"city", "Rome"}}).has_value());
  const Status bad = check_arguments(tools, tools.tools()[0], call({}), {{"city", 1}, {"days", "x"}});
  ASSERT_FALSE(bad.has_value());
  EXPECT_TRUE(bad.error().is<ToolError>(ToolError::Reason::invalid_arguments));
  ASSERT_EQ(bad.error().metadata().at("errors").size(), 2U);
  EXPECT_EQ(bad.error().metadata().at("errors")[0].at("path"), "city");
  EXPECT_EQ(bad.error().metadata().at("errors")[0].at("rule"), "type");
  EXPECT_NE(bad.error().message().find("city"), std::string::npos);
  EXPECT_NE(bad.error().message().find("days"), std::string::npos);
}

TEST(ArgumentCheck, ReportsAnUnusableSchema) {
  const ToolSet tools({Tool{.name = "t", .schema = Json::parse(R"({"type": 7})")}});
  const Status bad = check_arguments(tools, tools.tools()[0], call({}), Json::object());
  ASSERT_FALSE(bad.has_value());
  EXPECT_TRUE(bad.error().is<ToolError>(ToolError::Reason::invalid_arguments));
}

TEST(ArgumentCheck, CanBeTurnedOffByToolAndByEngine) {
  const auto ran = [](bool tool_checks, bool engine_checks) {
    bool handled = false;
    const Tool tool{.name = "t",
                    .schema = kSchema,
                    .handler =
                        [&handled](const Json&) {
                          handled = true;
                          return ok(1);
                        },
                    .validate_arguments = tool_checks};
    const Engine engine({.validate_arguments = engine_checks});
    EXPECT_TRUE(run_tool_calls({call({{"days", "x"}})}, {tool}, {}, engine).has_value());
    return handled;
  };
  EXPECT_FALSE(ran(true, true));
  EXPECT_TRUE(ran(false, true));
  EXPECT_TRUE(ran(true, false));
}

TEST(ArgumentCheck, MalformedTextNeverReachesTheHandlerEvenUnchecked) {
  bool handled = false;
  const Tool tool{.name = "t",
                  .handler =
                      [&handled](const Json&) {
                        handled = true;
                        return ok(1);
                      },
                  .validate_arguments = false};
  const auto batch = run_tool_calls({call(Json::object(), "{\"a\"")}, {tool});
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(Json::parse(batch->messages[0].text()).at("reason"), "invalid_arguments");
  EXPECT_FALSE(handled);
}

}  // namespace
}  // namespace allm::arguments_test
