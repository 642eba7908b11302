#include "tests/kill/agent.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "allm/fake.hpp"

#include "tests/kill/effects.hpp"

namespace allm::kill_matrix {
namespace {

FakeEntry call(const char* id, const char* tool) { return fake_tool_call(id, tool, {{"id", id}}); }

FakeCallScript with_calls(std::size_t step, FakeEntry first, FakeEntry second) {
  return {fake_text("step-" + std::to_string(step)), std::move(first), std::move(second),
          fake_usage({.input_tokens = 10, .output_tokens = 5}), fake_finish(FinishReason::tool_calls)};
}

FakeCallScript answer(std::size_t step) {
  switch (step) {
    case 0:
      return with_calls(step, call("a", "note"), call("b", "again"));
    case 1:
      return with_calls(step, call("c", "note"), call("q", "question"));
    case 2:
      return with_calls(step, call("d", "again"), call("w", "careful"));
    case 3:
      return with_calls(step, call("g", "guarded"), call("h", "guarded"));
    case 4:
      return with_calls(step, call("e", "note"), call("m", "by_hand"));
    default:
      return {fake_text("done"), fake_usage({.input_tokens = 10, .output_tokens = 5}), fake_finish(FinishReason::stop)};
  }
}

// Answers by the number of its earlier messages.
std::shared_ptr<Adapter> paid_model(const Life& life) {
  return fake([life](const AdapterCall& model_call) {
    std::size_t step = 0;
    for (const Message& message : model_call.request.messages) {
      if (message.role == Role::assistant && !message.metadata.contains("ask_user")) ++step;
    }
    FakeCallScript script = answer(step);
    note_effect(life.effects,
                {.what = "model", .life = life.number, .subject = std::get<FakeText>(script.front()).text});
    return script;
  });
}

std::vector<Approval> suspend_guarded(std::span<const ToolCall> calls) {
  std::vector<Approval> decisions;
  for (const ToolCall& asked : calls) {
    decisions.push_back(asked.name == "guarded" ? Approval::suspend() : Approval::allow());
  }
  return decisions;
}

ToolOutcome handle(const Json& /*arguments*/, const ToolContext& context) {
  const std::string& id = context.tool_call().id;
  note_effect(context.context().at("effects").get<std::string>(), {.what = "run",
                                                                   .life = context.context().at("life").get<int>(),
                                                                   .subject = id,
                                                                   .key = std::string(context.idempotency_key())});
  if (context.tool_call().name == "question") return ask_user("Go on?");
  return ok("done by " + id);
}

}  // namespace

std::vector<Tool> agent_tools(const std::string& lane) {
  const std::vector<std::pair<const char*, OnInterrupted>> handled = {{"note", OnInterrupted::fail},
                                                                      {"again", OnInterrupted::retry},
                                                                      {"question", OnInterrupted::retry},
                                                                      {"careful", OnInterrupted::ask},
                                                                      {"guarded", OnInterrupted::fail}};
  std::vector<Tool> tools;
  for (const auto& [name, on_interrupted] : handled) {
    Tool tool{.name = name, .handler = handle};
    tool.lane = lane == "worker" ? Lane::worker : Lane::thread;
    tool.limits.memory = std::nullopt;
    tool.on_interrupted = on_interrupted;
    tools.push_back(std::move(tool));
  }
  tools.push_back({.name = "by_hand", .manual = true});
  return tools;
}

const std::vector<RunCall>& run_calls() {
  using enum OnInterrupted;
  static const std::vector<RunCall> calls = {{"a", fail},  {"b", retry}, {"c", fail}, {"q", retry},
                                             {"d", retry}, {"w", ask},   {"g", fail}, {"e", fail}};
  return calls;
}

Engine make_agent(const Life& life) {
  return Engine({.adapter = paid_model(life),
                 .tools = agent_tools(life.lane),
                 .approve = suspend_guarded,
                 .context = {{"effects", life.effects}, {"life", life.number}}});
}

SessionOrder next_order(const StoredSession& stored) {
  using Kind = SessionOrder::Kind;
  const Session& session = stored.session;
  if (session.status == SessionStatus::awaiting_user) {
    return {.kind = Kind::message, .message = user("Yes."), .epoch = stored.version};
  }
  if (session.status != SessionStatus::awaiting_tools) return {.kind = Kind::start, .epoch = stored.version};
  SessionOrder order{.epoch = stored.version};
  for (const PendingToolCall& pending : session.pending_tool_calls) {
    if (pending.kind != PendingKind::suspended) {
      order.results.push_back({.tool_call_id = pending.id, .result = "done by hand"});
    } else {
      order.decisions.push_back({pending.id, pending.id == "h" ? Approval::deny("no") : Approval::allow()});
    }
  }
  order.kind = order.decisions.empty() ? Kind::results : Kind::decisions;
  // Suspended calls are decided on first.
  if (order.kind == Kind::decisions) order.results.clear();
  return order;
}

}  // namespace allm::kill_matrix
