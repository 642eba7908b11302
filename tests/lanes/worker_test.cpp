// The worker lane, as handlers and programs see it.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/tool_runner.hpp"
#include "allm/workers.hpp"

#include "runtime/test_waits.hpp"
#include "tests/lanes/misbehaviour.hpp"
#include "tests/lanes/processes.hpp"

namespace allm::testing::worker_test {
namespace {

Tool tool_named(const std::string& name) {
  for (Tool& tool : worker_tools()) {
    if (tool.name == name) return tool;
  }
  return {.name = name, .lane = Lane::worker};
}

std::string call(const Tool& tool, const Json& arguments = Json::object(), const CallOptions& options = {},
                 const Engine& engine = Engine()) {
  const auto batch = run_tool_calls({{.id = "c1", .name = tool.name, .arguments = arguments}}, {tool}, options, engine);
  return batch ? batch->messages.at(0).text() : batch.error().message();
}

Json called(const Tool& tool, const Json& arguments = Json::object(), const CallOptions& options = {},
            const Engine& engine = Engine()) {
  return Json::parse(call(tool, arguments, options, engine));
}

TEST(WorkerLane, HandlersGetTheSameContextAsInAThread) {
  const Json seen = called(tool_named("describe"), {{"a", 1}, {"text", "ö\n"}},
                           {.context = Json({{"user", "u1"}}), .session_id = "s1", .request_id = "r1"});
  EXPECT_EQ(seen["arguments"], Json({{"a", 1}, {"text", "ö\n"}}));
  EXPECT_EQ(seen["context"], Json({{"user", "u1"}}));
  EXPECT_EQ(seen["session_id"], "s1");
  EXPECT_EQ(seen["request_id"], "r1");
  EXPECT_EQ(seen["call_id"], "c1");
  EXPECT_EQ(seen["in_time"], true);
  EXPECT_EQ(seen["asked_to_stop"], false);
  EXPECT_NE(seen["pid"], getpid());
}

TEST(WorkerLane, HandlersGetTheTraceparentOfTheirSpan) {
  const std::string caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  EXPECT_EQ(called(tool_named("describe"), {})["traceparent"], "");
  EXPECT_EQ(called(tool_named("describe"), {}, {.traceparent = caller})["traceparent"], caller);
  const auto telemetry = std::make_shared<CollectingTelemetry>();
  const Json seen = called(tool_named("describe"), {}, {.traceparent = caller}, Engine({.telemetry = telemetry}));
  const auto span = telemetry->records().at(0);
  EXPECT_EQ(seen["traceparent"], to_string(TraceParent{.trace_id = span.trace_id, .span_id = span.span_id}));
}

TEST(WorkerLane, AllOutcomesComeBack) {
  const Tool tool = tool_named("outcome");
  EXPECT_EQ(call(tool, {{"kind", "text"}}), "text");
  EXPECT_EQ(call(tool, {{"kind", "failure"}}), R"({"error":{"code":7}})");
  const auto batch_of = [&](const char* kind) {
    return run_tool_calls({{.id = "c1", .name = "outcome", .arguments = {{"kind", kind}}}}, {tool});
  };
  const auto asked = batch_of("ask_user");
  const auto& question = std::get<ended::AskUser>(*asked->halt);
  EXPECT_EQ(question.question, "which?");
  EXPECT_EQ(question.options, Json({{"choices", {1, 2}}}));
  const auto halted = batch_of("halt");
  const auto& halt = std::get<ended::Halted>(*halted->halt);
  EXPECT_EQ(halt.reason, "enough");
  EXPECT_EQ(halt.result, Json({{"n", 1}}));
  EXPECT_EQ(called(tool, {{"kind", "not_utf8"}})["reason"], "encoding_failed");
}

TEST(WorkerLane, AHandlerMayAnswerAfterItReturnsButMustAnswer) {
  EXPECT_EQ(call(tool_named("later")), "later");
  EXPECT_EQ(called(tool_named("never"))["reason"], "invalid_return");
}

TEST(WorkerLane, AHandlerMayRunToolsOfItsOwn) { EXPECT_EQ(call(tool_named("run_nested")), "from below"); }

TEST(WorkerLane, AHandlerThatTheWorkerDoesNotHaveIsNotFound) {
  const Json answer = called({.name = "nobody", .lane = Lane::worker});
  EXPECT_EQ(answer["reason"], "not_found");
  EXPECT_NE(answer["error"].get<std::string>().find("run_as_worker_if_asked"), std::string::npos);
}

TEST(WorkerLane, ProgressReachesTheProgram) {
  std::vector<Json> reports;
  CallOptions options;
  options.on_tool_progress = [&](const ToolCall&, const Json& report) { reports.push_back(report); };
  EXPECT_EQ(call(tool_named("report"), Json::object(), options), "reported");
  EXPECT_EQ(reports, (std::vector<Json>{{{"done", 0}}, {{"done", 1}}, {{"done", 2}}}));
}

TEST(WorkerLane, WorkersAreKeptWarmAndReplacedWhenTheyDie) {
  // Without PID namespaces, where every worker has the same number.
  const Engine engine({.runtime = Runtime::create({.max_workers = 1, .containment = Containment::sweep})});
  const auto pid = [&] { return called(tool_named("describe"), Json::object(), {}, engine)["pid"]; };
  const Json first = pid();
  EXPECT_EQ(pid(), first);
  EXPECT_EQ(called(tool_named("aborts"), Json::object(), {}, engine)["reason"], "handler_exit");
  const Json second = pid();
  EXPECT_NE(second, first);
  EXPECT_EQ(pid(), second);
  // No call fails when an idle worker dies.
  kill(second.get<pid_t>(), SIGKILL);
  eventually([&] { return has_ended(second.get<pid_t>()); }, "the end of the worker");
  EXPECT_NE(pid(), second);
}

TEST(WorkerLane, CallsBeyondMaxWorkersWaitForAWorker) {
  const Engine engine({.runtime = Runtime::create({.max_workers = 2, .containment = Containment::sweep})});
  std::vector<ToolCall> calls;
  for (int i = 0; i < 20; ++i) calls.push_back({.id = std::to_string(i), .name = "describe"});
  const auto batch = run_tool_calls(calls, {tool_named("describe")}, {.max_concurrency = 20}, engine);
  std::set<Json> pids;
  for (const Message& message : batch->messages) pids.insert(Json::parse(message.text()).at("pid"));
  EXPECT_LE(pids.size(), 2U);
}

TEST(WorkerLane, OtherLimitsNeedAnotherWorker) {
  const Engine engine({.runtime = Runtime::create({.max_workers = 1})});
  Tool few = tool_named("open_files");
  few.limits.open_files = 32;
  EXPECT_LT(called(few, Json::object(), {}, engine).get<int>(), 32);
  Tool many = tool_named("open_files");
  many.limits.open_files = 200;
  EXPECT_GT(called(many, Json::object(), {}, engine).get<int>(), 100);
}

TEST(WorkerLane, CpuTimeIsLimitedPerCall) {
  Tool spins = worker_tool("spins");
  spins.limits.cpu_time = std::chrono::seconds(1);
  spins.timeout = std::chrono::seconds(50);
  const Json answer = called(spins);
  EXPECT_EQ(answer["reason"], "handler_exit");
  EXPECT_NE(answer["error"].get<std::string>().find("SIGXCPU"), std::string::npos) << answer;
}

TEST(WorkerLane, AnAnswerThatIsTooLongIsRefused) {
  Tool tool = tool_named("outcome");
  tool.limits.output = 1000;
  EXPECT_EQ(call(tool, {{"kind", "large"}, {"size", 900}}).size(), 900U);
  EXPECT_EQ(called(tool, {{"kind", "large"}, {"size", 5000}})["reason"], "invalid_return");
}

TEST(WorkerLane, LargeArgumentsAndAnswersPass) {
  Tool tool = tool_named("describe");
  tool.limits.output = std::uint64_t{16} << 20U;
  const std::string text(4U << 20U, 'x');
  EXPECT_EQ(called(tool, {{"text", text}})["arguments"]["text"], text);
}

TEST(WorkerLane, AtTheDeadlineAHandlerIsAskedToStopBeforeItIsKilled) {
  Tool tool = tool_named("heed_stop");
  tool.timeout = std::chrono::milliseconds(50);
  tool.limits.grace = std::chrono::seconds(30);
  const std::string file = ::testing::TempDir() + "allm_stopped_" + std::to_string(getpid());
  EXPECT_EQ(called(tool, {{"file", file}})["reason"], "timeout");
  eventually([&] { return std::filesystem::exists(file); }, "the handler to be asked");
  std::filesystem::remove(file);
}

std::set<pid_t> processes_named(const std::string& name) {
  std::set<pid_t> found;
  for (const pid_t pid : descendants(getpid())) {
    if (name_of(pid) == name) found.insert(pid);
  }
  return found;
}

TEST(WorkerLane, ADroppedRunKillsItsWorker) {
  const std::set<pid_t> before = processes_named("allm-worker");
  const Engine engine({.runtime = Runtime::create()});
  Tool sleeps = worker_tool("sleeps");
  sleeps.limits.grace = std::chrono::milliseconds(0);
  pid_t worker = 0;
  {
    EventStream events = stream_tool_calls({{.id = "c", .name = "sleeps"}}, {sleeps}, {}, engine);
    EXPECT_EQ(events.next()->tag(), EventTag::tool_execution_started);
    EXPECT_TRUE(events.try_next().is_pending());
    eventually(
        [&] {
          for (const pid_t pid : processes_named("allm-worker")) worker = before.contains(pid) ? worker : pid;
          return worker != 0;
        },
        "the worker");
  }
  eventually([&] { return has_ended(worker); }, "the end of the worker");
}

TEST(WorkerLane, ACancelledRunKillsItsWorkersAndAnswersTheirCalls) {
  const Engine engine({.runtime = Runtime::create()});
  Tool sleeps = worker_tool("sleeps");
  sleeps.limits.grace = std::chrono::milliseconds(0);
  std::stop_source stop;
  CallOptions options;
  options.cancel.now = stop.get_token();
  EventStream events =
      stream_tool_calls({{.id = "a", .name = "sleeps"}, {.id = "b", .name = "sleeps"}}, {sleeps}, options, engine);
  EXPECT_EQ(events.next()->tag(), EventTag::tool_execution_started);
  EXPECT_EQ(events.next()->tag(), EventTag::tool_execution_started);
  const std::jthread canceller([&] { stop.request_stop(); });
  int cancelled = 0;
  while (const auto event = events.next()) {
    const auto* completed = event->get_if<ToolExecutionCompleted>();
    if (completed == nullptr) continue;
    const auto& failure = std::get<ToolFailure>(completed->outcome);
    if (std::get<Error>(failure.reason).is<ToolError>(ToolError::Reason::cancelled)) ++cancelled;
  }
  EXPECT_EQ(cancelled, 2);
}

TEST(WorkerLane, ASupervisorThatIsKilledTakesItsJobsWithItAndIsReplaced) {
  const std::vector<pid_t> before = supervisors_of(getpid());
  const Engine engine({.runtime = Runtime::create()});
  EventStream events = stream_tool_calls({{.id = "c", .name = "sleeps"}}, {worker_tool("sleeps")}, {}, engine);
  EXPECT_EQ(events.next()->tag(), EventTag::tool_execution_started);
  EXPECT_TRUE(events.try_next().is_pending());
  pid_t supervisor = 0;
  pid_t worker = 0;
  eventually(
      [&] {
        for (const pid_t pid : supervisors_of(getpid())) {
          if (std::ranges::find(before, pid) == before.end()) supervisor = pid;
        }
        if (supervisor == 0) return false;
        for (const pid_t pid : descendants(supervisor)) worker = name_of(pid) == "allm-worker" ? pid : worker;
        return worker != 0;
      },
      "the process supervisor and its worker");
  kill(supervisor, SIGKILL);
  const auto completed = events.next();
  const auto& outcome = std::get<ToolFailure>(completed->get_if<ToolExecutionCompleted>()->outcome);
  EXPECT_EQ(std::get<Error>(outcome.reason).reason(), "handler_exit");
  eventually([&] { return has_ended(worker); }, "the end of the worker");
  EXPECT_TRUE(called(tool_named("describe"), Json::object(), {}, engine).contains("pid"));
}

TEST(WorkerLane, NoCallFailsWhenAnIdleSupervisorDies) {
  const std::vector<pid_t> before = supervisors_of(getpid());
  const Engine engine({.runtime = Runtime::create({.containment = Containment::sweep})});
  const Json first = called(tool_named("describe"), Json::object(), {}, engine)["pid"];
  std::vector<pid_t> killed = supervisors_of(getpid());
  std::erase_if(killed, [&](pid_t pid) { return std::ranges::find(before, pid) != before.end(); });
  for (const pid_t pid : killed) kill(pid, SIGKILL);
  eventually([&] { return has_ended(first.get<pid_t>()); }, "the end of the worker");
  eventually([&] { return std::ranges::all_of(killed, has_ended); }, "the end of the supervisor");
  const Json second = called(tool_named("describe"), Json::object(), {}, engine);
  EXPECT_TRUE(second.contains("pid")) << second;
}

TEST(WorkerLane, TheErrorOfACrashContainsItsErrorOutput) {
  const Json answer = called(worker_tool("terminates_from_another_thread"));
  EXPECT_NE(answer["error"].get<std::string>().find("terminate"), std::string::npos) << answer;
}

TEST(SandboxSupport, SaysWhatThisKernelHas) {
  const SandboxSupport support = sandbox_support();
  if (support.no_network && support.read_only && support.no_signals && support.orphans &&
      support.protected_supervisor && support.own_proc) {
    EXPECT_TRUE(support.notes.empty());
  } else {
    EXPECT_FALSE(support.notes.empty());
  }
}

TEST(Sandbox, NoNetworkMeansNoSockets) {
  if (!sandbox_support().no_network) GTEST_SKIP() << "this kernel has no seccomp";
  Tool tool = tool_named("try_things");
  EXPECT_EQ(called(tool)["socket"], true);
  tool.limits.sandbox.network = false;
  EXPECT_EQ(called(tool)["socket"], false);
}

TEST(Sandbox, ReadOnlyAllowsWritingOnlyInWritableFolders) {
  if (!sandbox_support().read_only) GTEST_SKIP() << "this kernel has no Landlock";
  const std::filesystem::path open =
      std::filesystem::path(::testing::TempDir()) / ("allm_open_" + std::to_string(getpid()));
  const std::filesystem::path closed =
      std::filesystem::path(::testing::TempDir()) / ("allm_closed_" + std::to_string(getpid()));
  std::filesystem::create_directories(open);
  std::filesystem::create_directories(closed);
  Tool tool = tool_named("try_things");
  const Json arguments = {{"files", {(open / "f").string(), (closed / "f").string()}}};
  EXPECT_EQ(called(tool, arguments)["files"], Json({true, true}));
  std::filesystem::remove(closed / "f");
  tool.limits.sandbox = {.read_only = true, .writable = {open.string()}};
  const Json seen = called(tool, arguments);
  EXPECT_EQ(seen["files"], Json({true, false}));
  EXPECT_EQ(seen["reads"], true);
  std::filesystem::remove_all(open);
  std::filesystem::remove_all(closed);
}

TEST(Sandbox, ASandboxThatCannotBeEnforcedIsAnErrorIfRequired) {
  Tool tool = tool_named("describe");
  tool.limits.sandbox = {.read_only = true, .writable = {"/no/such/folder"}};
  const Json answer = called(tool);
  EXPECT_EQ(answer["reason"], "handler_exit");
  EXPECT_NE(answer["error"].get<std::string>().find("/no/such/folder"), std::string::npos) << answer;
  tool.limits.sandbox.required = false;
  EXPECT_TRUE(called(tool).contains("pid"));
}

}  // namespace
}  // namespace allm::testing::worker_test
