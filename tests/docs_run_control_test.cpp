// The code of docs/run-control.md. scripts/check_snippets.py compares the regions with the document.
#include <chrono>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

#include "runtime/test_waits.hpp"

namespace docs_run_control_test {
namespace {

using namespace std::chrono_literals;

allm::FakeScript calling(const std::string& name, allm::Json arguments = allm::Json::object()) {
  return {{allm::fake_tool_call("c1", name, std::move(arguments)), allm::fake_finish(allm::FinishReason::tool_calls)},
          {allm::fake_text("done"), allm::fake_finish(allm::FinishReason::stop)}};
}
allm::Tool returning(const std::string& name) {
  return {.name = name, .handler = [](const allm::Json& arguments) { return allm::ok(arguments); }};
}

TEST(DocsRunControl, Gate) {
  // [control-gate]
  allm::ApprovalGate gate = [](std::span<const allm::ToolCall> calls) {
    std::vector<allm::Approval> decisions;
    for (const allm::ToolCall& call : calls) {
      if (call.name == "read_file") {
        decisions.push_back(allm::Approval::allow());
      } else if (call.name == "search") {
        allm::Json arguments = call.arguments;
        arguments["limit"] = 10;
        decisions.push_back(allm::Approval::allow_with(std::move(arguments)));
      } else if (call.name == "send_mail") {
        decisions.push_back(allm::Approval::suspend());  // a person decides
      } else {
        decisions.push_back(allm::Approval::deny("only reading is allowed here"));
      }
    }
    return decisions;
  };
  allm::CallOptions options;
  options.approve = gate;  // or EngineOptions::approve, for every run
  // [/control-gate]
  const auto answer = [&](const std::string& name) {
    const allm::Engine engine({.adapter = allm::fake(calling(name, {{"q", 1}})), .tools = {returning(name)}});
    return allm::chat(engine, {allm::user("go")}, options).value();
  };
  EXPECT_EQ(answer("read_file").thread.messages[2].text(), R"({"q":1})");
  EXPECT_EQ(answer("search").thread.messages[2].text(), R"({"q":1,"limit":10})");
  EXPECT_EQ(answer("send_mail").halted_reason(), "manual_tool_calls");
  EXPECT_EQ(answer("delete_file").thread.messages[2].text(),
            R"({"error":"only reading is allowed here","reason":"denied"})");
}

TEST(DocsRunControl, Suspended) {
  const allm::Engine engine(
      {.adapter = allm::fake(calling("send_mail", {{"to", "Bob"}})), .tools = {returning("send_mail")}});
  const auto ann_allows = [](const allm::ToolCall& call) { return call.arguments["to"] == "Bob"; };
  allm::CallOptions options;
  options.approve = [](std::span<const allm::ToolCall> calls) {
    return std::vector(calls.size(), allm::Approval::suspend());
  };
  auto turn = allm::session_reply(engine, allm::Session{}, "Write to Bob.", options);
  ASSERT_TRUE(turn.has_value());
  // [control-suspended]
  allm::Session session = turn->session;  // awaiting_tools; save it until somebody has decided
  std::vector<allm::CallDecision> decisions;
  for (const allm::PendingToolCall& call : session.pending_tool_calls) {
    if (call.kind != allm::PendingKind::suspended) continue;  // manual: submit_tool_result
    const bool yes = ann_allows(call);
    decisions.push_back({call.id, yes ? allm::Approval::allow() : allm::Approval::deny("Ann said no")});
  }
  auto next = allm::session_approve(engine, session, decisions);  // sends the mail; the model continues
  // [/control-suspended]
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->result.text(), "done");
  EXPECT_EQ(next->session.thread.messages[2].text(), R"({"to":"Bob"})") << "the handler has run";
}

TEST(DocsRunControl, ApprovedThread) {
  const allm::Engine engine({.adapter = allm::fake(calling("send_mail", {{"to", "Bob"}})),
                             .tools = {returning("send_mail")},
                             .approve = [](std::span<const allm::ToolCall> calls) {
                               return std::vector(calls.size(), allm::Approval::suspend());
                             }});
  // [control-approve]
  auto paused = allm::chat(engine, {allm::user("Write to Bob.")});
  if (!paused) return;  // paused.error() says why
  auto result = allm::approve(engine, paused->thread, paused->manual_tool_calls(), {{"c1", allm::Approval::allow()}});
  // [/control-approve]
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->text(), "done");
  EXPECT_EQ(result->thread.messages[2].text(), R"({"to":"Bob"})");
}

