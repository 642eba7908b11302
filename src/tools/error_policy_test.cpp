// on_tool_error: when it is called, how often, and the effect of its decision.
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/executor.hpp"
#include "allm/tool_runner.hpp"

#include "runtime/test_waits.hpp"

namespace allm::error_policy_test {
namespace {

using std::chrono::milliseconds;

ToolCall call(std::string id, std::string name, Json arguments = Json::object()) {
  return {.id = std::move(id), .name = std::move(name), .arguments = std::move(arguments)};
}
Tool handled_by(std::string name, Handler handler) { return {.name = std::move(name), .handler = std::move(handler)}; }
std::string reason_of(const ToolFailure& failure) {
  const auto* error = std::get_if<Error>(&failure.reason);
  return error != nullptr ? std::string(error->reason()) : "reported " + std::get<Json>(failure.reason).dump();
}

const Json kNoJson = std::numeric_limits<double>::infinity();

// A way in which a call can fail.
struct Failing {
  const char* name;
  ToolCall call;
  Tool tool;
  std::string reason;
};
std::vector<Failing> every_failure() {
  const Json needs_a = Json::parse(R"({"type":"object","required":["a"]})");
  Tool slow = handled_by("t", [](const Json&, ToolCompletion done) {
    static std::vector<ToolCompletion> kept;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    kept.push_back(std::move(done));
  });
  slow.timeout = milliseconds(1);
  return {
      {"reported", call("c0", "t"), handled_by("t", [](const Json&) { return failure("no"); }), "reported \"no\""},
      {"thrown", call("c0", "t"), handled_by("t", [](const Json&) -> ToolOutcome { throw std::runtime_error("x"); }),
       "handler_raised"},
      {"thrown int", call("c0", "t"), handled_by("t", [](const Json&) -> ToolOutcome { throw 1; }), "handler_raised"},
      {"timeout", call("c0", "t"), slow, "timeout"},
      {"no answer", call("c0", "t"), handled_by("t", [](const Json&, ToolCompletion) {}), "invalid_return"},
      {"reserved halt", call("c0", "t"), handled_by("t", [](const Json&) { return halt("error"); }), "invalid_return"},
      {"bad question", call("c0", "t"), handled_by("t", [](const Json&) { return ask_user("\xff"); }),
       "invalid_return"},
      {"unencodable", call("c0", "t"), handled_by("t", [](const Json&) { return ok(kNoJson); }), "encoding_failed"},
      {"unencodable halt", call("c0", "t"), handled_by("t", [](const Json&) { return halt("own", kNoJson); }),
       "encoding_failed"},
      {"not an object", call("c0", "t", Json::array()), handled_by("t", [](const Json&) { return ok(1); }),
       "invalid_arguments"},
      {"breaks the schema", call("c0", "t"),
       Tool{.name = "t", .schema = needs_a, .handler = [](const Json&) { return ok(1); }}, "invalid_arguments"},
      {"compact without its argument", call("c0", "t"),
       Tool{.name = "t", .schema = needs_a, .handler = [](const Json&) { return ok(1); }, .compact = true}, "reported"},
      {"no handler", call("c0", "t"), Tool{.name = "t"}, "not_found"},
      {"unknown", call("c0", "other"), Tool{.name = "t"}, "unknown_tool"},
  };
}

TEST(ErrorPolicy, IsCalledExactlyOncePerFailure) {
  for (const Failing& failing : every_failure()) {
    for (const int decision : {0, 1, 2, 3, 4}) {
      int asked = 0;
      std::string reason;
      CallOptions options{.on_unknown_tool = OnUnknownTool::report};
      options.on_tool_error = ToolErrorFunction([&](const ToolCall& about, const ToolFailure& failure) {
        ++asked;
        reason = reason_of(failure);
        EXPECT_EQ(about.id, "c0");
        switch (decision) {
          case 0:
            return ToolErrorDecision::continue_with("instead");
          case 1:
            return ToolErrorDecision::halt();
          case 2:
            return ToolErrorDecision::continue_with(kNoJson);
          case 3:
            return ToolErrorDecision();
          default:
            throw std::runtime_error("policy");
        }
      });
      const auto batch = run_tool_calls({failing.call}, {failing.tool}, options);
      ASSERT_TRUE(batch.has_value()) << failing.name;
      EXPECT_EQ(asked, 1) << failing.name << " " << decision;
      EXPECT_EQ(reason.substr(0, failing.reason.size()), failing.reason) << failing.name;
      ASSERT_EQ(batch->messages.size(), 1U);
      const std::string content = batch->messages[0].text();
      if (decision == 0) {
        EXPECT_FALSE(batch->halt.has_value());
        EXPECT_EQ(content, "instead");
        continue;
      }
      ASSERT_TRUE(batch->halt.has_value()) << failing.name << " " << decision;
      const auto& end = std::get<ended::ToolError>(*batch->halt);
      EXPECT_EQ(end.tool_call_id, "c0");
      EXPECT_EQ(end.policy_error.has_value(), decision == 4);
      EXPECT_TRUE(Json::parse(content).contains("error"));
      const std::string told = Json::parse(content).value("reason", "");
      EXPECT_EQ(told == "encoding_failed", decision == 2 || (decision == 1 && failing.reason == "encoding_failed"));
      EXPECT_EQ(told == "invalid_return", decision >= 3 || (decision == 1 && failing.reason == "invalid_return"));
    }
  }
}

TEST(ErrorPolicy, AsAnActionTellsTheModelOrHalts) {
  for (const Failing& failing : every_failure()) {
    for (const ToolErrorAction action : {ToolErrorAction::tell_model, ToolErrorAction::halt}) {
      const auto batch = run_tool_calls({failing.call}, {failing.tool},
                                        {.on_tool_error = action, .on_unknown_tool = OnUnknownTool::report});
      ASSERT_TRUE(batch.has_value()) << failing.name;
      EXPECT_EQ(batch->halt.has_value(), action == ToolErrorAction::halt) << failing.name;
      EXPECT_TRUE(Json::parse(batch->messages[0].text()).contains("error")) << failing.name;
    }
  }
}

TEST(ErrorPolicy, AsAFunctionMayDecideToTellTheModel) {
  const ToolErrorFunction tells = [](const ToolCall&, const ToolFailure&) { return ToolErrorDecision::tell_model(); };
  for (const Failing& failing : every_failure()) {
    CallOptions options{.on_unknown_tool = OnUnknownTool::report};
    const auto by_action = run_tool_calls({failing.call}, {failing.tool}, options);
    options.on_tool_error = tells;
    const auto by_function = run_tool_calls({failing.call}, {failing.tool}, options);
    ASSERT_TRUE(by_action.has_value() && by_function.has_value()) << failing.name;
    EXPECT_EQ(*by_action, *by_function) << failing.name;
  }
}

TEST(ErrorPolicy, IsNotCalledWithoutAFailure) {
  CallOptions options;
  options.on_tool_error = ToolErrorFunction([](const ToolCall&, const ToolFailure&) -> ToolErrorDecision {
    ADD_FAILURE();
    return ToolErrorDecision::halt();
  });
  const std::vector<Tool> tools = {handled_by("good", [](const Json&) { return ok(nullptr); }),
                                   handled_by("ask", [](const Json&) { return ask_user("?"); }),
                                   handled_by("stop", [](const Json&) { return halt("own"); })};
  EXPECT_TRUE(run_tool_calls({call("a", "good"), call("b", "ask"), call("c", "stop")}, tools, options).has_value());
}

TEST(ErrorPolicy, WaitsForTheOtherCallsAfterAHalt) {
  testing::Gate failed;
  const std::vector<Tool> tools = {handled_by("bad", [](const Json&) { return failure("no"); }),
                                   handled_by("slow", [&](const Json&) {
                                     failed.wait();
                                     return ok("done");
                                   })};
  CallOptions options{.max_concurrency = 2, .on_tool_error = ToolErrorAction::halt};
  options.on_event = [&](const Event& event) {
    if (event.tag() == EventTag::tool_halt) failed.open();
  };
  const auto batch = run_tool_calls({call("a", "bad"), call("b", "slow"), call("c", "slow")}, tools, options);
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(std::get<ended::ToolError>(*batch->halt).tool_call_id, "a");
  EXPECT_EQ(batch->messages[1].text(), "done");
  EXPECT_EQ(batch->messages[2].text(), "done");
}

class Shouting : public ToolResultEncoder {
 public:
  Result<std::string> encode(const Json& value) override { return "<" + value.dump() + ">"; }
  std::string encode_failure(const ToolFailure& failure) override { return "! " + reason_of(failure); }
};
// An encoder that fails in every possible way.
class Broken : public ToolResultEncoder {
 public:
  explicit Broken(int how) : how_(how) {}
  Result<std::string> encode(const Json&) override {
    if (how_ == 0) throw std::runtime_error("broken");
    if (how_ == 1) throw 5;
    return std::unexpected(Error(ToolError{.reason = ToolError::Reason::invalid_return}, "will not"));
  }
  std::string encode_failure(const ToolFailure&) override {
    if (how_ == 0) throw std::runtime_error("broken");
    throw 5;
  }

