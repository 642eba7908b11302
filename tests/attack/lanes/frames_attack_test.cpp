// Code in a worker writes to the worker's line itself, or answers too late. No call gets the answer of another one, and
// nothing that a worker sends disturbs the program.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/tool_runner.hpp"

#include "lanes/worker_process.hpp"
#include "lanes/worker_wire.hpp"
#include "process/frames.hpp"
#include "process/role.hpp"
#include "tests/cases.hpp"
#include "tests/lanes/misbehaviour.hpp"

namespace allm::testing::frames_attack_test {
namespace {

using namespace std::chrono_literals;

// A message as workers of allm 0.1 sent it.
std::string legacy(std::string_view json) { return make_frame(json); }

using Kind = WorkerMessageKind;
std::string message(Kind kind, std::uint64_t call, std::string_view text) {
  return make_worker_frame(kind, call, text);
}

std::string deep_json() {
  constexpr std::size_t kDepth = 200'000;
  return std::string(kDepth, '[') + std::string(kDepth, ']');
}

// What a handler writes to the line before it returns. `call` is the call that it runs.
std::map<std::string, std::string> forgeries(std::uint64_t call) {
  return {
      {"answer_of_call_0", message(Kind::answer, 0, R"({"ok":"forged"})")},
      {"answer_of_the_next_number", message(Kind::answer, call + 1, R"({"ok":"forged"})")},
      {"last_answer_of_another_call", message(Kind::last_answer, ~call, R"({"ok":"forged"})")},
      {"progress_of_another_call", message(Kind::progress, call - 1, R"("forged")")},
      {"much_progress_of_another_call",
       [&] {
         std::string bytes;
         for (int i = 0; i < 5000; ++i) bytes += message(Kind::progress, call + 1, R"("forged")");
         return bytes;
       }()},
      {"out_of_memory_of_another_call", message(Kind::out_of_memory, call + 1, "")},
      {"a_call", message(Kind::call, call, "{}")},
      {"unknown_kind", message(static_cast<Kind>('z'), call, R"({"ok":"forged"})")},
      {"progress_that_is_not_json", message(Kind::progress, call, "}{")},
      {"progress_that_is_not_utf8", message(Kind::progress, call, "\"\xff\"")},
      {"deep_progress", message(Kind::progress, call, deep_json())},
      {"header_only", message(Kind::answer, ~call, "")},
      {"half_a_message_header", make_frame(std::string("a\0\0", 3))},
      {"outcome_of_0_1", legacy(R"({"ok":"forged"})")},
      {"progress_of_0_1", legacy(R"({"progress":"forged"})")},
      {"two_outcomes", legacy(R"({"ok":"forged"})") + legacy(R"({"ok":"forged"})")},
      {"unknown_member", legacy(R"({"nonsense":1})")},
      {"two_members", legacy(R"({"ok":"forged","failure":1})")},
      {"wrong_type", legacy(R"({"ask_user":7})")},
      {"not_an_object", legacy("[1,2,3]")},
      {"not_json", legacy("hello")},
      {"not_utf8", legacy("{\"ok\":\"\xff\xfe\"}")},
      {"deep_json", legacy(R"({"ok":)" + deep_json() + "}")},
      {"empty_frame", legacy("")},
      {"empty_frames", std::string(4096, '\0')},
      {"giant_length", std::string("\xff\xff\xff\xff", 4)},
      {"giant_length_and_more", std::string(1 << 20, '\xff')},
      {"negative_length", std::string("\x00\x00\x00\x80", 4)},
      {"half_a_frame", std::string("\x10\x00\x00\x00{\"ok\"", 9)},
      {"last", legacy(R"({"last":true})")},
      {"out_of_memory", legacy(R"({"out_of_memory":true})")},
  };
}

// What a handler can say for the call that it runs, and how the call then ends.
std::map<std::string, std::pair<std::string, std::string>> own_messages(std::uint64_t call) {
  return {
      {"answer", {message(Kind::answer, call, R"({"ok":"early"})"), "early"}},
      {"two_answers",
       {message(Kind::answer, call, R"({"ok":"early"})") + message(Kind::answer, call, R"({"ok":"second"})"), "early"}},
      {"last_answer", {message(Kind::last_answer, call, R"({"ok":"early"})"), "early"}},
      {"progress_after_the_answer",
       {message(Kind::answer, call, R"({"ok":"early"})") + message(Kind::progress, call, "1"), "early"}},
      {"not_an_outcome", {message(Kind::answer, call, "[]"), "invalid_return"}},
      {"not_json", {message(Kind::answer, call, "}{"), "invalid_return"}},
      {"not_utf8", {message(Kind::answer, call, "{\"ok\":\"\xff\"}"), "invalid_return"}},
      {"deep_json", {message(Kind::answer, call, R"({"ok":)" + deep_json() + "}"), "invalid_return"}},
      {"wrong_type", {message(Kind::answer, call, R"({"ask_user":7})"), "invalid_return"}},
      {"wrong_types", {message(Kind::answer, call, R"({"halt":{"reason":[],"result":1}})"), "invalid_return"}},
      {"a_forged_error", {message(Kind::answer, call, R"({"error":{"type":"no_such_error"}})"), "invalid_return"}},
      {"too_long", {message(Kind::answer, call, std::string(std::size_t{2} << 20U, ' ')), "handler_exit"}},
      {"half_a_header", {std::string("\x10", 1), "timeout"}},
  };
}

void write_to_line(std::string_view bytes) { send_all(kLineFd, bytes); }

const AddedWorkerTool forge("attack_forge", [](const Json& arguments) {
  write_to_line(forgeries(current_worker_call()).at(arguments.at("kind").get<std::string>()));
  return ok(arguments.at("n"));
});

const AddedWorkerTool say("attack_say", [](const Json& arguments) {
  write_to_line(own_messages(current_worker_call()).at(arguments.at("kind").get<std::string>()).first);
  return ok("returned");
});

const AddedWorkerTool echo("attack_echo", [](const Json& arguments) { return ok(arguments.at("n")); });

// Leaves a thread that answers, too late, for the rest of the worker's life.
const AddedWorkerTool leave("attack_leave", [](const Json& arguments) {
  std::thread([call = current_worker_call()] {
    while (true) {
      write_to_line(message(Kind::progress, call, R"("stale")") + message(Kind::answer, call, R"({"ok":"stale"})"));
      std::this_thread::sleep_for(100us);
    }
  }).detach();
  return ok(arguments.at("n"));
});

std::string text_of(const Result<ToolBatch>& batch) {
  return batch ? batch->messages.at(0).text() : batch.error().message();
}

std::string call(const AddedWorkerTool& added, const Json& arguments, const Engine& engine,
                 const CallOptions& options = {}) {
  Tool tool = added.tool();
  tool.timeout = added.tool().name == "attack_say" ? 2s : 20s;
  tool.limits.grace = 0ms;
  return text_of(run_tool_calls({{.id = "c", .name = tool.name, .arguments = arguments}}, {tool}, options, engine));
}

TEST(AttackFrames, AForgedMessageIsNeverTheAnswerOfACall) {
  const Engine engine({.runtime = Runtime::create({.max_workers = 1})});
  int n = 0;
  for (const auto& [kind, bytes] : forgeries(1)) {
    const std::string answer = call(forge, {{"kind", kind}, {"n", ++n}}, engine);
    const bool is_own = answer == std::to_string(n);
    EXPECT_TRUE(is_own || answer.find("\"reason\":\"handler_exit\"") != std::string::npos) << kind << ": " << answer;
    EXPECT_EQ(call(echo, {{"n", -n}}, engine), std::to_string(-n)) << "after " << kind;
  }
}

TEST(AttackFrames, WhatAHandlerSaysForItsOwnCallEndsThatCallOnly) {
  const Engine engine({.runtime = Runtime::create({.max_workers = 1})});
  int n = 0;
  for (const auto& [kind, expected] : own_messages(1)) {
    const std::string answer = call(say, {{"kind", kind}}, engine);
    EXPECT_NE(answer.find(expected.second), std::string::npos) << kind << ": " << answer.substr(0, 300);
    ++n;
    EXPECT_EQ(call(echo, {{"n", n}}, engine), std::to_string(n)) << "after " << kind;
  }
}

TEST(AttackFrames, AThreadThatACallLeftNeverAnswersTheNextCalls) {
  const Engine engine({.runtime = Runtime::create({.max_workers = 1})});
  int stale = 0;
  CallOptions options;
  options.on_tool_progress = [&](const ToolCall&, const Json&) { ++stale; };
  for (int i = 0; i < cases(20); ++i) {
    const std::string left = call(leave, {{"n", i}}, engine, options);
    // Before its own answer, the thread may have answered for the call that is still running.
    EXPECT_TRUE(left == std::to_string(i) || left == "stale") << left;
    stale = 0;
    for (int n = 0; n < 10; ++n) EXPECT_EQ(call(echo, {{"n", n}}, engine, options), std::to_string(n));
    EXPECT_EQ(stale, 0);
  }
}

TEST(AttackFrames, ACallLongerThanAFrameFailsAndTheNextOneWorks) {
  const Engine engine({.runtime = Runtime::create({.max_workers = 1})});
  ASSERT_EQ(call(echo, {{"n", 1}}, engine), "1");
  const std::string answer = call(echo, {{"n", 2}, {"text", std::string(std::size_t{65} << 20U, 'x')}}, engine);
  EXPECT_NE(answer.find("invalid_arguments"), std::string::npos) << answer.substr(0, 500);
  EXPECT_NE(answer.find("67108864"), std::string::npos) << answer.substr(0, 500);
  EXPECT_EQ(call(echo, {{"n", 3}}, engine), "3");
}

Tool command(Command command) {
  return {.name = "t", .timeout = std::chrono::seconds(50), .command = std::move(command)};
}

std::string call(const Tool& tool, const Json& arguments) {
  return text_of(run_tool_calls({{.id = "c", .name = tool.name, .arguments = arguments}}, {tool}));
}

TEST(AttackCommands, AnArgumentThatNoProgramCanTakeIsAClearError) {
  const Tool tool = command({.argv = {"echo", "{text}"}});
  for (const std::size_t size : {std::size_t{200} << 10U, std::size_t{70} << 20U}) {
    const std::string answer = call(tool, {{"text", std::string(size, 'x')}});
    EXPECT_NE(answer.find("invalid_arguments"), std::string::npos) << answer.substr(0, 500);
    EXPECT_EQ(call(tool, {{"text", "short"}}), "short");
  }
}

TEST(AttackCommands, SeventyMegabytesOnStandardInput) {
  const Tool tool = command({.argv = {"wc", "-c"}, .input = CommandInput::json});
  const Json arguments = {{"text", std::string(70'000'000, 'x')}};
  // How long it takes is not tested; without the offset it was quadratic.
  EXPECT_EQ(call(tool, arguments), std::to_string(70'000'000 + 11));
}

}  // namespace
}  // namespace allm::testing::frames_attack_test
