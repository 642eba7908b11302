// The command lane, as programs see it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "allm/tool_runner.hpp"
#include "allm/tools_file.hpp"
#include "allm/workers.hpp"

#include "runtime/test_waits.hpp"
#include "tests/lanes/processes.hpp"

namespace allm::testing::command_test {
namespace {

std::string call(const Tool& tool, const Json& arguments = Json::object(), const CallOptions& options = {}) {
  const auto batch = run_tool_calls({{.id = "c1", .name = tool.name, .arguments = arguments}}, {tool}, options);
  return batch ? batch->messages.at(0).text() : batch.error().message();
}

Tool command(Command command) { return {.name = "t", .command = std::move(command)}; }
Tool shell(std::string script) { return command({.argv = {"sh", "-c", std::move(script)}}); }

TEST(CommandLane, ArgumentsReachTheProgramAsWords) {
  const Tool tool = command({.argv = {"printf", "[%s]", "{a}", "x={b}", "{list}", "{missing}", "{{}}"}});
  EXPECT_EQ(call(tool, {{"a", "one two; rm -rf $HOME"}, {"b", 1.5}, {"list", {"p", "q"}}}),
            "[one two; rm -rf $HOME][x=1.5][p][q][{}]");
}

TEST(CommandLane, AValueIsNeverAnOption) {
  const Tool tool = command({.argv = {"ls", "{path}"}});
  const std::string refused = call(tool, {{"path", "--help"}});
  EXPECT_NE(refused.find("invalid_arguments"), std::string::npos) << refused;
  const Tool safe = command({.argv = {"printf", "%s", "--", "{path}"}});
  EXPECT_EQ(call(safe, {{"path", "--help"}}), "----help");
}

TEST(CommandLane, JsonGoesInAndOut) {
  const Tool tool = command({.argv = {"cat"}, .input = CommandInput::json, .output = CommandOutput::json});
  EXPECT_EQ(Json::parse(call(tool, {{"n", 1}, {"deep", {{"x", "ü"}}}})), Json({{"n", 1}, {"deep", {{"x", "ü"}}}}));
  const std::string large(1U << 19U, 'x');
  EXPECT_EQ(Json::parse(call(tool, {{"text", large}}))["text"], large);
  EXPECT_NE(call(command({.argv = {"echo", "no json"}, .output = CommandOutput::json})).find("invalid_return"),
            std::string::npos);
}

TEST(CommandLane, AProgramNeedNotReadItsInput) {
  const Tool tool = command({.argv = {"echo", "done"}, .input = CommandInput::json});
  EXPECT_EQ(call(tool, {{"text", std::string(1U << 20U, 'x')}}), "done");
}

TEST(CommandLane, AProgramCanWriteAnyOutcome) {
  const auto with = [](const char* text) {
    return run_tool_calls({{.id = "c", .name = "t", .arguments = {{"text", text}}}},
                          {command({.argv = {"printf", "%s", "{text}"}, .output = CommandOutput::outcome})});
  };
  EXPECT_EQ(with(R"({"ok": 5})")->messages[0].text(), "5");
  EXPECT_EQ(with(R"({"failure": "no"})")->messages[0].text(), R"({"error":"no"})");
  EXPECT_EQ(std::get<ended::AskUser>(*with(R"({"ask_user": {"question": "who?"}})")->halt).question, "who?");
  EXPECT_EQ(std::get<ended::Halted>(*with(R"({"halt": {"reason": "enough"}})")->halt).reason, "enough");
  for (const char* text : {R"({"error": {}})", "[]", "{}", R"({"ask_user": 1})"}) {
    EXPECT_NE(with(text)->messages[0].text().find("invalid_return"), std::string::npos) << text;
  }
}

TEST(CommandLane, StatusesBecomeOutcomes) {
  EXPECT_EQ(call(shell("echo fine")), "fine");
  const std::string failed = call(shell("echo out; echo why >&2; exit 4"));
  EXPECT_NE(failed.find("status 4"), std::string::npos) << failed;
  EXPECT_NE(failed.find("why"), std::string::npos) << failed;
  Tool grep = command({.argv = {"sh", "-c", "echo nothing found; exit 1"}, .failure_statuses = {1}});
  EXPECT_EQ(call(grep), R"({"error":"nothing found"})");
  // The guard of a command tells the program of status 0 without the error output, unless it is needed.
  Tool zero = command({.argv = {"sh", "-c", "echo why >&2"}, .failure_statuses = {0}});
  EXPECT_EQ(call(zero), R"({"error":"why"})");
}

TEST(CommandLane, AProgramThatCannotBeStartedIsAnErrorThatSaysWhy) {
  const std::string missing = call(command({.argv = {"no-such-program-anywhere"}}));
  EXPECT_NE(missing.find("No such file"), std::string::npos) << missing;
  const std::string nowhere = call(command({.argv = {"true"}, .directory = "/no/such/folder"}));
  EXPECT_NE(nowhere.find("directory"), std::string::npos) << nowhere;
}

TEST(CommandLane, OnlyAllowedEnvironmentVariablesArePassed) {
  setenv("ALLM_TEST_SECRET", "hidden", 1);
  const Tool tool = command({.argv = {"env"}, .environment = {{"MINE", "1"}}});
  const std::string seen = call(tool);
  EXPECT_EQ(seen.find("hidden"), std::string::npos);
  EXPECT_NE(seen.find("MINE=1"), std::string::npos);
  EXPECT_NE(seen.find("PATH="), std::string::npos);
  Tool passing = tool;
  passing.command->pass_environment.emplace_back("ALLM_TEST_SECRET");
  EXPECT_NE(call(passing).find("hidden"), std::string::npos);
}

TEST(CommandLane, RunsInItsDirectory) { EXPECT_EQ(call(command({.argv = {"pwd"}, .directory = "/usr"})), "/usr"); }

TEST(CommandLane, OutputIsProgress) {
  std::string seen;
  CallOptions options;
  options.on_tool_progress = [&](const ToolCall&, const Json& report) {
    seen += report.at("output").get<std::string>();
  };
  EXPECT_EQ(call(shell("echo one; sleep 0.05; echo two"), Json::object(), options), "one\ntwo");
  EXPECT_EQ(seen, "one\ntwo\n");
}

TEST(CommandLane, OutputThatIsNotValidUtf8IsRepaired) {
  EXPECT_EQ(call(shell("printf 'a\\377b'")),
            "a\xef\xbf\xbd"
            "b");
}

TEST(CommandLane, TheDeadlineKillsAllProcessesOfTheCommand) {
  Tool tool = shell("sleep 1000 & sleep 1000 & wait");
  tool.timeout = std::chrono::milliseconds(50);
  tool.limits.grace = std::chrono::milliseconds(10);
  EXPECT_NE(call(tool).find("timeout"), std::string::npos);
  eventually(only_idle_processes_left, "the end of the shell and its children");
}

TEST(CommandLane, CommandsRunInTheirSandbox) {
  if (!sandbox_support().read_only) GTEST_SKIP() << "this kernel has no Landlock";
  Tool tool = shell("touch /tmp/allm_sandbox_test 2>/dev/null && echo wrote || echo kept");
  tool.limits.sandbox.read_only = true;
  EXPECT_EQ(call(tool), "kept");
  EXPECT_FALSE(std::filesystem::exists("/tmp/allm_sandbox_test"));
}

TEST(ToolsFile, DeclaresToolsThatRun) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("allm_tools_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "greet.sh") << "#!/bin/sh\necho \"hello $1 from $(basename \"$PWD\")\"\n";
  std::filesystem::permissions(folder / "greet.sh", std::filesystem::perms::owner_all);
  std::ofstream(folder / "tools.toml") << R"(
[[tool]]
name = "greet"
description = "Greets somebody."
command = ["./greet.sh", "{who}"]
directory = "."
timeout = "5s"

[tool.schema]
type = "object"
required = ["who"]
properties.who = { type = "string" }

[tool.limits]
memory = "512 MiB"
output = "1 KiB"
)";
  const auto tools = read_tools_file((folder / "tools.toml").string());
  ASSERT_TRUE(tools.has_value()) << tools.error().message();
  ASSERT_EQ(tools->size(), 1U);
  const Tool& tool = tools->front();
  EXPECT_EQ(tool.timeout, std::chrono::seconds(5));
  EXPECT_EQ(tool.limits.memory, std::uint64_t{512} << 20U);
  EXPECT_EQ(tool.limits.output, 1024U);
  EXPECT_EQ(call(tool, {{"who", "Ada"}}), "hello Ada from " + folder.filename().string());
  EXPECT_NE(call(tool).find("invalid_arguments"), std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace allm::testing::command_test
