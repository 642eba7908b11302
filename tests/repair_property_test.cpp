// Properties of the repair of random broken threads.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"
#include "allm/repair.hpp"
#include "allm/validate.hpp"

#include "data/pairing.hpp"
#include "tests/generators.hpp"

namespace allm::repair_property_test {
namespace {

// A conversation with more kinds of damage than those of real runs.
Thread broken(gen::Random& random) {
  std::vector<Message> messages;
  for (const Message& original : random.conversation().messages) {
    Message message = original;
    for (ToolCall& call : message.tool_calls) {
      if (random.chance(8)) call.id = "";
      if (random.chance(8)) call.raw_arguments = R"({"half": )";
      if (random.chance(6)) call.arguments = {{"n", random.below(3)}};
    }
    if (message.role == Role::tool && random.chance(8)) message.tool_call_id.reset();
    if (message.role == Role::tool && random.chance(16)) message.tool_call_id = "";
    if (random.chance(16)) message.content = random.content();
    if (random.chance(24)) message.content = "not UTF-8: \xFF";
    messages.push_back(std::move(message));
  }
  if (random.chance(4)) messages.push_back(random.message());
  return {std::move(messages)};
}

RepairOptions any_options(gen::Random& random) { return {.orphans = random.any_of(RepairOptions::Orphans::to_text)}; }

// The text of all messages of a role, with what repair replaces left out.
std::string text_of(const Thread& thread, Role role) {
  std::string text;
  for (const Message& message : thread.messages) {
    if (message.role == role && validate(message)) text += message.text();
  }
  return text;
}

bool can_be_sent(const Thread& thread) {
  return validate(thread) && check_pairs(thread.messages, 0, ValidationError::Reason::invalid_thread) &&
         !lacks_results(thread.messages, 0);
}

RC_GTEST_PROP(RepairProperty, ARepairedThreadHasNoProblem, (const gen::Source& source)) {
  gen::Random random(source);
  const Thread thread = broken(random);
  const RepairOptions options = any_options(random);
  const RepairedThread result = repair(thread, options);
  const std::vector<ThreadProblem> left = diagnose(result.thread);
  if (!left.empty()) RC_FAIL(left[0].message);
  RC_ASSERT(can_be_sent(result.thread));
  // Each problem has one action, and repair is idempotent.
  std::vector<ThreadProblem> repaired;
  for (const RepairAction& action : result.actions) repaired.push_back(action.problem);
  RC_ASSERT(repaired == diagnose(thread));
  const RepairedThread again = repair(result.thread, options);
  RC_ASSERT(again.actions.empty());
  RC_ASSERT(again.thread == result.thread);
}

RC_GTEST_PROP(RepairProperty, AThreadWithoutProblemsIsNotChanged, (const gen::Source& source)) {
  gen::Random random(source);
  const Thread thread = repair(broken(random)).thread;
  RC_ASSERT(repair(thread).thread == thread);
  RC_ASSERT(repair(thread, {.keep_open_calls = true}).thread == thread);
}

// No problem means that the thread can be sent, and a thread that cannot be sent has one.
RC_GTEST_PROP(RepairProperty, TheDiagnosisAgreesWithTheChecksBeforeARequest, (const gen::Source& source)) {
  gen::Random random(source);
  const Thread thread = random.chance() ? broken(random) : random.conversation();
  if (diagnose(thread).empty()) RC_ASSERT(can_be_sent(thread));
  if (!can_be_sent(thread)) RC_ASSERT(!diagnose(thread).empty());
}

RC_GTEST_PROP(RepairProperty, NoTextIsLost, (const gen::Source& source)) {
  gen::Random random(source);
  const Thread thread = broken(random);
  Thread valid;  // only the messages whose text must be kept as it is
  for (const Message& message : thread.messages) {
    if (validate(message)) valid.messages.push_back(message);
  }
  const Thread result = repair(valid).thread;
  for (const Role role : {Role::system, Role::user, Role::assistant}) {
    RC_ASSERT(text_of(result, role) == text_of(valid, role));
  }
}

RC_GTEST_PROP(RepairProperty, EveryResultOfACallIsKept, (const gen::Source& source)) {
  gen::Random random(source);
  const Thread thread = broken(random);
  const RepairedThread result = repair(thread, {.orphans = RepairOptions::Orphans::to_text});
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t added = 0;
  std::size_t to_text = 0;
  for (const Message& message : thread.messages) before += message.role == Role::tool ? 1 : 0;
  for (const Message& message : result.thread.messages) after += message.role == Role::tool ? 1 : 0;
  for (const RepairAction& action : result.actions) {
    added += action.problem.kind == ThreadProblem::Kind::call_without_result ? 1 : 0;
    to_text += action.done == "it became a user message" ? 1 : 0;
  }
  RC_ASSERT(after == before + added - to_text);
}

// A provider would refuse what the engine refuses.
RC_GTEST_PROP(RepairProperty, ARepairedThreadCanBeContinued, (const gen::Source& source)) {
  gen::Random random(source);
  Thread thread = repair(broken(random)).thread;
  thread.messages.push_back(user("go on"));
  const Engine engine({.adapter = fake({{fake_text("on"), fake_finish(FinishReason::stop)}})});
  const auto result = chat(engine, thread);
  if (!result) RC_FAIL(result.error().message());
  RC_ASSERT(result->thread.messages.size() == thread.messages.size() + 1);
}

}  // namespace
}  // namespace allm::repair_property_test
