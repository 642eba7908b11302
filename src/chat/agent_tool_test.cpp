// Agents as tools: what they share with the calling run, and how their ends become results.
#include "allm/agent_tool.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"
#include "allm/telemetry.hpp"
#include "allm/tool_runner.hpp"

namespace allm::agent_tool_test {
namespace {

using std::chrono::milliseconds;

const FakeEntry kRunTools = fake_finish(FinishReason::tool_calls);
FakeCallScript says(const std::string& text) { return {fake_text(text), fake_finish(FinishReason::stop)}; }
FakeCallScript calls(const std::string& tool, Json arguments = Json::object()) {
  return {fake_tool_call("call_" + tool, tool, std::move(arguments)), kRunTools};
}
FakeCallScript asks_agent() { return calls("agent", {{"task", "look it up"}}); }

Tool tool_of(const std::string& name, ToolOutcome outcome) {
  return {.name = name, .handler = [outcome](const Json&) { return outcome; }};
}

struct Rig {
  std::shared_ptr<FakeAdapter> inner;
  std::shared_ptr<FakeAdapter> outer = fake({asks_agent(), says("done")}, {.record = true});
  std::vector<Tool> inner_tools = {};
  AgentToolOptions agent = {};
  CallOptions options = {};

  explicit Rig(FakeScript script, FakeOptions fake_options = {}) {
    fake_options.record = true;
    inner = fake(std::move(script), std::move(fake_options));
  }
  Tool tool() const { return agent_tool(Engine({.adapter = inner, .tools = inner_tools}), agent); }
  Engine engine() const { return Engine({.adapter = outer, .tools = {tool()}}); }
  ChatResult run() const {
    const auto result = chat(engine(), {user("go")}, options);
    EXPECT_TRUE(result.has_value()) << result.error().message();
    return result.value_or(ChatResult{});
  }
  // The tool result that the calling model gets.
  std::string told() const { return run().steps.at(0).tool_results.at(0).text(); }
};

TEST(AgentTool, TheAgentsAnswerIsTheResult) {
  Rig rig({says("found")});
  rig.agent.instructions = "You look things up.";
  EXPECT_EQ(rig.told(), "found");
  const MessageList messages = rig.inner->requests().at(0).request.messages;
  EXPECT_EQ(messages, (MessageList{system("You look things up."), user("look it up")}));
  EXPECT_EQ(rig.inner->requests().at(0).request_id, rig.outer->requests().at(0).request_id);
}

TEST(AgentTool, ArgumentsWithoutATaskAreSentAsJson) {
  Rig rig({says("found")});
  rig.agent.schema = {{"type", "object"}};
  rig.outer = fake({calls("agent", {{"city", "Rome"}}), says("done")});
  EXPECT_EQ(rig.told(), "found");
  EXPECT_EQ(rig.inner->requests().at(0).request.messages.back().text(), R"({"city":"Rome"})");
}

TEST(AgentTool, AnAgentRunsToolsOfItsOwn) {
  Rig rig({calls("good"), says("found")});
  rig.inner_tools = {tool_of("good", ok("fine"))};
  std::vector<Json> progress;
  rig.options.on_tool_progress = [&](const ToolCall&, const Json& report) { progress.push_back(report); };
  EXPECT_EQ(rig.told(), "found");
  EXPECT_EQ(progress, (std::vector<Json>{{{"agent", "agent"}, {"tool", "good"}}}));
}

TEST(AgentTool, AnErrorOfTheAgentIsAFailureOfTheCall) {
  const Rig refused({{fake_preflight_error(AdapterError::Reason::authentication_failed)}});
  EXPECT_NE(refused.told().find("the agent 'agent' failed: "), std::string::npos) << refused.told();
  Rig circles({calls("good"), calls("good")});
  circles.inner_tools = {tool_of("good", ok("fine"))};
  circles.agent.options.max_turns = 1;
  EXPECT_EQ(circles.told(), R"({"error":"the agent 'agent' failed: it was stopped: max_turns"})");
}

TEST(AgentTool, AQuestionOfTheAgentIsTheRunsQuestion) {
  Rig rig({calls("asks")});
  rig.inner_tools = {tool_of("asks", ask_user("Which one?", {{"choices", {"a", "b"}}}))};
  const ChatResult result = rig.run();
  EXPECT_EQ(result.halted_reason(), "ask_user");
  ASSERT_NE(result.pending_question(), nullptr);
  EXPECT_EQ(*result.pending_question(), "Which one?");
  EXPECT_EQ(std::get<ended::AskUser>(result.end).tool_call_id, "call_agent");
  EXPECT_EQ(std::get<ended::AskUser>(result.end).options, Json({{"choices", {"a", "b"}}}));
}

TEST(AgentTool, AHaltOfAnAgentsToolHaltsTheRun) {
  Rig rig({calls("halts")});
  rig.inner_tools = {tool_of("halts", halt("enough", 7))};
  const ChatResult result = rig.run();
  EXPECT_EQ(result.halted_reason(), "enough");
  EXPECT_EQ(std::get<ended::Halted>(result.end).result, 7);
}

TEST(AgentTool, APendingCallOfTheAgentIsAFailure) {
  Rig rig({calls("manual")});
  rig.inner_tools = {{.name = "manual", .manual = true}};
  EXPECT_EQ(rig.told(), R"({"error":"the agent 'agent' failed: one of its calls waits for the program"})");
}

TEST(AgentTool, WithoutARunTheCallFails) {
  std::vector<ToolOutcome> outcomes;
  const ToolCompletion done([&](ToolOutcome outcome) {
    outcomes.push_back(std::move(outcome));
    return true;
  });
  Rig({}).tool().handler({{"task", "x"}}, ToolContext::for_testing(), done);
  EXPECT_EQ(outcomes, std::vector<ToolOutcome>{failure("an agent tool needs a run to be part of")});
}

// --- One budget ---

TEST(AgentTool, UsageOfTheAgentIsAddedToTheRuns) {
  Rig rig({calls("good"), says("found")}, {.usage = Usage{.total_tokens = 10}});
  rig.inner_tools = {tool_of("good", ok("fine"))};
  rig.outer = fake({asks_agent(), says("done")}, {.usage = Usage{.total_tokens = 1}});
  EXPECT_EQ(rig.run().usage.total_tokens, 22);
}

TEST(AgentTool, TokensOfTheAgentCountAgainstTheRunsLimit) {
  Rig rig({calls("good"), calls("good"), says("found")}, {.usage = Usage{.total_tokens = 10}});
  rig.inner_tools = {tool_of("good", ok("fine"))};
  rig.options.max_total_tokens = 20;
  const ChatResult result = rig.run();
  EXPECT_EQ(result.halted_reason(), "max_total_tokens");
  EXPECT_EQ(rig.inner->calls(), 2U);
  EXPECT_EQ(result.steps.at(0).tool_results.at(0).text(),
            R"({"error":"the agent 'agent' failed: it was stopped: max_total_tokens"})");
}

TEST(AgentTool, ToolCallsOfTheAgentCountAgainstTheRunsLimit) {
  Rig rig({calls("good"), calls("good"), says("found")});
  rig.inner_tools = {tool_of("good", ok("fine"))};
  rig.options.max_tool_calls = 2;  // the agent itself is the first
  const ChatResult result = rig.run();
  EXPECT_EQ(result.halted_reason(), "max_tool_calls");
  EXPECT_EQ(rig.inner->calls(), 2U);
}

TEST(AgentTool, LimitsOfTheAgentEndOnlyTheAgent) {
  Rig rig({calls("good"), says("found")}, {.usage = Usage{.total_tokens = 10}});
  rig.inner_tools = {tool_of("good", ok("fine"))};
  rig.agent.options.max_total_tokens = 10;
  const ChatResult result = rig.run();
  EXPECT_EQ(result.halted_reason(), "completed");
  EXPECT_EQ(result.text(), "done");
  EXPECT_EQ(rig.inner->calls(), 1U);
}

// --- One gate ---

ApprovalGate denying(const std::string& name) {
  return [name](std::span<const ToolCall> asked) {
    std::vector<Approval> decisions;
    for (const ToolCall& call : asked) {
      decisions.push_back(call.name == name ? Approval::deny("not " + name) : Approval::allow());
    }
    return decisions;
  };
}

TEST(AgentTool, TheGateOfTheRunDecidesOnTheAgentsCalls) {
  Rig rig({calls("good"), says("found")});
  rig.inner_tools = {tool_of("good", ok("fine"))};
  rig.options.approve = denying("good");
  rig.run();
  EXPECT_EQ(rig.inner->requests().at(1).request.messages.back().text(), R"({"error":"not good","reason":"denied"})");
}

TEST(AgentTool, ACallOfTheAgentNeedsBothGates) {
  for (const bool own_denies : {true, false}) {
    Rig rig({{fake_tool_call("a", "one"), fake_tool_call("b", "two"), kRunTools}, says("found")});
    rig.inner_tools = {tool_of("one", ok("1")), tool_of("two", ok("2"))};
    rig.agent.options.approve = denying(own_denies ? "one" : "two");
    rig.options.approve = denying(own_denies ? "two" : "one");
    rig.run();
    const MessageList messages = rig.inner->requests().at(1).request.messages;
    EXPECT_NE(messages[2].text().find("denied"), std::string::npos);
    EXPECT_NE(messages[3].text().find("denied"), std::string::npos);
  }
}

TEST(AgentTool, TheRunsGateSeesTheArgumentsThatTheAgentsGateSet) {
  Rig rig({calls("good", {{"n", 1}}), says("found")});
  rig.inner_tools = {{.name = "good", .handler = [](const Json& arguments) { return ok(arguments["n"]); }}};
  rig.agent.options.approve = [](std::span<const ToolCall>) { return std::vector{Approval::allow_with({{"n", 2}})}; };
  std::vector<Json> seen;
  rig.options.approve = [&](std::span<const ToolCall> asked) {
    seen.push_back(asked[0].arguments);
    return std::vector{Approval::allow()};
  };
  rig.run();
  EXPECT_EQ(seen.at(1), Json({{"n", 2}}));
  EXPECT_EQ(rig.inner->requests().at(1).request.messages.back().text(), "2");
}

// --- One end ---

TEST(AgentTool, TheDeadlineOfTheCallEndsTheAgent) {
  // On a busy machine the deadline can pass before the agent has called its model; then a later one is tried.
  for (milliseconds deadline(5); deadline < std::chrono::minutes(1); deadline *= 2) {
    Rig rig({{fake_delay(std::chrono::hours(1)), fake_text("late")}});
    rig.agent.timeout = deadline;
    EXPECT_NE(rig.told().find("\"reason\":\"timeout\""), std::string::npos);
    if (rig.inner->requests().empty()) continue;
    EXPECT_EQ(rig.inner->closed(), 1U);
    return;
  }
  FAIL() << "the agent never called its model";
}

TEST(AgentTool, CancellingTheRunEndsTheAgent) {
  Rig rig({{fake_text("begun"), fake_delay(std::chrono::hours(1))}});
  std::stop_source stop;
  rig.options.cancel.now = stop.get_token();
  rig.agent.options.on_event = [&](const Event& event) {
    if (event.tag() == EventTag::text_delta) stop.request_stop();
  };
  const ChatResult result = rig.run();
  EXPECT_EQ(result.halted_reason(), "cancelled");
  EXPECT_EQ(rig.inner->closed(), 1U);
}

TEST(AgentTool, DroppingTheStreamEndsTheAgent) {
  Rig rig({{fake_text("begun"), fake_delay(std::chrono::hours(1))}});
  bool begun = false;
  rig.agent.options.on_event = [&](const Event& event) { begun = begun || event.tag() == EventTag::text_delta; };
  EventStream events = stream(rig.engine(), {user("go")}, rig.options);
  while (!begun) (void)events.next(std::chrono::steady_clock::now() + milliseconds(1));
  events.drop();
  EXPECT_EQ(rig.inner->closed(), 1U);
}

// --- Depth ---

TEST(AgentTool, TheDepthOfNestedAgentsIsLimited) {
  // Each level is an agent whose only tool is the agent below it; the script always calls it.
  const auto model = fake(FakeScript(20, asks_agent()), {.record = true});
  Tool tool = agent_tool(Engine({.adapter = model}), {});
  for (int level = 0; level < 8; ++level) {
    tool = agent_tool(Engine({.adapter = model, .tools = {tool}, .params = {{"max_turns", 1}}}), {.max_depth = 3});
  }
  const auto result = chat(Engine({.adapter = model, .tools = {tool}, .params = {{"max_turns", 1}}}), {user("go")});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(model->calls(), 4U);  // the run and three agents
  EXPECT_EQ(model->requests().size(), 4U);
}

// --- No threads ---

// A model whose calls all wait until the test opens the gate.
class WaitingModel : public Adapter {
 public:
  std::string_view provider() const override { return "waiting"; }
  Result<std::unique_ptr<EventSource>> open(const AdapterCall&) override { return std::make_unique<Source>(*this); }
  void release() {
    std::vector<Waker> wakers;
    {
      const std::lock_guard lock(mutex_);
      released_ = true;
      wakers.swap(wakers_);
    }
    for (const Waker& waker : wakers) waker.wake();
  }
  std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return wakers_.size();
  }

