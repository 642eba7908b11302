// Every misbehaviour in every lane, folded and streamed, between sibling calls that must not be affected.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <tuple>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "allm/collector.hpp"
#include "allm/tool_runner.hpp"

#include "process/sanitized.hpp"
#include "runtime/test_waits.hpp"
#include "tests/lanes/misbehaviour.hpp"
#include "tests/lanes/processes.hpp"

namespace allm::testing::matrix_test {
namespace {

struct Expected {
  std::string kind;
  // The reason of the failure, or "ok".
  std::string in_worker;
  std::string as_command;
  // What the error's message must contain, in builds without a sanitizer.
  std::string worker_says = {};
  std::string command_says = {};
};

const std::vector<Expected>& expectations() {
  static const auto* const all = new std::vector<Expected>{
      {"returns", "ok", "ok"},
      {"throws", "handler_raised", "handler_exit", "no luck", "SIGABRT"},
      {"throws_no_exception", "handler_raised", "handler_exit", "no std::exception", "SIGABRT"},
      {"sleeps", "timeout", "timeout"},
      {"spins", "timeout", "timeout"},
      {"ignores_sigterm", "timeout", "timeout"},
      {"segfaults", "handler_exit", "handler_exit", "SIGSEGV", "SIGSEGV"},
      {"aborts", "handler_exit", "handler_exit", "SIGABRT", "SIGABRT"},
      {"exits_3", "handler_exit", "handler_exit", "status 3", "status 3"},
      {"overflows_the_stack", "handler_exit", "handler_exit", "SIGSEGV", "SIGSEGV"},
      {"allocates", "handler_exit", "handler_exit", "ran out of memory", "SIGABRT"},
      {"leaves_a_child", "ok", "ok"},
      {"writes_1_gb", "ok", "handler_exit", "", "wrote more than"},
      {"closes_its_pipes", "handler_exit", "ok"},
      {"floods_stderr", "ok", "ok"},
      {"terminates_from_another_thread", "handler_exit", "handler_exit", "SIGABRT", "SIGABRT"},
  };
  return *all;
}

bool never_returns(const std::string& kind) { return kind == "sleeps" || kind == "spins" || kind == "ignores_sigterm"; }

// The messages of three calls, of which the middle one misbehaves.
std::vector<std::string> run_between_siblings(const Tool& tool, bool streamed) {
  Tool first{.name = "first", .handler = [](const Json&) { return ok("fine"); }};
  Tool last = worker_tool("returns");
  const std::vector<ToolCall> calls = {
      {.id = "a", .name = "first"}, {.id = "b", .name = tool.name}, {.id = "c", .name = "returns"}};
  std::vector<Tool> tools = {first, tool};
  if (tool.name != last.name) tools.push_back(last);
  Result<ToolBatch> batch = std::unexpected(Error(EngineError{}));
  if (streamed) {
    StreamCollector collector;
    for (const Event& event : stream_tool_calls(calls, tools)) collector.apply(event);
    batch = collector.tool_batch();
  } else {
    batch = run_tool_calls(calls, tools);
  }
  std::vector<std::string> texts;
  if (batch) {
    for (const Message& message : batch->messages) texts.push_back(message.text());
  }
  return texts;
}

std::string reason_of(const std::string& content) {
  const Json json = Json::parse(content, nullptr, false);
  return json.is_object() && json.contains("reason") ? json["reason"].get<std::string>() : "ok";
}

class LaneMatrix : public ::testing::TestWithParam<std::tuple<std::size_t, bool>> {
 protected:
  const Expected& expected() const { return expectations()[std::get<0>(GetParam())]; }
  bool streamed() const { return std::get<1>(GetParam()); }
  void check(Tool tool, const std::string& reason, const std::string& says) {
    if (kSanitized && expected().kind == "allocates") GTEST_SKIP() << "a sanitizer needs all of the address space";
    tool.limits.memory = std::uint64_t{1} << 30U;
    // Long enough for all kinds that end by themselves.
    tool.timeout = never_returns(tool.name) ? std::chrono::milliseconds(100) : std::chrono::milliseconds(55'000);
    const std::vector<std::string> texts = run_between_siblings(tool, streamed());
    ASSERT_EQ(texts.size(), 3U);
    EXPECT_EQ(texts[0], "fine");
    EXPECT_EQ(reason_of(texts[1]), reason) << texts[1];
    if (!kSanitized) {
      EXPECT_NE(texts[1].find(says), std::string::npos) << texts[1];
    }
    EXPECT_EQ(texts[2], "returns");
    eventually(only_idle_processes_left, "the end of what the tool started");
  }
};

TEST_P(LaneMatrix, Worker) { check(worker_tool(expected().kind), expected().in_worker, expected().worker_says); }
TEST_P(LaneMatrix, Command) { check(command_tool(expected().kind), expected().as_command, expected().command_says); }

std::string cell_name(const ::testing::TestParamInfo<std::tuple<std::size_t, bool>>& cell) {
  return expectations()[std::get<0>(cell.param)].kind + (std::get<1>(cell.param) ? "_streamed" : "_folded");
}

INSTANTIATE_TEST_SUITE_P(All, LaneMatrix,
                         ::testing::Combine(::testing::Range(std::size_t{0}, expectations().size()), ::testing::Bool()),
                         cell_name);

TEST(LaneMatrixThread, ContainsWhatIsThrownAndWhatDoesNotReturn) {
  // Shared with handlers that outlive the test.
  const auto may_return = std::make_shared<std::atomic<bool>>(false);
  for (const bool streamed : {false, true}) {
    for (const char* kind : {"throws", "throws_no_exception"}) {
      const Tool tool{.name = kind, .handler = [&](const Json&) { return misbehave(kind); }};
      EXPECT_EQ(reason_of(run_between_siblings(tool, streamed).at(1)), "handler_raised");
    }
    const Tool stuck{.name = "stuck",
                     .handler =
                         [may_return](const Json&) {
                           may_return->wait(false);
                           return ok(1);
                         },
                     .timeout = std::chrono::milliseconds(50)};
    EXPECT_EQ(reason_of(run_between_siblings(stuck, streamed).at(1)), "timeout");
  }
  *may_return = true;
  may_return->notify_all();
}

// The exit status of a program that misbehaves on one of its pool threads, as the shell reports it.
int status_of_program_with(const std::string& kind) {
  const std::string line = std::string(ALLM_MISBEHAVE) + " thread " + kind + " >/dev/null 2>&1";
  const int status = std::system(line.c_str());
  return WEXITSTATUS(status);
}

TEST(LaneMatrixThread, CannotContainWhatEndsTheProcess) {
  EXPECT_EQ(status_of_program_with("returns"), 0);
  for (const char* kind : {"segfaults", "aborts", "exits_3", "overflows_the_stack", "terminates_from_another_thread"}) {
    EXPECT_NE(status_of_program_with(kind), 0) << kind << " is documented to end the program";
  }
}

}  // namespace
}  // namespace allm::testing::matrix_test
