// Compact tools in a run: the tools that are sent to the model, and the answers of tool_help.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"

#include "tools/compact.hpp"

namespace allm::compact_run_test {
namespace {

const Json kSchema = Json::parse(R"({"type":"object","properties":{"city":{"type":"string"}},"required":["city"]})");

struct Compact {
  explicit Compact(FakeScript script)
      : adapter(fake(std::move(script), {.record = true})),
        engine({.adapter = adapter,
                .tools = {Tool{.name = "weather",
                               .description = "Weather of a city. In full.",
                               .schema = kSchema,
                               .handler =
                                   [this](const Json&) {
                                     ++handled;
                                     return ok("sunny");
                                   },
                               .compact = true}}}) {}
  std::shared_ptr<FakeAdapter> adapter;
  int handled = 0;
  Engine engine;
};

FakeCallScript calls_tool(const std::string& name, Json arguments) {
  return {fake_tool_call("c0", name, std::move(arguments)), fake_finish(FinishReason::tool_calls)};
}
const FakeCallScript kDone = {fake_text("done"), fake_finish(FinishReason::stop)};

TEST(CompactRun, SendsTheShortFormsEveryTurn) {
  Compact compact({calls_tool("weather", {{"city", "Rome"}}), kDone});
  const auto result = chat(compact.engine, {user("hi")});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->text(), "done");
  EXPECT_EQ(compact.handled, 1);
  const auto requests = compact.adapter->requests();
  ASSERT_EQ(requests.size(), 2U);
  ASSERT_EQ(requests[0].request.tools.size(), 2U);
  EXPECT_EQ(requests[0].request.tools[0].description, "Weather of a city. Args: city [compact]");
  EXPECT_EQ(requests[0].request.tools[0].schema, Json({{"type", "object"}}));
  EXPECT_TRUE(is_tool_help(requests[0].request.tools[1]));
  EXPECT_EQ(requests[1].request.tools, requests[0].request.tools);
}

TEST(CompactRun, AnswersToolHelpItself) {
  Compact compact({calls_tool("tool_help", {{"names", {"weather"}}}), kDone});
  const auto result = chat(compact.engine, {user("hi")});
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(result->steps[0].tool_results.size(), 1U);
  const std::string help = result->steps[0].tool_results[0].text();
  EXPECT_EQ(help, "## weather\nWeather of a city. In full.\n" + kSchema.dump());
  EXPECT_EQ(result->halted_reason(), "completed");
  EXPECT_EQ(compact.handled, 0);
}

TEST(CompactRun, AnswersMissingArgumentsWithTheFullHelp) {
  Compact compact({calls_tool("weather", Json::object()), kDone});
  const auto result = chat(compact.engine, {user("hi")});
  ASSERT_TRUE(result.has_value());
  const std::string told = result->steps[0].tool_results[0].text();
  EXPECT_NE(told.find("Missing required argument: city"), std::string::npos);
  EXPECT_NE(told.find("## weather"), std::string::npos);
  EXPECT_EQ(Json::parse(told).count("reason"), 0U);
  EXPECT_EQ(compact.handled, 0);
}

TEST(CompactRun, ChecksTheSchemaIfNoArgumentIsMissing) {
  Compact compact({calls_tool("weather", {{"city", 7}}), kDone});
  const auto result = chat(compact.engine, {user("hi")});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(Json::parse(result->steps[0].tool_results[0].text()).at("reason"), "invalid_arguments");
}

TEST(CompactRun, LeavesToolHelpToTheProgramInManualMode) {
  Compact compact({calls_tool("tool_help", {{"names", {"weather"}}})});
  const auto result = chat(compact.engine, {user("hi")}, {.mode = Mode::manual});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->halted_reason(), "manual_tool_calls");
  const ToolCall& pending = result->final_response->tool_calls[0];
  EXPECT_NE(answer_tool_help(compact.engine.tools(), pending.arguments).find("## weather"), std::string::npos);
}

TEST(CompactRun, WithoutCompactToolsToolHelpIsUnknown) {
  const Engine engine({.adapter = fake({calls_tool("tool_help", {{"names", {"t"}}})}), .tools = {Tool{.name = "t"}}});
  const auto result = chat(engine, {user("hi")});
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is<EngineError>(EngineError::Reason::unknown_tool));
}

TEST(CompactRun, ToolHelpBypassesACustomExecutor) {
  class Refusing : public ToolExecutor {
   public:
    void execute(const Tool&, const Json&, const ToolContext&, ToolCompletion done) override { done(failure("no")); }
  };
  Compact compact({calls_tool("tool_help", {{"names", {"weather"}}}), kDone});
  const auto result = chat(compact.engine, {user("hi")}, {.tool_executor = std::make_shared<Refusing>()});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->steps[0].tool_results[0].text().substr(0, 10), "## weather");
}

}  // namespace
}  // namespace allm::compact_run_test
