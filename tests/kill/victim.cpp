// The program that is killed. It runs one session on a store: tools in two steps, a question, an answer, a last step.
#include <array>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <mutex>
#include <unistd.h>
#include <utility>

#include "allm/fake.hpp"
#include "allm/session_runner.hpp"

#include "tests/kill/kill_plan.hpp"

namespace allm::kill_matrix {
namespace {

// One write in append mode, so that lines of several processes do not mix.
void append_line(const std::string& path, const std::string& line) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const std::string text = line + "\n";
  if (fd < 0 || write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(4);
  close(fd);
}

FakeEntry call(const char* id, const char* tool) { return fake_tool_call(id, tool, {{"id", id}}); }

// The script of the model, by the number of its earlier messages.
FakeCallScript answer(std::size_t step) {
  const FakeEntry run = fake_finish(FinishReason::tool_calls);
  switch (step) {
    case 0:
      return {fake_text("Two."), call("a", "note"), call("b", "again"), run};
    case 1:
      return {call("c", "note"), call("q", "ask"), run};
    case 2:
      return {call("d", "again"), call("e", "note"), run};
    default:
      return {fake_text("Done."), fake_finish(FinishReason::stop)};
  }
}

std::shared_ptr<Adapter> paid_model(const std::string& effects) {
  return fake([effects](const AdapterCall& model_call) {
    std::size_t step = 0;
    for (const Message& message : model_call.request.messages) {
      if (message.role == Role::assistant && !message.metadata.contains("ask_user")) ++step;
    }
    append_line(effects, "model " + std::to_string(step));
    return answer(step);
  });
}

// Kills this process at a commit. Tells the parent process about each lease, which it releases after the death.
class KillingStore : public SessionStore {
 public:
  KillingStore(std::shared_ptr<SessionStore> store, Life life) : store_(std::move(store)), life_(std::move(life)) {}

  Result<StoredSession> create(NewSession session) override { return store_->create(std::move(session)); }
  Result<StoredSession> load(const std::string& id) override { return store_->load(id); }
  Result<SessionPage> list(const SessionQuery& query) override { return store_->list(query); }
  Status remove(const std::string& id) override { return store_->remove(id); }
  Result<Committed> commit(const Commit& change) override {
    const std::lock_guard lock(mutex_);
    const bool is_now = ++commits_ == life_.death.commit;
    if (is_now && life_.death.when == "before") raise(SIGKILL);
    Result<Committed> committed = store_->commit(change);
    if (is_now && life_.death.when == "after") raise(SIGKILL);
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
    Result<Lease> lease = store_->acquire(id, duration);
    if (lease) append_line(life_.effects, "fence " + std::to_string(lease->fence));
    return lease;
  }
  Result<Lease> renew(const Lease& lease, std::chrono::milliseconds duration) override {
    return store_->renew(lease, duration);
  }
  Status release(const Lease& lease) override { return store_->release(lease); }

 private:
  const std::shared_ptr<SessionStore> store_;
  const Life life_;
  std::mutex mutex_;
  int commits_ = 0;
};

Result<StoredTurn> go_on(const SessionRunner& runner, const StoredSession& stored, const std::string& id) {
  if (has_open_run(stored.session)) return runner.resume(id);
  if (stored.session.status == SessionStatus::awaiting_user) return runner.reply(id, "Yes.", stored.version);
  return runner.start(id);
}

int complain(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  const auto* store = error.get_if<StoreError>();
  const bool is_temporary =
      store != nullptr && (store->reason == StoreError::Reason::fenced || store->reason == StoreError::Reason::leased ||
                           store->reason == StoreError::Reason::unavailable);
  return is_temporary ? 3 : 4;
}

}  // namespace

std::vector<Tool> kill_tools(const std::string& lane) {
  const Handler handler = [](const Json& /*arguments*/, const ToolContext& context) {
    append_line(context.context().at("effects").get<std::string>(), "run " + context.tool_call().id);
    if (context.tool_call().name == "ask") return ask_user("Go on?");
    return ok(context.idempotency_key().empty() ? "no key" : "noted");
  };
  std::vector<Tool> tools;
  for (const char* name : {"note", "again", "ask"}) {
    Tool tool{.name = name, .handler = handler};
    tool.lane = lane == "worker" ? Lane::worker : Lane::thread;
    tool.limits.memory = std::nullopt;
    tool.on_interrupted = std::string(name) == "note" ? OnInterrupted::fail : OnInterrupted::retry;
    tools.push_back(std::move(tool));
  }
  return tools;
}

int live(const Life& life) {
  const Result<std::shared_ptr<Store>> store = open_store(life.store);
  if (!store) return complain(store.error());
  const Engine engine({.adapter = paid_model(life.effects), .tools = kill_tools(life.lane)});
  const SessionRunner runner(engine, std::make_shared<KillingStore>(*store, life), {.lease = kLease});
  std::puts("ready");
  std::fflush(stdout);
  while (true) {
    const Result<StoredSession> stored = (*store)->load(life.session);
    if (!stored) return complain(stored.error());
    if (!has_open_run(stored->session) && stored->session.status == SessionStatus::completed) return 0;
    if (const Result<StoredTurn> turn = go_on(runner, *stored, life.session); !turn) return complain(turn.error());
  }
}

}  // namespace allm::kill_matrix
