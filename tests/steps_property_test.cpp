// For random threads, no stock hook of prepare_step separates a call from its result.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "allm/fake.hpp"
#include "allm/steps.hpp"

#include "tests/generators.hpp"

namespace allm::steps_property_test {
namespace {

// Counts, by id, results without a call before them and calls without a result after them.
std::map<std::string, int> unmatched(const MessageList& messages) {
  std::map<std::string, int> open;
  std::map<std::string, int> found;
  for (const Message& message : messages) {
    for (const ToolCall& call : message.tool_calls) ++open["call " + call.id];
    if (message.role != Role::tool || !message.tool_call_id) continue;
    if (int& calls = open["call " + *message.tool_call_id]; calls > 0) {
      --calls;
    } else {
      ++found["result " + *message.tool_call_id];
    }
  }
  found.insert(open.begin(), open.end());
  return found;
}

MessageList view_of(const PrepareStep& hook, const Thread& thread) {
  const Engine engine;
  const Usage usage;
  PlannedStep planned = hook({.engine = engine, .thread = thread, .usage = usage});
  while (true) {
    if (auto plan = planned.poll(Waker())) {
      RC_ASSERT(plan->has_value());
      return (*plan)->messages.value_or(thread.messages);
    }
  }
}

std::size_t system_messages(const MessageList& messages) {
  return static_cast<std::size_t>(
      std::count_if(messages.begin(), messages.end(), [](const Message& m) { return m.role == Role::system; }));
}

void keeps_calls_and_results_together(const PrepareStep& hook, const Thread& thread) {
  const MessageList view = view_of(hook, thread);
  const auto before = unmatched(thread.messages);
  for (const auto& [id, count] : unmatched(view)) {
    const auto stored = before.find(id);
    RC_ASSERT(count <= (stored == before.end() ? 0 : stored->second));
  }
  RC_ASSERT(system_messages(view) == system_messages(thread.messages));
}

PrepareStep compaction(std::size_t bytes, std::size_t keep) {
  const FakeScript script(1, {fake_text("summary"), fake_finish(FinishReason::stop)});
  return compact({.over_bytes = bytes}, Engine({.adapter = fake(script)}), {.keep_last = keep});
}

RC_GTEST_PROP(StockSteps, KeepLastKeepsCallsAndResultsTogether, (const gen::Source& source)) {
  gen::Random random(source);
  const Thread thread = random.conversation();
  keeps_calls_and_results_together(keep_last(random.below(thread.messages.size() + 2)), thread);
}

RC_GTEST_PROP(StockSteps, DropOldToolResultsKeepsCallsAndResultsTogether, (const gen::Source& source)) {
  gen::Random random(source);
  const Thread thread = random.conversation();
  const PrepareStep hook = drop_old_tool_results(random.below(200));
  keeps_calls_and_results_together(hook, thread);
  RC_ASSERT(view_of(hook, thread).size() == thread.messages.size());
}

RC_GTEST_PROP(StockSteps, CompactKeepsCallsAndResultsTogether, (const gen::Source& source)) {
  gen::Random random(source);
  const Thread thread = random.conversation();
  keeps_calls_and_results_together(compaction(random.below(100), random.below(thread.messages.size() + 2)), thread);
}

RC_GTEST_PROP(StockSteps, ChainsKeepCallsAndResultsTogether, (const gen::Source& source)) {
  gen::Random random(source);
  const Thread thread = random.conversation();
  const PrepareStep hook =
      then(then(drop_old_tool_results(random.below(200)), compaction(50, random.below(9))), keep_last(random.below(9)));
  keeps_calls_and_results_together(hook, thread);
}

}  // namespace
}  // namespace allm::steps_property_test