TEST(DocsRunControl, Limits) {
  const allm::Engine engine({.adapter = allm::fake(calling("look")), .tools = {returning("look")}});
  // [control-limits]
  auto result = allm::chat(engine, {allm::user("go")},
                           {.run_timeout = 2min,
                            .max_total_tokens = 200'000,
                            .max_cost = 0.50,
                            .max_tool_calls = 40,
                            .max_repeated_failures = 3});
  if (!result) return;  // result.error() says why
  if (result->halted_reason() == allm::halted::max_cost) {
    // std::get<allm::ended::Limit>(result->end) has the limit; result->thread can be continued
  }
  // [/control-limits]
  EXPECT_EQ(result->halted_reason(), "max_cost");
  EXPECT_EQ(result->full_metadata(), allm::Json({{"max_cost", 0.5}, {"cost_unknown", true}}));
}

TEST(DocsRunControl, Budget) {
  const auto adapter = allm::fake({{allm::fake_text("done"), allm::fake_finish(allm::FinishReason::stop)}},
                                  {.usage = allm::Usage{.input_tokens = 1'000, .output_tokens = 1'000}});
  // [control-budget]
  auto budget = std::make_shared<allm::Budget>(allm::BudgetOptions{.max_cost = 1.00});
  allm::EngineOptions options{.adapter = adapter, .model = "gpt-4.1-mini", .catalogue = allm::builtin_catalogue()};
  options.defaults.max_tokens = 2'000;          // the worst case of an answer
  options.defaults.budget = budget;             // for every run of the engine
  options.defaults.shrink_max_tokens_to = 500;  // near the end, shorter answers rather than none
  allm::Engine engine(options);
  auto result = allm::chat(engine, {allm::user("go")});
  double left = allm::nanos_to_cost(budget->left()->nanos.value());  // for this and all other runs together
  // [/control-budget]
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->text(), "done");
  EXPECT_NEAR(left, 1.0 - *result->usage.total_cost, 1e-8);
  EXPECT_EQ(budget->spent().tokens, 2'000);
}

TEST(DocsRunControl, Cancel) {
  allm::testing::Gate started;
  const allm::Tool waits{.name = "wait", .handler = [&](const allm::Json&, const allm::ToolContext& context) {
                           started.open();
                           allm::testing::eventually([&] { return context.stop_token().stop_requested(); }, "a stop");
                           return allm::failure("stopped");
                         }};
  const auto runtime = allm::Runtime::create();
  const allm::Engine engine({.adapter = allm::fake(calling("wait")), .tools = {waits}, .runtime = runtime});
  const allm::Thread thread = {allm::user("go")};
  // [control-cancel]
  std::stop_source gently;
  std::stop_source at_once;
  allm::CallOptions options;
  options.cancel = {.now = at_once.get_token(), .after_step = gently.get_token()};
  std::jthread user([&] {
    started.wait();
    gently.request_stop();   // the first Ctrl-C: finish the running step
    at_once.request_stop();  // the second Ctrl-C: stop at once
  });
  auto result = allm::chat(engine, thread, options);
  // result->halted_reason() == "cancelled"; result->thread is valid, and can be continued
  // [/control-cancel]
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->halted_reason(), "cancelled");
  EXPECT_TRUE(allm::validate(result->thread).has_value());
  allm::testing::eventually([&] { return runtime->stats().running == 0; }, "the handler's end");
}

}  // namespace
}  // namespace docs_run_control_test