 private:
  class Source : public EventSource {
   public:
    explicit Source(WaitingModel& model) : model_(model) {}
    Poll poll(const Waker& waker) override {
      {
        const std::lock_guard lock(model_.mutex_);
        if (!model_.released_) {
          model_.wakers_.push_back(waker);
          return Poll::pending();
        }
      }
      switch (next_++) {
        case 0:
          return MessageStarted{assistant("")};
        case 1:
          return TextDelta{.delta = "ok"};
        case 2:
          return MessageCompleted{.message = assistant("ok"), .finish_reason = FinishReason::stop};
        default:
          return Poll::end();
      }
    }

   private:
    WaitingModel& model_;
    int next_ = 0;
  };
  mutable std::mutex mutex_;
  bool released_ = false;
  std::vector<Waker> wakers_;
};

TEST(AgentTool, AThousandWaitingAgentsUseNoThreads) {
  constexpr std::size_t kAgents = 1'000;
  const auto runtime = Runtime::create({.max_threads = 2});
  const auto model = std::make_shared<WaitingModel>();
  std::vector<ToolCall> batch;
  for (std::size_t i = 0; i < kAgents; ++i) {
    batch.push_back({.id = "c" + std::to_string(i), .name = "agent", .arguments = {{"task", "wait"}}});
  }
  const Engine engine({.runtime = runtime});
  EventStream events =
      stream_tool_calls(std::move(batch), {agent_tool(Engine({.adapter = model, .runtime = runtime}), {})},
                        {.max_concurrency = kAgents}, engine);
  while (model->waiting() < kAgents) (void)events.next(std::chrono::steady_clock::now() + milliseconds(1));
  EXPECT_LE(runtime->stats().threads, 2U);
  model->release();
  std::size_t answered = 0;
  while (const auto event = events.next()) {
    if (const auto* encoded = event->get_if<ToolResultEncoded>()) answered += encoded->content == "ok" ? 1 : 0;
  }
  EXPECT_EQ(answered, kAgents);
}

TEST(AgentTool, TheRunsTelemetrySeesTheAgentUnderItsCall) {
  const auto sink = std::make_shared<CollectingTelemetry>();
  Rig rig({says("found")});
  const Engine engine({.adapter = rig.outer, .tools = {rig.tool()}, .telemetry = sink});
  ASSERT_TRUE(chat(engine, {user("go")}).has_value());
  EXPECT_EQ(sink->tree(),
            "chat\n"
            "  step\n"
            "    generate\n"
            "      stream\n"
            "    tool agent\n"
            "      chat\n"
            "        step\n"
            "          generate\n"
            "            stream\n"
            "  step\n"
            "    generate\n"
            "      stream\n");
}

}  // namespace
}  // namespace allm::agent_tool_test
