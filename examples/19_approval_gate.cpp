// The program decides on tool calls: with an approval gate, a person who decides later, and a budget.
//
// The model wants to read, to move money twice and to delete something. The gate sees all four calls before any of them
// runs: it allows one, lowers an amount, suspends one for a person and denies one. The session is saved. Later, perhaps
// in another process, a person approves the suspended call: now it runs, and the model continues with its result.
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

using Moved = std::shared_ptr<std::atomic<int>>;

std::vector<allm::Tool> tools(const Moved& moved) {
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
  return {balance, transfer, close_account};
}

allm::Engine engine_of(allm::FakeScript script, const Moved& moved) {
  return allm::Engine({
      .adapter = allm::fake(std::move(script)),
      .tools = tools(moved),
      .approve = gate,
      .params = {{"max_tool_calls", 10}, {"max_repeated_failures", 3}},
  });
}

allm::FakeCallScript wants_four_calls() {
  return {allm::fake_tool_call("call_1", "balance"), allm::fake_tool_call("call_2", "transfer", {{"amount", 80}}),
          allm::fake_tool_call("call_3", "transfer", {{"amount", 900}}),
          allm::fake_tool_call("call_4", "close_account"), allm::fake_finish(allm::FinishReason::tool_calls)};
}
allm::FakeCallScript answers() {
  return {allm::fake_text("50 are sent, and 900 after your approval. The account stays."),
          allm::fake_finish(allm::FinishReason::stop)};
}

// The first process: runs until a person has to decide, and returns what it saves.
allm::Result<std::string> run_until_suspended(const Moved& moved) {
  const allm::Engine engine = engine_of({wants_four_calls()}, moved);
  const auto paused = allm::session_reply(engine, allm::Session{}, "Pay my bills and close the account.");
  if (!paused) return std::unexpected(paused.error());
  return allm::to_json(paused->session);
}

// The second process: a person decides on each suspended call. The approved call runs here.
allm::Result<allm::SessionTurn> approve_as_ann(const std::string& saved, const Moved& moved) {
  const allm::Result<allm::Session> session = allm::from_json<allm::Session>(saved);
  if (!session) return std::unexpected(session.error());
  std::vector<allm::CallDecision> decisions;
  for (const allm::PendingToolCall& call : session->pending_tool_calls) {
    if (call.kind != allm::PendingKind::suspended) continue;  // a manual call: submit_tool_result
    std::cout << call.id << ": " << call.name << call.arguments << " is approved by Ann\n";
    decisions.push_back({call.id, allm::Approval::allow()});
  }
  return allm::session_approve(engine_of({answers()}, moved), *session, decisions);
}

}  // namespace

int main() {
  const auto moved = std::make_shared<std::atomic<int>>(0);
  const allm::Result<std::string> saved = run_until_suspended(moved);
  if (!saved) return fail(saved.error().message());
  if (*moved != 50) return fail("no more than the gate allowed");

  const allm::Result<allm::SessionTurn> turn = approve_as_ann(*saved, moved);
  if (!turn) return fail(turn.error().message());
  if (*moved != 950) return fail("the approved transfer was made, once");
  for (const allm::Message& message : turn->session.thread.messages) {
    if (message.role == allm::Role::tool) std::cout << *message.tool_call_id << ": " << message.text() << '\n';
  }
  std::cout << "assistant: " << turn->result.text() << '\n';
  return turn->session.status == allm::SessionStatus::completed ? 0 : fail("an answer");
}
