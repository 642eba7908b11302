// A process that runs one session, and stops itself with SIGSTOP in the middle of it or is stopped by somebody else.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "allm/session_runner.hpp"
#include "allm/telemetry.hpp"

#include "tests/contest/contest.hpp"

namespace allm::contest {
namespace {

// Stops all threads of this process at once.
void stop_process() { ::raise(SIGSTOP); }

// Stops the process directly after the first commit with a fact of this kind about one of these calls.
class StoppingStore : public SessionStore {
 public:
  StoppingStore(std::shared_ptr<SessionStore> store, std::string kind, std::string calls)
      : store_(std::move(store)), kind_(std::move(kind)), calls_(std::move(calls)) {}

  Result<StoredSession> create(NewSession session) override { return store_->create(std::move(session)); }
  Result<StoredSession> load(const std::string& id) override { return store_->load(id); }
  Result<SessionPage> list(const SessionQuery& query) override { return store_->list(query); }
  Status remove(const std::string& id) override { return store_->remove(id); }
  Result<Committed> commit(const Commit& change) override {
    Result<Committed> committed = store_->commit(change);
    for (const LogEntry& entry : change.entries) {
      if (entry.kind != kind_ || calls_.find(entry.body["call_id"].get<std::string>()) == std::string::npos) continue;
      kind_.clear();
      stop_process();
    }
    return committed;
  }
  Result<std::vector<LogEntry>> read_log(const std::string& id, std::int64_t after, std::size_t limit,
                                         std::string_view kind) override {
    return store_->read_log(id, after, limit, kind);
  }
  Result<bool> wait_for_log(const std::string& id, std::int64_t after, std::chrono::milliseconds timeout) override {
    return store_->wait_for_log(id, after, timeout);
  }
  Result<Lease> acquire(const std::string& id, std::chrono::milliseconds duration) override {
    return store_->acquire(id, duration);
  }
  Result<Lease> renew(const Lease& lease, std::chrono::milliseconds duration) override {
    return store_->renew(lease, duration);
  }
  Status release(const Lease& lease) override { return store_->release(lease); }

 private:
  const std::shared_ptr<SessionStore> store_;
  std::string kind_;  // used by one thread: the one that commits
  const std::string calls_;
};

// A call is reported to telemetry after the run has seen its commit and before its handler is started.
class StoppingTelemetry : public Telemetry {
 public:
  void on_event(const TelemetryEvent& event) override {
    if (event.span != SpanKind::tool || event.phase != SpanPhase::start) return;
    std::call_once(once_, stop_process);
  }

 private:
  std::once_flag once_;
};

FakeEntry call(const char* id, const char* tool) { return fake_tool_call(id, tool, {{"id", id}}); }

}  // namespace

FakeCallScript scripted_answer(std::size_t step) {
  const FakeEntry run = fake_finish(FinishReason::tool_calls);
  switch (step) {
    case 0:
      return {fake_text("Two."), call("a", "slow"), call("b", "again"), run};
    case 1:
      return {call("c", "note"), run};
    default:
      return {fake_text("Done."), fake_finish(FinishReason::stop)};
  }
}

std::vector<Tool> contest_tools(const std::string& who, const std::string& lane) {
  const Handler handler = [who](const Json& /*arguments*/, const ToolContext& context) {
    const auto effects = context.context().at("effects").get<std::string>();
    append_line(effects, who + " runs " + context.tool_call().id);
    const bool waits = context.tool_call().name == "slow" && context.context().at("waits") == true;
    while (waits && !std::filesystem::exists(effects + ".go")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return ok("noted");
  };
  std::vector<Tool> tools;
  for (const char* name : {"slow", "again", "note"}) {
    Tool tool{.name = name, .handler = handler};
    tool.lane = lane == "worker" ? Lane::worker : Lane::thread;
    tool.limits.memory = std::nullopt;
    tool.timeout = std::chrono::minutes(10);
    tool.on_interrupted = std::string(name) == "again" ? OnInterrupted::retry : OnInterrupted::fail;
    tools.push_back(std::move(tool));
  }
  return tools;
}

std::shared_ptr<Adapter> contest_model(const std::string& who, const std::string& effects) {
  return fake([who, effects](const AdapterCall& model_call) {
    std::size_t step = 0;
    for (const Message& message : model_call.request.messages) step += message.role == Role::assistant ? 1 : 0;
    append_line(effects, who + " asks " + std::to_string(step));
    return scripted_answer(step);
  });
}

int run_until_stopped(const StoppedRun& run) {
  const Result<std::shared_ptr<Store>> opened = open_store(run.store);
  if (!opened) return 4;
  std::shared_ptr<SessionStore> store = *opened;
  if (run.where == "dispatched") store = std::make_shared<StoppingStore>(store, run.where, "ab");
  if (run.where == "finished") store = std::make_shared<StoppingStore>(store, run.where, "c");
  const auto effects = (*opened)->load(run.session).value().session.context.at("effects").get<std::string>();
  const Engine engine({.adapter = contest_model("stopped", effects),
                       .tools = contest_tools("stopped", run.lane),
                       .telemetry = run.where == "start" ? std::make_shared<StoppingTelemetry>() : nullptr});
  const SessionRunner runner(engine, store, {.lease = std::chrono::milliseconds(500)});
  const Result<StoredTurn> turn = runner.start(run.session);
  if (turn) return 0;
  if (turn.error().is<StoreError>(StoreError::Reason::fenced)) return 7;
  std::fprintf(stderr, "%s\n", turn.error().message().c_str());
  return 4;
}

}  // namespace allm::contest
