// The code of docs/steps.md.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace allm::docs_steps_test {
namespace {

allm::FakeCallScript says(const std::string& text) {
  return {allm::fake_text(text), allm::fake_finish(allm::FinishReason::stop)};
}

TEST(DocsSteps, Hook) {
  const auto adapter = allm::fake({says("done")}, {.record = true});
  const allm::Engine engine({.adapter = adapter});
  const allm::Thread thread = {allm::user("go")};
  // [steps-hook]
  allm::CallOptions options;
  options.prepare_step = [](const allm::StepView& step) -> allm::PlannedStep {
    if (step.index > 0) return {};  // no change for this step
    return allm::StepPlan{.model = "model-that-plans", .tool_choice = allm::ToolChoice::none()};
  };
  auto result = allm::chat(engine, thread, options);
  // [/steps-hook]
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(adapter->requests().at(0).model->id, "model-that-plans");
}

TEST(DocsSteps, Stock) {
  const auto adapter = allm::fake({says("done")});
  const allm::Engine engine({.adapter = adapter});
  const allm::Engine cheap({.adapter = allm::fake({says("summary")})});
  const allm::Thread thread = {allm::user("go")};
  // [steps-stock]
  allm::CallOptions options;
  options.prepare_step = allm::then(allm::drop_old_tool_results(50'000),              // bytes
                                    allm::compact({.over_tokens = 100'000}, cheap));  // an engine with a cheap model
  auto result = allm::chat(engine, thread, options);
  // [/steps-stock]
  EXPECT_TRUE(result.has_value());
}

TEST(DocsSteps, OwnModelCall) {
  const auto adapter = allm::fake({says("done")}, {.usage = allm::Usage{.total_tokens = 5}, .record = true});
  const allm::Engine engine({.adapter = adapter});
  const allm::Engine small({.adapter = allm::fake({says("hard")}, {.usage = allm::Usage{.total_tokens = 7}})});
  // [steps-own-call]
  allm::CallOptions options;
  options.prepare_step = [small](const allm::StepView& step) -> allm::PlannedStep {
    allm::Request question{.messages = {allm::user("Is this hard? " + step.thread.messages.back().text())}};
    // Blocks the stream. A hook that must not block returns a PendingPlan.
    auto answer = allm::generate(small, question, allm::call_options_for(step));
    if (!answer) return std::unexpected(answer.error());
    return allm::StepPlan{.model = answer->text() == "hard" ? "large" : "small", .usage = answer->usage};
  };
  auto result = allm::chat(engine, {allm::user("Prove it.")}, options);
  // [/steps-own-call]
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(adapter->requests().at(0).model->id, "large");
  EXPECT_EQ(result->usage.total_tokens, 12);
}

TEST(DocsSteps, Fallback) {
  const allm::Engine primary(
      {.adapter = allm::fake({{allm::fake_preflight_error(allm::AdapterError::Reason::provider_unavailable)}}),
       .retry = allm::RetryPolicy::off()});
  const allm::Engine secondary({.adapter = allm::fake({says("hello")})});
  // [steps-fallback]
  allm::Engine engine = allm::fallback({primary, secondary});
  auto result = allm::chat(engine, {allm::user("hi")});
  if (!result) return;  // result.error() says why
  // Which of the two answered, 0 or 1:
  const allm::Json index = result->final_response->metadata["fallback"]["engine"];
  // [/steps-fallback]
  EXPECT_EQ(index, 1);
}

TEST(DocsSteps, Agent) {
  const allm::Engine research_engine({.adapter = allm::fake({says("1889")})});
  const auto adapter = allm::fake({{allm::fake_tool_call("call_1", "researcher", {{"task", "When was it built?"}}),
                                    allm::fake_finish(allm::FinishReason::tool_calls)},
                                   says("old")});
  // [steps-agent]
  allm::Tool researcher = allm::agent_tool(research_engine, {.name = "researcher",
                                                             .description = "Finds facts in the library.",
                                                             .instructions = "You find facts. Answer briefly."});
  allm::Engine manager({.adapter = adapter, .tools = {researcher}});
  auto result = allm::chat(manager, {allm::user("How old is the tower?")}, {.max_total_tokens = 100'000});
  // [/steps-agent]
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->steps.at(0).tool_results.at(0).text(), "1889");
}

}  // namespace
}  // namespace allm::docs_steps_test
