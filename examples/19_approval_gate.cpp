// The program has the last word: an approval gate, a budget and a way to stop.
//
// The model wants to read, to move money twice and to delete something. The gate sees all four calls before any of them
// runs: it allows one, lowers an amount, leaves one to a person and denies one. A budget keeps the run from going in
// circles.
#include <atomic>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

allm::Approval decide(const allm::ToolCall& call) {
  if (call.name == "balance") return allm::Approval::allow();
  if (call.name == "close_account") return allm::Approval::deny("accounts are closed at the counter");
  const int amount = call.arguments.value("amount", 0);
  if (amount <= 50) return allm::Approval::allow();
  if (amount <= 100) return allm::Approval::allow_with({{"amount", 50}});
  return allm::Approval::suspend();  // for a person to decide
}

std::vector<allm::Approval> gate(std::span<const allm::ToolCall> calls) {
  std::vector<allm::Approval> decisions;
  for (const allm::ToolCall& call : calls) decisions.push_back(decide(call));
  return decisions;
}

allm::FakeScript script() {
  return {
      {allm::fake_tool_call("call_1", "balance"), allm::fake_tool_call("call_2", "transfer", {{"amount", 80}}),
       allm::fake_tool_call("call_3", "transfer", {{"amount", 900}}), allm::fake_tool_call("call_4", "close_account"),
       allm::fake_finish(allm::FinishReason::tool_calls)},
      {allm::fake_text("50 are sent, and 900 after your approval. The account stays."),
       allm::fake_finish(allm::FinishReason::stop)},
  };
}

}  // namespace

int main() {
  const auto moved = std::make_shared<std::atomic<int>>(0);
  const allm::Tool balance = allm::tool({
      .name = "balance",
      .description = "The balance of the account.",
      .handler = [](const allm::Json&) { return allm::ok({{"balance", 2'000}}); },
  });
  const allm::Tool transfer = allm::tool({
      .name = "transfer",
      .description = "Sends money.",
      .schema = {{"type", "object"}, {"properties", {{"amount", {{"type", "integer"}}}}}},
      .handler =
          [moved](const allm::Json& arguments) {
            *moved += arguments.value("amount", 0);
            return allm::ok({{"sent", arguments["amount"]}});
          },
  });
  const allm::Tool close_account = allm::tool({
      .name = "close_account",
      .description = "Closes the account for good.",
      .handler = [](const allm::Json&) { return allm::ok("closed"); },
  });
  const allm::Engine engine({
      .adapter = allm::fake(script()),
      .tools = {balance, transfer, close_account},
      .approve = gate,
      .params = {{"max_tool_calls", 10}, {"max_repeated_failures", 3}},
  });

  const auto paused = allm::session_reply(engine, allm::Session{}, "Pay my bills and close the account.");
  if (!paused) return fail(paused.error().message());
  for (const allm::Message& message : paused->session.thread.messages) {
    if (message.role == allm::Role::tool) std::cout << *message.tool_call_id << ": " << message.text() << '\n';
  }
  if (paused->session.status != allm::SessionStatus::awaiting_tools) return fail("a call that waits for approval");
  if (*moved != 50) return fail("no more than the gate allowed");

  // A person looks at what is pending; the session can be saved until then.
  allm::Session session = paused->session;
  for (const allm::ToolCall& call : paused->session.pending_tool_calls) {
    std::cout << call.id << ": " << call.name << call.arguments << " is approved by Ann\n";
    auto answered = allm::submit_tool_result(session, call.id, {{"sent", call.arguments["amount"]}});
    if (!answered) return fail(answered.error().message());
    session = *std::move(answered);
  }
  const auto answer = allm::session_continue(engine, session);
  if (!answer) return fail(answer.error().message());
  std::cout << "assistant: " << answer->result.text() << '\n';
  return answer->session.status == allm::SessionStatus::completed ? 0 : fail("an answer");
}