 private:
  int how_;
};

TEST(ToolResultEncoders, OfTheCallWriteResultsAndFailures) {
  CallOptions options{.tool_result_encoder = std::make_shared<Shouting>()};
  const std::vector<Tool> tools = {handled_by("good", [](const Json&) { return ok("x"); }),
                                   handled_by("bad", [](const Json&) { return failure(1); }),
                                   handled_by("stop", [](const Json&) { return halt("own", 2); })};
  const auto batch = run_tool_calls({call("a", "good"), call("b", "bad"), call("c", "stop")}, tools, options);
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->messages[0].text(), "<\"x\">");
  EXPECT_EQ(batch->messages[1].text(), "! reported 1");
  EXPECT_EQ(batch->messages[2].text(), "<2>");
}

TEST(ToolResultEncoders, OfTheEngineAreUsedIfTheCallHasNone) {
  const Engine engine({.tool_result_encoder = std::make_shared<Shouting>()});
  const std::vector<Tool> tools = {handled_by("good", [](const Json&) { return ok(1); })};
  EXPECT_EQ(run_tool_calls({call("a", "good")}, tools, {}, engine)->messages[0].text(), "<1>");
  EXPECT_EQ(run_tool_calls({call("a", "good")}, tools,
                           {.tool_result_encoder = std::make_shared<JsonToolResultEncoder>()}, engine)
                ->messages[0]
                .text(),
            "1");
}

TEST(ToolResultEncoders, ThatFailBecomeEncodingFailedInTheBuiltInForm) {
  for (const int how : {0, 1, 2}) {
    const auto batch = run_tool_calls({call("a", "good")}, {handled_by("good", [](const Json&) { return ok(1); })},
                                      {.tool_result_encoder = std::make_shared<Broken>(how)});
    ASSERT_TRUE(batch.has_value()) << how;
    EXPECT_EQ(Json::parse(batch->messages[0].text()).at("reason"), "encoding_failed") << how;
  }
}

class Elsewhere : public ToolExecutor {
 public:
  void execute(const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) override {
    if (arguments.contains("throw")) throw std::runtime_error("executor");
    if (arguments.contains("throw_int")) throw 3;
    done(ok(tool.name + ":" + context.tool_call().id));
  }
};

TEST(ToolExecutors, RunCallsInsteadOfTheHandlers) {
  const CallOptions options{.tool_executor = std::make_shared<Elsewhere>()};
  const auto batch =
      run_tool_calls({call("a", "t"), call("b", "t", {{"throw", 1}}), call("c", "t", {{"throw_int", 1}})},
                     {Tool{.name = "t"}}, options);
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->messages[0].text(), "t:a") << "a tool without a handler is the executor's business";
  EXPECT_EQ(Json::parse(batch->messages[1].text()).at("reason"), "handler_raised");
  EXPECT_EQ(Json::parse(batch->messages[2].text()).at("reason"), "handler_raised");
}

TEST(ToolExecutors, ByDefaultCallTheHandler) {
  const CallOptions options{.tool_executor = std::make_shared<DefaultToolExecutor>()};
  const std::vector<Tool> tools = {handled_by("t", [](const Json&) { return ok("ran"); }), Tool{.name = "empty"}};
  const auto batch = run_tool_calls({call("a", "t"), call("b", "empty")}, tools, options);
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->messages[0].text(), "ran");
  EXPECT_EQ(Json::parse(batch->messages[1].text()).at("reason"), "not_found");
}

}  // namespace
}  // namespace allm::error_policy_test
