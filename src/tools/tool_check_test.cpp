// Errors in the program's tools are found before a model or a handler is called.
#include "tools/tool_check.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"
#include "allm/tool_runner.hpp"

namespace allm::tool_check_test {
namespace {

const Json kBroken = {{"type", 7}};
const Json kNumber = {{"type", "object"}, {"properties", {{"n", {{"type", "integer"}}}}}};

Tool named(std::string name, Json schema = Json::object()) {
  return {.name = std::move(name), .schema = std::move(schema), .handler = [](const Json&) {
            ADD_FAILURE() << "a handler ran";
            return ok(1);
          }};
}

// The error of a run with these tools. The runner and the loop must give the same error.
Error refused(const std::vector<Tool>& tools, const CallOptions& options = {}) {
  const auto adapter = fake({{fake_text("never"), fake_finish(FinishReason::stop)}});
  const auto batch = run_tool_calls({{.id = "c", .name = "t"}}, tools, options);
  const auto result = chat(Engine({.adapter = adapter, .tools = tools}), {user("go")}, options);
  EXPECT_EQ(adapter->calls(), 0U) << "the model was asked";
  if (batch || result) {
    ADD_FAILURE() << "the run was not refused";
    return Error(ToolError{});
  }
  EXPECT_EQ(batch.error(), result.error());
  return batch.error();
}

TEST(ToolCheck, FindsTwoToolsOfOneName) {
  const Error error = refused({named("t"), named("other"), named("t")});
  const auto* invalid = error.get_if<ValidationError>();
  ASSERT_NE(invalid, nullptr);
  ASSERT_EQ(invalid->errors.size(), 1U);
  EXPECT_EQ(invalid->errors[0].reason, "duplicate_name");
  EXPECT_NE(error.message().find("'t'"), std::string::npos);
}

TEST(ToolCheck, FindsTwoToolsOfOneNameInTheOptionsOfACall) {
  const Error error = refused({named("t")}, {.tools = {named("t"), named("t")}});
  ASSERT_NE(error.get_if<ValidationError>(), nullptr);
  EXPECT_EQ(error.get_if<ValidationError>()->errors[0].reason, "duplicate_name");
}

TEST(ToolCheck, FindsASchemaThatDoesNotCompile) {
  const Error error = refused({named("other"), named("t", kBroken)});
  const auto* invalid = error.get_if<ValidationError>();
  ASSERT_NE(invalid, nullptr);
  EXPECT_EQ(to_string(invalid->errors[0].path), "tools[1].schema");
  EXPECT_EQ(invalid->errors[0].reason, "invalid_schema");
}

TEST(ToolCheck, IgnoresASchemaThatIsNotUsed) {
  Tool tool{.name = "t", .schema = kBroken, .handler = [](const Json&) { return ok("ran"); }};
  tool.validate_arguments = false;
  const auto batch = run_tool_calls({{.id = "c", .name = "t"}}, {tool});
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->messages[0].text(), "ran");
}

// This test program does not call run_as_worker_if_asked.
TEST(ToolCheck, FindsAToolThatNeedsAProcessIfNoneCanBeStarted) {
  Tool worker = named("t");
  worker.lane = Lane::worker;
  const Tool command{.name = "t", .command = Command{.argv = {"true"}}};
  for (const Tool& tool : {worker, command}) {
    const Error error = refused({tool});
    EXPECT_TRUE(error.is<EngineError>(EngineError::Reason::invalid_engine));
    EXPECT_NE(error.message().find("run_as_worker_if_asked"), std::string::npos);
  }
}

TEST(ToolCheck, AcceptsManualToolsAndManualRuns) {
  Tool worker = named("t");
  worker.lane = Lane::worker;
  const auto asks = [](const Tool& tool, const CallOptions& options) {
    const auto adapter = fake({{fake_text("yes"), fake_finish(FinishReason::stop)}});
    return chat(Engine({.adapter = adapter, .tools = {tool}}), {user("go")}, options).has_value();
  };
  EXPECT_TRUE(asks(worker, {.mode = Mode::manual}));
  worker.manual = true;
  EXPECT_TRUE(asks(worker, {}));
}

TEST(ToolCheck, LeavesAToolWithoutAHandlerToTheRun) {
  const auto batch = run_tool_calls({{.id = "c", .name = "t"}}, {{.name = "t"}});
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(Json::parse(batch->messages[0].text()).at("reason"), "not_found");
}

TEST(ToolSet, CompilesASchemaOnceForAllRunsOfAnEngine) {
  const ToolSet engines_own({named("own", kNumber), named("replaced", kNumber)});
  const std::vector<Tool> more = {named("replaced"), named("new", {{"type", "object"}, {"minProperties", 1}})};
  const auto first = engines_own.with(more);
  const auto second = engines_own.with(more);
  const auto schema = [](const ToolSet& tools, const char* name) { return tools.schema(*tools.find(name)); };
  ASSERT_NE(schema(engines_own, "own"), nullptr);
  EXPECT_EQ(schema(engines_own, "own"), schema(*first, "own"));
  EXPECT_EQ(schema(*first, "replaced"), nullptr) << "it accepts every object now";
  ASSERT_NE(schema(*first, "new"), nullptr);
  EXPECT_EQ(schema(*first, "new"), schema(*second, "new"));
}

TEST(ToolSet, FindsToolsThatWereAddedToALargeSet) {
  std::vector<Tool> many;
  for (int i = 0; i < 20; ++i) many.push_back({.name = "tool_" + std::to_string(i)});
  std::shared_ptr<const ToolSet> merged;
  {
    const ToolSet base(many);
    merged = base.with({{.name = "tool_3", .description = "replaced"}, {.name = "tool_20"}});
  }
  EXPECT_EQ(merged->tools().size(), 21U);
  EXPECT_EQ(merged->find("tool_3")->description, "replaced");
  EXPECT_NE(merged->find("tool_20"), nullptr);
  EXPECT_EQ(merged->find("tool_21"), nullptr);
}

}  // namespace
}  // namespace allm::tool_check_test
