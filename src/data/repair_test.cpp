// The diagnosis and repair of broken threads: one test for each rule of docs/history-repair.md.
#include "allm/repair.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/json.hpp"
#include "allm/validate.hpp"

namespace allm::repair_test {
namespace {

using Kind = ThreadProblem::Kind;

constexpr const char* kUnknown = R"({"error":"no result of this call is known","reason":"not_run"})";

Message calling(std::vector<std::string> ids, const std::string& text = "") {
  Message message = assistant(text);
  for (std::string& id : ids) {
    Json arguments = {{"n", message.tool_calls.size()}};
    message.tool_calls.push_back({.id = std::move(id), .name = "look", .arguments = std::move(arguments)});
  }
  return message;
}

struct Found {
  Kind kind;
  std::size_t index;
  std::string id;
  bool operator==(const Found&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Found& found) {
  return out << to_string(found.kind) << " at " << found.index << " id '" << found.id << "'";
}

std::vector<Found> problems_of(const Thread& thread) {
  std::vector<Found> found;
  for (const ThreadProblem& problem : diagnose(thread)) found.push_back({problem.kind, problem.index, problem.id});
  return found;
}

// The messages in short: role and text, with the ids of calls and results.
std::vector<std::string> brief(const Thread& thread) {
  std::vector<std::string> lines;
  for (const Message& message : thread.messages) {
    std::string line = std::string(to_string(message.role)) + ":" + message.text();
    for (const ToolCall& call : message.tool_calls) line += " +" + call.id;
    if (message.tool_call_id) line += " <" + *message.tool_call_id;
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> repaired(const Thread& thread, const RepairOptions& options = {}) {
  const RepairedThread result = repair(thread, options);
  EXPECT_TRUE(diagnose(result.thread).empty()) << diagnose(result.thread).at(0).message;
  EXPECT_TRUE(validate(result.thread).has_value());
  EXPECT_EQ(repair(result.thread, options).thread, result.thread);
  return brief(result.thread);
}

using Lines = std::vector<std::string>;

TEST(Repair, AHealthyThreadIsNotChanged) {
  const Thread thread = {system("s"),           user("u"),      calling({"a", "b"}),       tool_result("b", "2"),
                         tool_result("a", "1"), calling({"a"}), tool_result("a", "again"), assistant("done")};
  EXPECT_TRUE(diagnose(thread).empty());
  const RepairedThread result = repair(thread);
  EXPECT_EQ(result.thread, thread);
  EXPECT_TRUE(result.actions.empty());
}

TEST(Repair, ACallWithoutAResultGetsOne) {
  const Thread thread = {user("u"), calling({"a", "b"}), tool_result("b", "2"), user("well?")};
  EXPECT_EQ(problems_of(thread), (std::vector<Found>{{Kind::call_without_result, 1, "a"}}));
  EXPECT_EQ(diagnose(thread)[0].message, "message 1 calls 'look' (id 'a'), and no result of it is in the thread");
  EXPECT_EQ(repaired(thread),
            (Lines{"user:u", "assistant: +a +b", "tool:2 <b", "tool:" + std::string(kUnknown) + " <a", "user:well?"}));
  EXPECT_EQ(repair(thread).actions[0].done, "a result was added which says that none is known");
}

TEST(Repair, OpenCallsOfTheLastTurnCanBeKept) {
  const Thread thread = {calling({"a"}), calling({"b"})};
  const RepairedThread result = repair(thread, {.keep_open_calls = true});
  EXPECT_EQ(brief(result.thread), (Lines{"assistant: +a", "tool:" + std::string(kUnknown) + " <a", "assistant: +b"}));
}

TEST(Repair, ACallThatWasCutOffIsRemoved) {
  Message message = calling({"a", "b"}, "I look");
  message.tool_calls[1] = {.id = "b", .name = "look", .raw_arguments = R"({"city": "Ro)"};
  const Thread thread = {message, tool_result("a", "1")};
  EXPECT_EQ(problems_of(thread), (std::vector<Found>{{Kind::cut_off_call, 0, "b"}}));
  EXPECT_EQ(repaired(thread), (Lines{"assistant:I look +a", "tool:1 <a"}));
  // If nothing is left of the message, it is removed; a call that has a result stays.
  Message alone = message;
  alone.content = "";
  alone.tool_calls.erase(alone.tool_calls.begin());
  EXPECT_EQ(repaired({user("u"), alone}), Lines{"user:u"});
  EXPECT_TRUE(diagnose({alone, tool_result("b", "invalid arguments")}).empty());
}

TEST(Repair, AResultWithoutACallIsRemovedOrBecomesText) {
  const Thread thread = {user("u"), tool_result("x", "42"), assistant("a")};
  EXPECT_EQ(problems_of(thread), (std::vector<Found>{{Kind::result_without_call, 1, "x"}}));
  EXPECT_EQ(repaired(thread), (Lines{"user:u", "assistant:a"}));
  EXPECT_EQ(repaired(thread, {.orphans = RepairOptions::Orphans::to_text}),
            (Lines{"user:u", "user:Result of a tool call that is not in this conversation:\n42", "assistant:a"}));
}

TEST(Repair, AFurtherResultIsRemoved) {
  const Thread thread = {calling({"a"}), tool_result("a", "first"), tool_result("a", "second")};
  EXPECT_EQ(problems_of(thread), (std::vector<Found>{{Kind::duplicate_result, 2, "a"}}));
  EXPECT_EQ(repaired(thread), (Lines{"assistant: +a", "tool:first <a"}));
}

TEST(Repair, ASeparatedResultIsMovedToItsCall) {
  const Thread thread = {calling({"a", "b"}), tool_result("b", "2"), user("wait"), tool_result("a", "1")};
  EXPECT_EQ(problems_of(thread), (std::vector<Found>{{Kind::separated_result, 3, "a"}}));
  EXPECT_EQ(repaired(thread), (Lines{"assistant: +a +b", "tool:2 <b", "tool:1 <a", "user:wait"}));
}

TEST(Repair, AResultBeforeItsCallIsMovedBehindIt) {
  const Thread thread = {user("u"), tool_result("a", "1"), calling({"a"}), user("v")};
  EXPECT_EQ(problems_of(thread), (std::vector<Found>{{Kind::result_before_call, 1, "a"}}));
  EXPECT_EQ(repaired(thread), (Lines{"user:u", "assistant: +a", "tool:1 <a", "user:v"}));
}

TEST(Repair, TheNearestCallBeforeAResultGetsIt) {
  const Thread thread = {calling({"a"}), user("1"), calling({"a"}), user("2"), tool_result("a", "x"), calling({"a"})};
  EXPECT_EQ(repaired(thread),
            (Lines{"assistant: +a", "tool:" + std::string(kUnknown) + " <a", "user:1", "assistant: +a", "tool:x <a",
                   "user:2", "assistant: +a", "tool:" + std::string(kUnknown) + " <a"}));
}

TEST(Repair, CallsOfOneMessageGetDifferentIds) {
  const Thread thread = {calling({"a", "a", "a_2"}), tool_result("a", "1"), tool_result("a_2", "3"),
                         tool_result("a", "2")};
  EXPECT_EQ(problems_of(thread), (std::vector<Found>{{Kind::duplicate_call_id, 0, "a"}}));
  EXPECT_EQ(repaired(thread), (Lines{"assistant: +a +a_3 +a_2", "tool:1 <a", "tool:3 <a_2", "tool:2 <a_3"}));
}

TEST(Repair, ACopyOfACallIsRemoved) {
  Message message = calling({"a", "a"});
  message.tool_calls[1] = message.tool_calls[0];
  const Thread thread = {message, tool_result("a", "1")};
  EXPECT_EQ(problems_of(thread), (std::vector<Found>{{Kind::duplicate_call_id, 0, "a"}}));
  EXPECT_EQ(repaired(thread), (Lines{"assistant: +a", "tool:1 <a"}));
}

TEST(Repair, MissingIdsAreAdded) {
  Message nameless = tool_result("", "2");
  nameless.tool_call_id.reset();
  const Thread thread = {calling({"a", ""}), tool_result("a", "1"), nameless, user("u"), nameless};
  EXPECT_EQ(problems_of(thread),
            (std::vector<Found>{
                {Kind::missing_call_id, 0, ""}, {Kind::missing_result_id, 2, ""}, {Kind::missing_result_id, 4, ""}}));
  EXPECT_EQ(repaired(thread), (Lines{"assistant: +a +call_1", "tool:1 <a", "tool:2 <call_1", "user:u"}));
}

TEST(Repair, AnEmptyAnswerIsRemoved) {
  const Thread thread = {user("u"), assistant(""), assistant(std::vector<Part>{TextPart{""}}), user("")};
  EXPECT_EQ(problems_of(thread), (std::vector<Found>{{Kind::empty_message, 1, ""}, {Kind::empty_message, 2, ""}}));
  EXPECT_EQ(repaired(thread), (Lines{"user:u", "user:"}));
}

TEST(Repair, InvalidContentIsReplaced) {
  const Thread thread = {user("caf\xE9"),
                         user(std::vector<Part>{TextPart{"a\xFF"}, UnknownPart{Json{{"type", "hologram"}}}}),
                         assistant(std::vector<Part>{UnknownPart{Json{{"type", "hologram"}}}})};
  EXPECT_EQ(problems_of(thread), (std::vector<Found>{{Kind::invalid_content, 0, ""},
                                                     {Kind::invalid_content, 1, ""},
                                                     {Kind::invalid_content, 2, ""},
                                                     {Kind::empty_message, 2, ""}}));
  EXPECT_EQ(repaired(thread), (Lines{"user:caf\xEF\xBF\xBD", "user:a\xEF\xBF\xBD"}));
}

TEST(Repair, MetadataOfTheThreadIsKept) {
  Thread thread = {assistant(""), user("u")};
  thread.metadata = {{"a", 1}};
  EXPECT_EQ(repair(thread).thread.metadata, Json({{"a", 1}}));
}

TEST(Repair, KindsHaveTheNamesOfTheirEnumerators) {
  EXPECT_EQ(to_string(Kind::call_without_result), "call_without_result");
  EXPECT_EQ(to_string(Kind::invalid_content), "invalid_content");
}

}  // namespace
}  // namespace allm::repair_test
