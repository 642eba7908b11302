#include "allm/typed_tool.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>

#include <gtest/gtest.h>

#include "allm/schema.hpp"
#include "allm/tool_runner.hpp"

namespace allm::typed_tool_test {
namespace {

struct AddArgs {
  int a = 0;
  int b = 0;
  static Fields<AddArgs> describe() {
    return {field("a", &AddArgs::a).minimum(0), field("b", &AddArgs::b).default_value(10)};
  }
};

struct Sum {
  int sum = 0;
  static Fields<Sum> describe() { return {field("sum", &Sum::sum)}; }
};

// The outcome that the runner received for one call.
ToolOutcome run(const Tool& tool, const Json& arguments) {
  const ToolCall call = {.id = "c1", .name = tool.name, .arguments = arguments};
  std::optional<ToolOutcome> outcome;
  for (const Event& event : stream_tool_calls({call}, {tool})) {
    if (const auto* completed = event.get_if<ToolExecutionCompleted>()) outcome = completed->outcome;
  }
  if (!outcome.has_value()) throw std::logic_error("the call was not run");
  return *outcome;
}

// Does not compile after a field was added to Tool, until TypedTool has it too. Only `schema` is missing in TypedTool:
// the struct describes it.
TEST(TypedTool, HasEveryFieldOfATool) {
  TypedTool<AddArgs> declaration{.name = "add"};
  declaration.handler = [](const AddArgs& args) { return ok(args.a); };
  declaration.description = "Adds.";
  declaration.manual = true;
  declaration.compact = true;
  declaration.summary = "adds";
  declaration.validate_arguments = false;
  declaration.timeout = std::chrono::seconds(1);
  declaration.lane = Lane::worker;
  declaration.command = Command{.argv = {"add"}};
  declaration.limits = {.memory = 1};
  declaration.on_interrupted = OnInterrupted::retry;
  declaration.metadata = {{"k", 1}};
  declaration.unknown_fields = {{"u", 1}};
  const auto [name, description, handler, manual, compact, summary, validates, timeout, lane, command, limits,
              interrupted, metadata, unknown] = declaration;
  const Tool made = tool(declaration);
  const auto& [t_name, t_description, t_schema, t_handler, t_manual, t_compact, t_summary, t_validates, t_timeout,
               t_lane, t_command, t_limits, t_interrupted, t_metadata, t_unknown] = made;
  EXPECT_EQ(t_name, name);
  EXPECT_EQ(t_description, description);
  EXPECT_EQ(t_schema, schema_of<AddArgs>());
  EXPECT_TRUE(t_handler && handler.handler());
  EXPECT_EQ(t_manual, manual);
  EXPECT_EQ(t_compact, compact);
  EXPECT_EQ(t_summary, summary);
  EXPECT_EQ(t_validates, validates);
  EXPECT_EQ(t_timeout, timeout);
  EXPECT_EQ(t_lane, lane);
  EXPECT_EQ(t_command, command);
  EXPECT_EQ(t_limits, limits);
  EXPECT_EQ(t_interrupted, interrupted);
  EXPECT_EQ(t_metadata, metadata);
  EXPECT_EQ(t_unknown, unknown);
}

TEST(TypedTool, IsAPlainToolWithTheSchemaOfItsStruct) {
  const Tool add = tool<AddArgs>({.name = "add",
                                  .description = "Adds.",
                                  .handler = [](const AddArgs& args) { return ok(args.a + args.b); },
                                  .compact = true,
                                  .summary = "adds",
                                  .validate_arguments = false,
                                  .timeout = std::chrono::seconds(1),
                                  .metadata = {{"k", 1}}});
  EXPECT_EQ(add, (Tool{.name = "add",
                       .description = "Adds.",
                       .schema = schema_of<AddArgs>(),
                       .compact = true,
                       .summary = "adds",
                       .validate_arguments = false,
                       .timeout = std::chrono::seconds(1),
                       .metadata = {{"k", 1}}}));
  EXPECT_TRUE(add.handler);
}

TEST(TypedTool, HandlerGetsTheStruct) {
  const Tool add =
      tool<AddArgs>({.name = "add", .handler = [](const AddArgs& args) { return ok(Sum{args.a + args.b}); }});
  EXPECT_EQ(run(add, {{"a", 1}, {"b", 2}}), ok({{"sum", 3}}));
  EXPECT_EQ(run(add, {{"a", 1}}), ok({{"sum", 11}}));
}

TEST(TypedTool, HandlerMayHaveAContextParameter) {
  const Tool add = tool<AddArgs>({.name = "add", .handler = [](AddArgs args, const ToolContext& context) {
                                    return ok(context.tool_call().id + std::to_string(args.a));
                                  }});
  EXPECT_EQ(run(add, {{"a", 1}}), ok("c11"));
}

TEST(TypedTool, HandlerMayAnswerLater) {
  const Tool add = tool<AddArgs>({.name = "add", .handler = [](AddArgs args, ToolCompletion done) {
                                    std::jthread([args, done] { done(ok(args.a + args.b)); }).detach();
                                  }});
  EXPECT_EQ(run(add, {{"a", 1}}), ok(11));
  const Tool with_context = tool<AddArgs>(
      {.name = "add", .handler = [](AddArgs args, const ToolContext& context, ToolCompletion done) {
         std::jthread([args, id = context.tool_call().id, done] { done(ok(id + std::to_string(args.a))); }).detach();
       }});
  EXPECT_EQ(run(with_context, {{"a", 1}}), ok("c11"));
}

TEST(TypedTool, HandlerMayOwnMoveOnlyValues) {
  const Tool add = tool<AddArgs>({.name = "add", .handler = [extra = std::make_unique<int>(5)](const AddArgs& args) {
                                    return ok(args.a + *extra);
                                  }});
  EXPECT_EQ(run(add, {{"a", 1}}), ok(6));
}

TEST(TypedTool, HandlerMayBeAFunction) {
  struct Functions {
    static ToolOutcome twice(const AddArgs& args) { return ok(2 * args.a); }
  };
  EXPECT_EQ(run(tool<AddArgs>({.name = "add", .handler = Functions::twice}), {{"a", 2}}), ok(4));
}

TEST(TypedTool, BadArgumentsAreReportedWithTheirPathsAndDoNotReachTheHandler) {
  bool called = false;
  const Tool add = tool<AddArgs>({.name = "add",
                                  .handler =
                                      [&called](const AddArgs&) {
                                        called = true;
                                        return ok(nullptr);
                                      },
                                  .validate_arguments = false});
  const ToolOutcome outcome = run(add, {{"a", "1"}, {"c", 2}});
  EXPECT_FALSE(called);
  const auto* failure = std::get_if<ToolFailure>(&outcome);
  ASSERT_NE(failure, nullptr);
  EXPECT_FALSE(failure->reported());
  const Error& error = std::get<Error>(failure->reason);
  ASSERT_TRUE(error.is<ToolError>(ToolError::Reason::invalid_arguments));
  EXPECT_EQ(error.get_if<ToolError>()->tool_name, "add");
  EXPECT_EQ(error.get_if<ToolError>()->tool_call_id, "c1");
  EXPECT_EQ(error.message(),
            "invalid arguments for tool 'add': a: must be an integer, got string; c: is not known; known are a, b");
  EXPECT_EQ(error.metadata(), Json::parse(R"({"errors": [
    {"path": "a", "rule": "type", "message": "a: must be an integer, got string"},
    {"path": "c", "rule": "additionalProperties", "message": "c: is not known; known are a, b"}]})"));
}

TEST(TypedTool, SchemaIsCheckedByTheRunnerFirst) {
  const Tool add = tool<AddArgs>({.name = "add", .handler = [](const AddArgs& args) { return ok(args.a); }});
  const ToolOutcome outcome = run(add, {{"a", -1}});
  const auto* failure = std::get_if<ToolFailure>(&outcome);
  ASSERT_NE(failure, nullptr);
  EXPECT_TRUE(std::get<Error>(failure->reason).is<ToolError>(ToolError::Reason::invalid_arguments));
}

TEST(TypedTool, AManualToolNeedsNoHandler) {
  const Tool add = tool<AddArgs>({.name = "add", .manual = true});
  EXPECT_FALSE(add.handler);
  EXPECT_TRUE(add.manual);
  EXPECT_FALSE((tool<AddArgs>({.name = "add", .handler = nullptr}).handler));
}

// A handler for another struct, or of an unknown form, does not compile.
static_assert(!detail::HandlerOf<ToolOutcome (*)(const Sum&), AddArgs>);
static_assert(!detail::HandlerOf<int (*)(const AddArgs&), AddArgs>);
static_assert(!detail::HandlerOf<ToolOutcome (*)(const AddArgs&, int), AddArgs>);

}  // namespace
}  // namespace allm::typed_tool_test
