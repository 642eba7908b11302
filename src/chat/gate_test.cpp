// The approval gate in steps and runs.
#include <atomic>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/run_control_rig.hpp"

namespace allm::gate_test {
namespace {

using testing::can_go_on;
using testing::Form;
using testing::kAnswer;
using testing::kRunTools;
using testing::reason_of;
using testing::reasons_of;
using testing::run_in;

using Calls = std::span<const ToolCall>;
using Reasons = std::vector<std::string>;

// Tools that record their arguments.
struct Bench {
  std::vector<Tool> tools() const {
    const auto record = [ran = ran](const Json& arguments, const ToolContext& context) {
      const std::lock_guard lock(ran->mutex);
      ran->calls.push_back({context.tool_call().id, arguments, context.tool_call().arguments});
      return ok("ran");
    };
    const Json schema = Json::parse(R"({"type":"object","properties":{"n":{"type":"integer"}}})");
    return {{.name = "tool", .schema = schema, .handler = record},
            {.name = "halts", .handler = [](const Json&) { return halt("own", 1); }},
            {.name = "manual", .manual = true},
            {.name = "brief", .description = "Short. Long.", .schema = schema, .handler = record, .compact = true}};
  }
  struct Ran {
    struct Call {
      std::string id;
      Json arguments;
      Json of_context;
    };
    std::mutex mutex;
    std::vector<Call> calls;
  };
  std::size_t runs() const { return ran->calls.size(); }
  Engine engine(FakeScript script) const { return Engine({.adapter = fake(std::move(script)), .tools = tools()}); }
  std::shared_ptr<Ran> ran = std::make_shared<Ran>();
};

FakeCallScript turn_of(std::vector<FakeEntry> calls) {
  calls.push_back(kRunTools);
  return calls;
}
const FakeCallScript kTwo = turn_of({fake_tool_call("c0", "tool", {{"n", 1}}), fake_tool_call("c1", "tool")});

class GateInRuns : public ::testing::TestWithParam<Form> {};
INSTANTIATE_TEST_SUITE_P(Forms, GateInRuns, ::testing::Values(Form::folded, Form::streamed), testing::name_of);

TEST_P(GateInRuns, SeesAllCallsOfATurnOnceBeforeAnyRuns) {
  const Bench bench;
  std::vector<std::vector<std::string>> seen;
  std::vector<EventTag> before;
  CallOptions options;
  const auto consumer = std::this_thread::get_id();
  options.on_event = [&](const Event& event) { before.push_back(event.tag()); };
  options.approve = [&](Calls calls) {
    EXPECT_EQ(std::this_thread::get_id(), consumer);
    EXPECT_EQ(bench.runs(), 0U);
    EXPECT_EQ(before.back(), EventTag::message_completed) << "nothing is announced";
    seen.emplace_back();
    for (const ToolCall& call : calls) seen.back().push_back(call.name);
    return std::vector<Approval>(calls.size(), Approval::allow());
  };
  const FakeCallScript turn =
      turn_of({fake_tool_call("c0", "tool"), fake_tool_call("c1", "manual"), fake_tool_call("c2", "tool_help")});
  const ChatResult result = run_in(GetParam(), bench.engine({turn, kAnswer}), {user("hi")}, options);
  EXPECT_EQ(result.halted_reason(), "manual_tool_calls");
  EXPECT_EQ(seen, (std::vector<std::vector<std::string>>{{"tool", "manual", "tool_help"}}));
  EXPECT_EQ(bench.runs(), 1U);
}

TEST_P(GateInRuns, ADeniedCallIsAnsweredWithItsReason) {
  const Bench bench;
  int asked = 0;
  CallOptions options{.on_tool_error = OnToolError([&](const ToolCall&, const ToolFailure&) {
                        ++asked;
                        return ToolErrorDecision::halt();
                      })};
  options.approve = [](Calls) { return std::vector{Approval::deny("not on a Sunday"), Approval::deny("")}; };
  const ChatResult result = run_in(GetParam(), bench.engine({kTwo, kAnswer}), {user("hi")}, options);
  EXPECT_EQ(result.halted_reason(), "completed");
  EXPECT_EQ(Json::parse(result.steps[0].tool_results[0].text()),
            Json({{"error", "not on a Sunday"}, {"reason", "denied"}}));
  EXPECT_EQ(Json::parse(result.steps[0].tool_results[1].text()),
            Json({{"error", "the program did not allow this call"}, {"reason", "denied"}}));
  EXPECT_EQ(bench.runs(), 0U);
  EXPECT_EQ(asked, 0) << "a denial is not a failure of the tool";
}

TEST(GateEvents, OfADeniedCallAreTheSameAsOfOtherCalls) {
  const Bench bench;
  CallOptions options;
  options.approve = [](Calls) { return std::vector{Approval::deny("no"), Approval::allow_with({{"n", 7}})}; };
  options.max_concurrency = 1;
  std::vector<std::string> events;
  for (const Event& event : stream_step(bench.engine({kTwo}), {user("hi")}, options)) {
    if (const auto* started = event.get_if<ToolExecutionStarted>()) {
      events.push_back("started " + started->id + started->arguments.dump() + (started->rewritten ? " rewritten" : ""));
    }
    if (const auto* completed = event.get_if<ToolExecutionCompleted>()) events.push_back("completed " + completed->id);
    if (const auto* encoded = event.get_if<ToolResultEncoded>()) events.push_back("encoded " + encoded->id);
  }
  EXPECT_EQ(events, (std::vector<std::string>{R"(started c0{"n":1})", "completed c0", "encoded c0",
                                              R"(started c1{"n":7} rewritten)", "completed c1", "encoded c1"}));
}

TEST_P(GateInRuns, TheToolGetsTheRewrittenArguments) {
  const Bench bench;
  CallOptions options;
  options.approve = [](Calls) {
    return std::vector{Approval::allow_with({{"n", 2}}), Approval::allow_with(Json::object())};
  };
  const ChatResult result = run_in(GetParam(), bench.engine({kTwo, kAnswer}), {user("hi")}, options);
  EXPECT_EQ(result.halted_reason(), "completed");
  ASSERT_EQ(bench.runs(), 2U);
  for (const auto& call : bench.ran->calls) {
    EXPECT_EQ(call.arguments, call.id == "c0" ? Json({{"n", 2}}) : Json::object());
    EXPECT_EQ(call.of_context, call.arguments);
  }
  EXPECT_EQ(result.steps[0].response.tool_calls[0].arguments, Json({{"n", 1}}));
  EXPECT_EQ(result.thread.messages[1].tool_calls[0].arguments, Json({{"n", 1}}));
  EXPECT_EQ(result.thread.messages[2].metadata, Json({{"rewritten_arguments", {{"n", 2}}}}));
  EXPECT_EQ(result.thread.messages[3].metadata, Json({{"rewritten_arguments", Json::object()}}));
}

TEST_P(GateInRuns, RewrittenArgumentsMustMatchTheSchema) {
  const Bench bench;
  CallOptions options;
  options.approve = [](Calls) {
    return std::vector{Approval::allow_with({{"n", "x"}}), Approval::allow_with(Json::array())};
  };
  const ChatResult result = run_in(GetParam(), bench.engine({kTwo, kAnswer}), {user("hi")}, options);
  EXPECT_EQ(reasons_of(result.steps[0]), (Reasons{"invalid_arguments", "denied"}));
  EXPECT_EQ(bench.runs(), 0U);
}

TEST_P(GateInRuns, ASuspendedCallBecomesPending) {
  const Bench bench;
  CallOptions options;
  options.approve = [](Calls) { return std::vector{Approval::suspend(), Approval::allow()}; };
  const ChatResult result = run_in(GetParam(), bench.engine({kTwo, kAnswer}), {user("hi")}, options);
  EXPECT_EQ(result.halted_reason(), "manual_tool_calls");
  ASSERT_EQ(result.manual_tool_calls().size(), 1U);
  EXPECT_EQ(result.manual_tool_calls()[0].id, "c0");
  EXPECT_EQ(bench.runs(), 1U);
  EXPECT_EQ(result.steps[0].tool_results.size(), 1U);
}

TEST_P(GateInRuns, ASuspendedCallIsNotRunIfAnotherEndsTheTurn) {
  const Bench bench;
  CallOptions options;
  options.approve = [](Calls) { return std::vector{Approval::suspend(), Approval::allow()}; };
  const FakeCallScript turn = turn_of({fake_tool_call("c0", "tool"), fake_tool_call("c1", "halts")});
  const ChatResult result = run_in(GetParam(), bench.engine({turn, kAnswer}), {user("hi")}, options);
  EXPECT_EQ(result.halted_reason(), "own");
  EXPECT_EQ(reason_of(result.steps[0].tool_results[0]), "not_run");
  EXPECT_TRUE(result.manual_tool_calls().empty());
  EXPECT_EQ(bench.runs(), 0U);
}

TEST_P(GateInRuns, FailsClosed) {
  struct Broken {
    const char* problem;
    ApprovalGate gate;
    Reasons reasons;
  };
  for (const Broken& broken : {
           Broken{"it threw: out of ink",
                  [](Calls) -> std::vector<Approval> { throw std::runtime_error("out of ink"); },
                  {"denied", "denied"}},
           Broken{"no std::exception", [](Calls) -> std::vector<Approval> { throw 7; }, {"denied", "denied"}},
           Broken{"1 decisions on 2", [](Calls) { return std::vector{Approval::allow()}; }, {"denied", "denied"}},
           Broken{"3 decisions on 2", [](Calls) { return std::vector(3, Approval::allow()); }, {"denied", "denied"}},
           Broken{"no decision", [](Calls) { return std::vector{Approval(), Approval::allow()}; }, {"denied", "ran"}},
           Broken{"JSON cannot carry",
                  [](Calls) { return std::vector{Approval::allow_with({{"n", "\xff"}}), Approval::allow()}; },
                  {"denied", "ran"}},
       }) {
    const Bench bench;
    CallOptions options;
    options.approve = broken.gate;
    const ChatResult result = run_in(GetParam(), bench.engine({kTwo, kAnswer}), {user("hi")}, options);
    EXPECT_EQ(result.halted_reason(), "completed");
    EXPECT_EQ(reasons_of(result.steps[0]), broken.reasons) << broken.problem;
    EXPECT_NE(result.steps[0].tool_results[0].text().find(broken.problem), std::string::npos)
        << result.steps[0].tool_results[0].text();
    EXPECT_NE(result.steps[0].tool_results[0].text().find("the approval gate failed"), std::string::npos);
  }
}

TEST_P(GateInRuns, ReasonsThatAreNotValidUtf8AreRepaired) {
  const Bench bench;
  CallOptions options;
  options.approve = [](Calls calls) { return std::vector(calls.size(), Approval::deny("no\xff")); };
  const ChatResult result = run_in(GetParam(), bench.engine({kTwo, kAnswer}), {user("hi")}, options);
  EXPECT_EQ(Json::parse(result.steps[0].tool_results[0].text())["error"], "no\xef\xbf\xbd");
}

TEST_P(GateInRuns, DeniesAManualCallToo) {
  const Bench bench;
  CallOptions options;
  options.approve = [](Calls) { return std::vector{Approval::deny("no")}; };
  const FakeCallScript turn = turn_of({fake_tool_call("c0", "manual")});
  const ChatResult result = run_in(GetParam(), bench.engine({turn, kAnswer}), {user("hi")}, options);
  EXPECT_EQ(result.halted_reason(), "completed");
  EXPECT_EQ(reasons_of(result.steps[0]), (Reasons{"denied"}));
  options.approve = [](Calls) { return std::vector{Approval::allow_with({{"safe", true}})}; };
  const ChatResult pending = chat(bench.engine({turn, kAnswer}), {user("hi")}, options).value();
  ASSERT_EQ(pending.manual_tool_calls().size(), 1U);
  EXPECT_EQ(pending.manual_tool_calls()[0].arguments, Json({{"safe", true}}));
}

TEST_P(GateInRuns, HelpNeedsNoApproval) {
  const Bench bench;
  CallOptions options;
  options.approve = [](Calls calls) { return std::vector(calls.size(), Approval::deny("no")); };
  const FakeCallScript turn = turn_of({fake_tool_call("c0", "tool_help", {{"names", {"brief"}}})});
  const ChatResult result = run_in(GetParam(), bench.engine({turn, kAnswer}), {user("hi")}, options);
  EXPECT_EQ(result.steps[0].tool_results[0].text().find("denied"), std::string::npos);
}

TEST(GateIsNotAsked, WhereNothingRuns) {
  const Bench bench;
  int asked = 0;
  CallOptions options{.mode = Mode::manual};
  options.approve = [&](Calls calls) {
    ++asked;
    return std::vector(calls.size(), Approval::allow());
  };
  EXPECT_EQ(chat(bench.engine({kTwo}), {user("hi")}, options).value().halted_reason(), "manual_tool_calls");
  options.mode.reset();
  EXPECT_EQ(chat(bench.engine({turn_of({fake_tool_call("c0", "unheard_of")})}), {user("hi")}, options).error().reason(),
            "unknown_tool");
  EXPECT_EQ(asked, 0);
}

TEST(GateOfTheEngine, IsUsedUnlessTheCallHasItsOwn) {
  const Bench bench;
  const Engine engine({.adapter = fake({kTwo, kTwo, kTwo}), .tools = bench.tools(), .approve = [](Calls calls) {
                         return std::vector(calls.size(), Approval::deny("by the engine"));
                       }});
  EXPECT_EQ(reasons_of(step(engine, {user("hi")}).value()), (Reasons{"denied", "denied"}));
  CallOptions options;
  options.approve = [](Calls calls) { return std::vector(calls.size(), Approval::allow()); };
  EXPECT_EQ(reasons_of(step(engine, {user("hi")}, options).value()), (Reasons{"ran", "ran"}));
  auto other = engine.options();
  EXPECT_EQ(reasons_of(step(Engine(other), {user("hi")}).value()), (Reasons{"denied", "denied"}));
}

}  // namespace
}  // namespace allm::gate_test
