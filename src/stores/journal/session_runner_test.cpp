// SessionRunner: a run that is cut off anywhere and resumed ends as if nothing had happened.
#include "allm/session_runner.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/fake.hpp"
#include "allm/serialize.hpp"

#include "tests/cases.hpp"

namespace allm::session_runner_test {
namespace {

const FakeEntry kRunTools = fake_finish(FinishReason::tool_calls);
const FakeEntry kStop = fake_finish(FinishReason::stop);

// What really happened, counted outside of the runner.
struct Seen {
  std::mutex mutex;
  std::map<int, int> model_calls;                        // by step
  std::map<std::string, int> runs;                       // of handlers, by the id of the call
  std::map<std::string, std::vector<std::string>> keys;  // idempotency keys, by the id of the call
  int gate_calls = 0;

  void run(const ToolContext& context) {
    const std::lock_guard lock(mutex);
    ++runs[context.tool_call().id];
    keys[context.tool_call().id].push_back(context.idempotency_key());
  }
};

// A store that dies after a number of log entries: the rest of that commit and everything later fails. Start and end of
// a run are one change and are not divided.
class DyingStore : public SessionStore {
 public:
  DyingStore(std::shared_ptr<SessionStore> store, std::int64_t entries) : store_(std::move(store)), left_(entries) {}

  Result<StoredSession> create(NewSession session) override { return store_->create(std::move(session)); }
  Result<StoredSession> load(const std::string& id) override { return store_->load(id); }
  Result<SessionPage> list(const SessionQuery& query) override { return store_->list(query); }
  Status remove(const std::string& id) override { return store_->remove(id); }
  Result<Committed> commit(const Commit& change) override {
    const std::lock_guard lock(mutex_);
    if (left_ <= 0) return dead();
    const auto count = static_cast<std::int64_t>(change.entries.size());
    left_ -= count;
    if (left_ >= 0 || change.session) return store_->commit(change);
    Commit part = change;
    part.entries.resize(static_cast<std::size_t>(count + left_));
    static_cast<void>(store_->commit(part));
    return dead();
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
    if (lease) lease_ = *lease;
    return lease;
  }
  Result<Lease> renew(const Lease& lease, std::chrono::milliseconds duration) override {
    return store_->renew(lease, duration);
  }
  Status release(const Lease& lease) override { return store_->release(lease); }

 private:
  static Result<Committed> dead() {
    return std::unexpected(Error(StoreError{StoreError::Reason::read_only}, "this process is dead"));
  }
  const std::shared_ptr<SessionStore> store_;
  std::mutex mutex_;
  std::int64_t left_;
  Lease lease_;
};

std::shared_ptr<Store> memory_store() { return *open_store("memory:"); }

Session hello() { return {.thread = {user("Hello")}}; }

std::string new_session(SessionStore& store, Session session = hello()) {
  return *store.create({.session = std::move(session)})->session.id;
}

// A model whose answer depends on the conversation only, so that it says the same to an equal thread.
std::shared_ptr<Adapter> model(FakeScript script, std::shared_ptr<Seen> seen) {
  return fake([script = std::move(script), seen = std::move(seen)](const AdapterCall& call) -> FakeCallScript {
    std::size_t step = 0;
    for (const Message& message : call.request.messages) {
      if (message.role == Role::assistant && !message.metadata.contains("ask_user")) ++step;
    }
    const std::lock_guard lock(seen->mutex);
    ++seen->model_calls[static_cast<int>(step)];
    return script.at(step);
  });
}

std::vector<Tool> tools(const std::shared_ptr<Seen>& seen, OnInterrupted on_interrupted) {
  const auto make = [&](std::string name, std::function<ToolOutcome(const Json&)> answer) {
    return Tool{.name = std::move(name),
                .handler =
                    [seen, answer = std::move(answer)](const Json& arguments, const ToolContext& context) {
                      seen->run(context);
                      return answer(arguments);
                    },
                .on_interrupted = on_interrupted};
  };
  return {make("echo", [](const Json& arguments) { return ok({{"echo", arguments}}); }),
          make("fail", [](const Json&) { return failure("no"); }),
          make("throw", [](const Json&) -> ToolOutcome { throw std::runtime_error("oops"); }),
          make("parts", [](const Json&) { return ok(TextPart{"one"}, TextPart{"two"}); }),
          make("ask", [](const Json&) { return ask_user("Which one?", {{"choices", {1, 2}}}); }),
          make("halt", [](const Json&) { return halt("enough", {{"n", 1}}); }),
          make("bad_text", [](const Json&) { return ok("\xff"); }),
          Tool{.name = "manual", .manual = true}};
}

std::vector<Approval> gate(std::span<const ToolCall> calls) {
  std::vector<Approval> decisions;
  for (const ToolCall& call : calls) {
    const Json wanted = call.arguments.value("gate", Json("allow"));
    decisions.push_back(wanted == "deny"      ? Approval::deny("not now")
                        : wanted == "suspend" ? Approval::suspend()
                        : wanted == "change"  ? Approval::allow_with({{"changed", true}})
                                              : Approval::allow());
  }
  return decisions;
}

struct Case {
  std::string name;
  FakeScript script;
  Session session = hello();
  SessionOrder order = {};
  int max_tool_calls = 0;
};

Engine engine_of(const Case& test, const std::shared_ptr<Seen>& seen, OnInterrupted on_interrupted) {
  EngineOptions options{.adapter = model(test.script, seen), .tools = tools(seen, on_interrupted)};
  options.approve = [seen](std::span<const ToolCall> calls) {
    ++seen->gate_calls;
    return gate(calls);
  };
  return Engine(std::move(options));
}

CallOptions options_of(const Case& test) {
  CallOptions options;
  if (test.max_tool_calls > 0) options.max_tool_calls = test.max_tool_calls;
  return options;
}

FakeEntry call(const std::string& id, const std::string& tool, Json arguments = Json::object()) {
  return fake_tool_call(id, tool, std::move(arguments));
}

Session suspended_session() {
  Message asked = assistant("");
  asked.tool_calls = {{.id = "p1", .name = "echo"}, {.id = "p2", .name = "echo"}, {.id = "p3", .name = "manual"}};
  return {.thread = {user("Hello"), asked},
          .status = SessionStatus::awaiting_tools,
          .pending_tool_calls = {{asked.tool_calls[0], PendingKind::suspended},
                                 {asked.tool_calls[1], PendingKind::suspended},
                                 {asked.tool_calls[2], PendingKind::manual}}};
}

std::vector<Case> all_cases() {
  const FakeCallScript answer = {fake_text("Done"), kStop};
  std::vector<Case> list;
  list.push_back({"answer", {{fake_reasoning("hm"), fake_text("Hel"), fake_text("lo"), kStop}}});
  list.push_back({"one_call", {{call("a", "echo", {{"n", 1}}), kRunTools}, answer}});
  list.push_back({"parallel",
                  {{fake_text("Both."), call("a", "echo"), call("b", "parts"), call("c", "fail"), kRunTools}, answer}});
  list.push_back(
      {"three_steps",
       {{call("a", "echo"), kRunTools}, {call("a", "fail"), kRunTools}, {call("a", "throw"), kRunTools}, answer}});
  list.push_back({"question", {{call("a", "echo"), call("b", "ask"), kRunTools}, answer}});
  list.push_back({"halted", {{call("a", "echo"), kRunTools}, {call("b", "halt"), call("c", "echo"), kRunTools}}});
  list.push_back(
      {"gate",
       {{call("a", "echo", {{"gate", "deny"}}), call("b", "echo", {{"gate", "change"}}), call("c", "echo"), kRunTools},
        answer}});
  list.push_back({"gate_suspends", {{call("a", "echo"), call("b", "echo", {{"gate", "suspend"}}), kRunTools}, answer}});
  list.push_back({"manual", {{call("a", "echo"), call("b", "manual"), kRunTools}, answer}});
  list.push_back({"bad_text", {{call("a", "bad_text"), call("b", "echo"), kRunTools}, answer}});
  list.push_back(
      {"limit", {{call("a", "echo"), call("b", "echo"), call("c", "echo"), kRunTools}, answer}, hello(), {}, 2});
  list.push_back({"reply",
                  {{call("a", "echo"), kRunTools}, answer},
                  hello(),
                  {.kind = SessionOrder::Kind::message, .message = user("And now?")}});
  list.push_back(
      {"approve",
       {{}, {call("a", "echo"), kRunTools}, answer},
       suspended_session(),
       {.kind = SessionOrder::Kind::decisions,
        .decisions = {
            {"p1", Approval::allow_with({{"x", 1}})}, {"p2", Approval::deny("no")}, {"p3", Approval::deny("no")}}}});
  list.push_back({"submit",
                  {{}, {call("a", "echo"), kRunTools}, answer},
                  suspended_session(),
                  {.kind = SessionOrder::Kind::results, .results = {{"p1", 1}, {"p2", "two"}, {"p3", nullptr, true}}}});
  list.push_back(
      {"submit_some", {{}}, suspended_session(), {.kind = SessionOrder::Kind::results, .results = {{"p1", 1}}}});
  list.push_back({"error", {{call("a", "echo"), kRunTools}, {fake_error(AdapterError::Reason::invalid_request)}}});
  return list;
}

std::string text_of(Session session) {
  session.id.reset();
  return *to_json(session);
}

Session undisturbed(const Case& test) {
  const auto store = memory_store();
  const auto seen = std::make_shared<Seen>();
  const std::string id = new_session(*store, test.session);
  const SessionRunner runner(engine_of(test, seen, OnInterrupted::retry), store);
  const Result<StoredTurn> turn = runner.stream(id, test.order, options_of(test)).finish();
  EXPECT_TRUE(turn || test.name == "error") << test.name << turn.error().message();
  return store->load(id)->session;
}

// The session that the operations without a store make.
std::optional<Session> without_store(const Case& test) {
  const auto seen = std::make_shared<Seen>();
  const Engine engine = engine_of(test, seen, OnInterrupted::retry);
  if (test.order.kind == SessionOrder::Kind::start) {
    return session_start(engine, test.session, options_of(test))->session;
  }
  if (test.order.kind == SessionOrder::Kind::message) {
    return session_reply(engine, test.session, test.order.message->content)->session;
  }
  if (test.order.kind == SessionOrder::Kind::decisions) {
    return session_approve(engine, test.session, test.order.decisions)->session;
  }
  return std::nullopt;
}

std::size_t count_facts(SessionStore& store, const std::string& id, std::string_view kind, const char* member = nullptr,
                        const Json& value = nullptr) {
  std::size_t count = 0;
  const auto log = store.read_log(id, 0, 10'000, kind);
  for (const LogEntry& entry : *log) {
    if (member == nullptr || entry.body[member] == value) ++count;
  }
  return count;
}

TEST(SessionRunner, MakesTheSessionThatTheOperationsWithoutAStoreMake) {
  for (const Case& test : all_cases()) {
    SCOPED_TRACE(test.name);
    if (const std::optional<Session> expected = without_store(test)) {
      EXPECT_EQ(text_of(undisturbed(test)), text_of(*expected));
    }
  }
}

// Cuts a run off after each entry of its journal and resumes it.
TEST(SessionRunner, AResumedRunEndsLikeAnUndisturbedOne) {
  int cuts = 0;
  for (const Case& test : all_cases()) {
    const std::string expected = text_of(undisturbed(test));
    for (std::int64_t entries = 1;; ++entries) {
      SCOPED_TRACE(test.name + " cut after entry " + std::to_string(entries));
      const auto store = memory_store();
      const auto seen = std::make_shared<Seen>();
      const std::string id = new_session(*store, test.session);
      const Engine engine = engine_of(test, seen, OnInterrupted::retry);
      {
        const SessionRunner dying(engine, std::make_shared<DyingStore>(store, entries));
        static_cast<void>(dying.stream(id, test.order, options_of(test)).finish());
      }
      if (!has_open_run(store->load(id)->session)) {
        EXPECT_EQ(text_of(store->load(id)->session), expected);
        break;
      }
      ++cuts;
      const std::map<int, int> asked_before = seen->model_calls;
      const std::map<std::string, int> run_before = seen->runs;
      const std::size_t responses = count_facts(*store, id, "response");
      const auto finished = *store->read_log(id, 0, 10'000, "finished");
      const Result<StoredTurn> turn = SessionRunner(engine, store).resume(id, options_of(test));
      ASSERT_TRUE(turn || test.name == "error") << turn.error().message();
      EXPECT_EQ(text_of(store->load(id)->session), expected);
      // What was recorded was neither asked for nor run again.
      for (const auto& [step, count] : asked_before) {
        const std::size_t first = test.session.thread.messages.size() - 1;
        if (static_cast<std::size_t>(step) - first >= responses) continue;
        EXPECT_EQ(seen->model_calls[step], count) << step;
      }
      if (test.name != "three_steps") {  // its calls share an id
        for (const LogEntry& entry : finished) {
          const auto call_id = entry.body["call_id"].get<std::string>();
          EXPECT_EQ(seen->runs[call_id], run_before.contains(call_id) ? run_before.at(call_id) : 0) << call_id;
        }
      }
      for (const auto& [call_id, keys] : seen->keys) {
        if (test.name == "three_steps") continue;
        for (const std::string& key : keys) EXPECT_EQ(key, keys.front());
        EXPECT_FALSE(keys.front().empty());
      }
    }
  }
  EXPECT_GT(cuts, 80);
}

// A session with a call that was started and has no outcome.
class Interrupted {
 public:
  explicit Interrupted(OnInterrupted on_interrupted)
      : engine_(engine_of(test_, seen_, on_interrupted)), id_(new_session(*store_)) {
    // run_started, response, decided and one of the two dispatched.
    const SessionRunner dying(engine_, std::make_shared<DyingStore>(store_, 4));
    const Result<StoredTurn> turn = dying.start(id_);
    EXPECT_FALSE(turn);
    EXPECT_EQ(count_facts(*store_, id_, "dispatched"), 1U);
    EXPECT_EQ(count_facts(*store_, id_, "finished"), 0U);
  }
  SessionRunner runner() const { return {engine_, store_}; }
  Store& store() const { return *store_; }
  Seen& seen() const { return *seen_; }
  const std::string& id() const { return id_; }

 private:
  const Case test_ = {"", {{call("a", "echo"), call("b", "echo"), kRunTools}, {fake_text("Done"), kStop}}};
  const std::shared_ptr<Store> store_ = memory_store();
  const std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
  const Engine engine_;
  const std::string id_;
};

const Message* answer_to(const Session& session, const std::string& call_id) {
  for (const Message& message : session.thread.messages) {
    if (message.tool_call_id == call_id) return &message;
  }
  return nullptr;
}

TEST(OnInterrupted, FailTellsTheModelThatTheCallMayHaveHadEffects) {
  const Interrupted rig(OnInterrupted::fail);
  const Result<StoredTurn> turn = rig.runner().resume(rig.id());
  ASSERT_TRUE(turn) << turn.error().message();
  EXPECT_EQ(turn->session.status, SessionStatus::completed);
  const Message* answer = answer_to(turn->session, "a");
  ASSERT_NE(answer, nullptr);
  EXPECT_NE(answer->text().find("may have had effects"), std::string::npos);
  EXPECT_NE(answer->text().find("\"interrupted\""), std::string::npos);
  EXPECT_EQ(rig.seen().runs["b"], 1);
  EXPECT_EQ(count_facts(rig.store(), rig.id(), "dispatched", "call_id", "a"), 1U);
}

TEST(OnInterrupted, RetryRunsTheCallAgainWithItsKey) {
  const Interrupted rig(OnInterrupted::retry);
  const Result<StoredTurn> turn = rig.runner().resume(rig.id());
  ASSERT_TRUE(turn) << turn.error().message();
  EXPECT_EQ(answer_to(turn->session, "a")->text(), R"({"echo":{}})");
  const auto facts = *rig.store().read_log(rig.id(), 0, 100, "dispatched");
  ASSERT_EQ(facts.size(), 3U);
  EXPECT_EQ(facts[0].body["key"], facts[1].body["key"]);
  EXPECT_EQ(Json(rig.seen().keys["a"].back()), facts[0].body["key"]);
}

TEST(OnInterrupted, AskWaitsForAPersonWhoLetsItRunAgain) {
  const Interrupted rig(OnInterrupted::ask);
  const Result<StoredTurn> waiting = rig.runner().resume(rig.id());
  ASSERT_TRUE(waiting) << waiting.error().message();
  ASSERT_EQ(waiting->session.status, SessionStatus::awaiting_tools);
  ASSERT_EQ(waiting->session.pending_tool_calls.size(), 1U);
  EXPECT_EQ(waiting->session.pending_tool_calls[0].id, "a");
  EXPECT_EQ(waiting->session.pending_tool_calls[0].kind, PendingKind::suspended);
  const int runs = rig.seen().runs["a"];
  const Result<StoredTurn> turn = rig.runner().approve(rig.id(), waiting->version, {{"a", Approval::allow()}});
  ASSERT_TRUE(turn) << turn.error().message();
  EXPECT_EQ(turn->session.status, SessionStatus::completed);
  EXPECT_EQ(rig.seen().runs["a"], runs + 1);
  const auto facts = *rig.store().read_log(rig.id(), 0, 100, "dispatched");
  EXPECT_EQ(facts.front().body["key"], facts.back().body["key"]);
  EXPECT_EQ(turn->session.metadata.count("allm.interrupted"), 0U);
}

TEST(Epochs, OfManyAnswersToOneSuspensionOneWins) {
  const Case test{"", {{call("a", "ask"), kRunTools}, {fake_text("Thanks"), kStop}}};
  for (int round = 0; round < testing::cases(30); ++round) {
    const auto store = memory_store();
    const auto seen = std::make_shared<Seen>();
    const SessionRunner runner(engine_of(test, seen, OnInterrupted::fail), store);
    const std::string id = new_session(*store);
    const Result<StoredTurn> asked = runner.start(id);
    ASSERT_TRUE(asked);
    ASSERT_EQ(asked->session.status, SessionStatus::awaiting_user);
    std::atomic<int> won = 0;
    std::atomic<int> refused = 0;
    const auto answer = [&] {
      while (true) {
        const Result<StoredTurn> turn = runner.reply(id, "This one", asked->version);
        if (turn) {
          ++won;
          return;
        }
        if (turn.error().is<StoreError>(StoreError::Reason::leased)) continue;
        EXPECT_TRUE(turn.error().is<StoreError>(StoreError::Reason::conflict)) << turn.error().message();
        EXPECT_NE(turn.error().message().find("answered already"), std::string::npos);
        ++refused;
        return;
      }
    };
    {
      const std::jthread first(answer);
      const std::jthread second(answer);
    }
    EXPECT_EQ(won, 1);
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(store->load(id)->session.thread.messages.size(), 6U);
  }
}

TEST(Epochs, AnOlderOneIsRefused) {
  const Case test{"", {{call("a", "ask"), kRunTools}, {call("b", "ask"), kRunTools}, {fake_text("Thanks"), kStop}}};
  const auto store = memory_store();
  const SessionRunner runner(engine_of(test, std::make_shared<Seen>(), OnInterrupted::fail), store);
  const std::string id = new_session(*store);
  const Result<StoredTurn> first = runner.start(id);
  const Result<StoredTurn> second = runner.reply(id, "one", first->version);
  ASSERT_TRUE(second);
  ASSERT_EQ(second->session.status, SessionStatus::awaiting_user);
  const Result<StoredTurn> late = runner.reply(id, "one again", first->version);
  ASSERT_FALSE(late);
  EXPECT_TRUE(late.error().is<StoreError>(StoreError::Reason::conflict));
  EXPECT_EQ(store->load(id)->version, second->version);
  EXPECT_TRUE(runner.reply(id, "two", second->version));
}

TEST(SessionRunner, WithoutItsLeaseARunWritesNothingAndStartsNoTool) {
  const auto store = memory_store();
  const std::string id = new_session(*store);
  const auto second_ran = std::make_shared<std::atomic<bool>>(false);
  const Tool steal{.name = "steal", .handler = [store, id](const Json&) {
                     // The lease ends while the tool runs, and somebody else gets the session.
                     const Result<Lease> lease = store->acquire(id, std::chrono::hours(1));
                     return lease ? ok("stolen") : failure(lease.error().message());
                   }};
  const Tool second{.name = "second", .handler = [second_ran](const Json&) {
                      *second_ran = true;
                      return ok(1);
                    }};
  Engine engine(
      {.adapter = fake({{call("a", "steal"), kRunTools}, {call("b", "second"), kRunTools}}), .tools = {steal, second}});
  // The handler waits until the lease has expired: the thread that renews it is not faster than one millisecond.
  class NoRenewal : public DyingStore {
   public:
    using DyingStore::DyingStore;
    Result<Lease> acquire(const std::string& session, std::chrono::milliseconds duration) override {
      Result<Lease> lease = DyingStore::acquire(session, duration);
      if (lease) lease_ = *lease;
      return lease;
    }
    Result<Committed> commit(const Commit& change) override {
      Result<Committed> committed = DyingStore::commit(change);
      // After the commit that starts the tool, the lease is over.
      for (const LogEntry& entry : change.entries) {
        if (entry.kind == "dispatched") static_cast<void>(DyingStore::release(lease_));
      }
      return committed;
    }

   private:
    Lease lease_;
  };
  const SessionRunner runner(engine, std::make_shared<NoRenewal>(store, 1'000));
  const Result<StoredTurn> turn = runner.start(id);
  ASSERT_FALSE(turn);
  EXPECT_TRUE(turn.error().is<StoreError>(StoreError::Reason::fenced)) << turn.error().message();
  EXPECT_FALSE(*second_ran);
  EXPECT_EQ(count_facts(*store, id, "finished"), 0U);
}

TEST(SessionRunner, AnInterruptedRunMustBeResumedBeforeAnotherBegins) {
  const Interrupted rig(OnInterrupted::retry);
  const Result<StoredTurn> other = rig.runner().reply(rig.id(), "Hello?");
  ASSERT_FALSE(other);
  EXPECT_TRUE(other.error().is<StoreError>(StoreError::Reason::conflict)) << other.error().message();
  ASSERT_TRUE(rig.runner().resume(rig.id()));
  const Result<StoredTurn> again = rig.runner().resume(rig.id());
  ASSERT_FALSE(again);
  EXPECT_TRUE(again.error().is<SessionError>(SessionError::Reason::invalid_status_for_operation));
}

TEST(SessionRunner, ADroppedStreamCanBeResumed) {
  const Case test{"", {{call("a", "echo"), kRunTools}, {fake_text("Done"), kStop}}};
  const auto store = memory_store();
  const auto seen = std::make_shared<Seen>();
  const std::string id = new_session(*store);
  const Engine engine = engine_of(test, seen, OnInterrupted::fail);
  {
    const SessionRunner runner(engine, store);
    StoredStream stream = runner.stream(id, {});
    while (Poll event = stream.next()) {
      if (event->get_if<ToolResultEncoded>() != nullptr) break;
    }
  }
  EXPECT_TRUE(has_open_run(store->load(id)->session));
  const Result<StoredTurn> turn = SessionRunner(engine, store).resume(id);
  ASSERT_TRUE(turn) << turn.error().message();
  EXPECT_EQ(turn->session.status, SessionStatus::completed);
  EXPECT_EQ(turn->result.steps.size(), 2U);
  EXPECT_EQ(seen->runs["a"], 1);
}

TEST(SessionRunner, LogsEventsForFollowers) {
  const Case test{"", {{fake_text("a"), fake_text("b"), call("a", "echo"), kRunTools}, {fake_text("Done"), kStop}}};
  const auto store = memory_store();
  const std::string id = new_session(*store);
  const SessionRunner runner(engine_of(test, std::make_shared<Seen>(), OnInterrupted::fail), store,
                             {.log_events = true});
  ASSERT_TRUE(runner.start(id));
  std::vector<std::string> types;
  const auto log = store->read_log(id, 0, 1'000, "event");
  for (const LogEntry& entry : *log) {
    types.push_back(entry.body["type"].get<std::string>());
    if (types.back() != "text_delta" || types.size() >= 5) continue;
    EXPECT_EQ(entry.body["delta"], "ab");
  }
  EXPECT_EQ(std::ranges::count(types, "text_delta"), 2);
  EXPECT_EQ(types.back(), "chat_completed");
}

TEST(SessionRunner, AJobEndsWithItsRun) {
  const Case test{"", {{call("a", "echo"), kRunTools}, {fake_text("Done"), kStop}}};
  const auto store = memory_store();
  const auto seen = std::make_shared<Seen>();
  const std::string id = new_session(*store, {});
  const Engine engine = engine_of(test, seen, OnInterrupted::retry);
  ASSERT_TRUE(store->submit({.session_id = id, .order = {{"message", "Hello"}}}));
  {
    const std::optional<Job> job = *store->claim({});
    const SessionRunner dying(engine, std::make_shared<DyingStore>(store, 4));
    ASSERT_FALSE(dying.run_job(*job));
  }
  const std::optional<Job> job = *store->claim({});
  ASSERT_TRUE(job);
  EXPECT_EQ(job->attempt, 2);
  const Result<StoredTurn> turn = SessionRunner(engine, store).run_job(*job);
  ASSERT_TRUE(turn) << turn.error().message();
  EXPECT_EQ(turn->session.status, SessionStatus::completed);
  EXPECT_EQ(seen->model_calls[0], 1);
  EXPECT_FALSE(*store->claim({}));
  EXPECT_EQ(store->count_jobs()->running, 0U);
}

TEST(SessionRunner, AJobWhoseOrderIsRefusedEnds) {
  const auto store = memory_store();
  const std::string id = new_session(*store);
  const SessionRunner runner(Engine({.adapter = fake(FakeScript{})}), store);
  for (const Json& order : {Json{{"message", "Hi"}, {"epoch", 7}}, Json{{"nonsense", 1}},
                            Json{{"results", Json::array()}, {"start", true}}}) {
    ASSERT_TRUE(store->submit({.session_id = id, .order = order}));
    const std::optional<Job> job = *store->claim({});
    ASSERT_TRUE(job);
    EXPECT_FALSE(runner.run_job(*job)) << order;
    EXPECT_EQ(store->count_jobs()->running + store->count_jobs()->ready, 0U);
  }
  EXPECT_EQ(count_facts(*store, id, "order_refused"), 3U);
}

// A store whose answers get lost after the change was made.
class Forgetful : public DyingStore {
 public:
  using DyingStore::DyingStore;
  Result<Committed> commit(const Commit& change) override {
    Result<Committed> committed = DyingStore::commit(change);
    if (++commits_ % 2 == 0 || !committed) return committed;
    return std::unexpected(Error(StoreError{StoreError::Reason::unavailable}, "the connection was lost"));
  }

 private:
  int commits_ = 0;
};

TEST(SessionRunner, ACommitWhoseAnswerWasLostIsNotMadeTwice) {
  for (const Case& test : all_cases()) {
    SCOPED_TRACE(test.name);
    const auto store = memory_store();
    const std::string id = new_session(*store, test.session);
    const SessionRunner runner(engine_of(test, std::make_shared<Seen>(), OnInterrupted::fail),
                               std::make_shared<Forgetful>(store, 1'000));
    const Result<StoredTurn> turn = runner.stream(id, test.order, options_of(test)).finish();
    ASSERT_TRUE(turn || test.name == "error") << turn.error().message();
    EXPECT_EQ(text_of(store->load(id)->session), text_of(undisturbed(test)));
    EXPECT_EQ(count_facts(*store, id, "run_ended") + count_facts(*store, id, "suspended"), 1U);
  }
}

// Calls a function at moments of a run.
class Interposed : public DyingStore {
 public:
  struct Hooks {
    std::function<void()> before_acquire = [] {};
    std::function<void(const Commit&)> after_commit = [](const Commit&) {};
    std::function<void()> renewed = [] {};
    // Returns the answer to give.
    std::function<Result<Lease>(Result<Lease>)> acquired = [](Result<Lease> lease) { return lease; };
  };
  Interposed(std::shared_ptr<SessionStore> store, Hooks hooks)
      : DyingStore(std::move(store), 1'000), hooks_(std::move(hooks)) {}

  Result<Committed> commit(const Commit& change) override {
    Result<Committed> committed = DyingStore::commit(change);
    if (committed) hooks_.after_commit(change);
    return committed;
  }
  Result<Lease> acquire(const std::string& id, std::chrono::milliseconds duration) override {
    hooks_.before_acquire();
    return hooks_.acquired(DyingStore::acquire(id, duration));
  }
  Result<Lease> renew(const Lease& lease, std::chrono::milliseconds duration) override {
    Result<Lease> renewed = DyingStore::renew(lease, duration);
    if (renewed) hooks_.renewed();
    return renewed;
  }

 private:
  const Hooks hooks_;
};

bool has_kind(const Commit& change, std::string_view kind) {
  return std::ranges::any_of(change.entries, [&](const LogEntry& entry) { return entry.kind == kind; });
}

// Waits until nobody holds a valid lease: then a change without a lease is possible. This one changes nothing.
void wait_until_lease_is_over(SessionStore& store, const std::string& id) {
  while (!store.commit({.session_id = id})) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(SessionRunner, GoesOnWithALeaseThatExpiredIfNobodyElseTookTheSession) {
  const auto store = memory_store();
  const std::string id = new_session(*store);
  int expired = 0;
  const auto has_lease = std::make_shared<std::atomic<bool>>(true);
  const SessionRunner runner(
      Engine({.adapter = fake({{call("a", "check"), kRunTools}, {fake_text("Done"), kStop}}),
              .tools = {{.name = "check", .handler = [has_lease](const Json&) { return ok(has_lease->load()); }}}}),
      std::make_shared<Interposed>(store, Interposed::Hooks{.after_commit =
                                                                [&](const Commit& change) {
                                                                  if (!has_kind(change, "dispatched")) return;
                                                                  wait_until_lease_is_over(*store, id);
                                                                  *has_lease = false;
                                                                  ++expired;
                                                                },
                                                            .renewed = [has_lease] { *has_lease = true; }}),
      {.lease = std::chrono::milliseconds(300)});
  const Result<StoredTurn> turn = runner.start(id);
  ASSERT_TRUE(turn) << turn.error().message();
  EXPECT_EQ(answer_to(turn->session, "a")->text(), "true") << "a tool was started without a lease";
  EXPECT_EQ(expired, 1);
}

// Somebody else answers the question between the moment when this call looks at the session and its lease.
TEST(Epochs, AnAnswerWithoutOneAnswersNothingElse) {
  const Case test{"", {{call("a", "ask"), kRunTools}, {call("b", "ask"), kRunTools}, {fake_text("Thanks"), kStop}}};
  const auto store = memory_store();
  const auto seen = std::make_shared<Seen>();
  const Engine engine = engine_of(test, seen, OnInterrupted::fail);
  const SessionRunner other(engine, store);
  const std::string id = new_session(*store);
  ASSERT_TRUE(other.start(id));
  const SessionRunner runner(engine, std::make_shared<Interposed>(store, Interposed::Hooks{.before_acquire = [&] {
                                                                    ASSERT_TRUE(other.reply(id, "the first"));
                                                                  }}));
  const Result<StoredTurn> late = runner.reply(id, "also the first");
  ASSERT_FALSE(late);
  EXPECT_TRUE(late.error().is<StoreError>(StoreError::Reason::conflict)) << late.error().message();
  EXPECT_NE(late.error().message().find("changed or answered it"), std::string::npos) << late.error().message();
  const StoredSession stored = *store->load(id);
  EXPECT_EQ(stored.session.status, SessionStatus::awaiting_user);
  EXPECT_EQ(seen->model_calls[2], 0);
  EXPECT_EQ(count_facts(*store, id, "run_started"), 2U);
  // The lease is free again.
  EXPECT_TRUE(other.reply(id, "the second"));
}

TEST(SessionRunner, WaitsForALeaseWhoseAnswerWasLost) {
  const auto store = memory_store();
  const std::string id = new_session(*store);
  int acquired = 0;
  const auto lose_first = [&](Result<Lease> lease) -> Result<Lease> {
    if (acquired++ > 0) return lease;
    EXPECT_TRUE(lease);
    return std::unexpected(Error(StoreError{StoreError::Reason::unavailable}, "the connection was lost"));
  };
  const SessionRunner runner(Engine({.adapter = fake({{fake_text("Done"), kStop}})}),
                             std::make_shared<Interposed>(store, Interposed::Hooks{.acquired = lose_first}),
                             {.lease = std::chrono::milliseconds(100)});
  const Result<StoredTurn> turn = runner.start(id);
  ASSERT_TRUE(turn) << turn.error().message();
  EXPECT_GE(acquired, 2);
}

TEST(SessionOrder, IsTheSameAfterJson) {
  for (const Case& test : all_cases()) {
    SessionOrder order = test.order;
    order.epoch = 3;
    const Json json = session_order_to_json(order);
    const Result<SessionOrder> read = session_order_from_json(json);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(session_order_to_json(*read), json);
    EXPECT_EQ(read->epoch, 3);
  }
  const Result<SessionOrder> answer = session_order_from_json({{"answer", "yes"}, {"epoch", 2}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->message, user("yes"));
}

TEST(SessionOrder, NonsenseIsRefused) {
  for (const Json& json : {Json(nullptr), Json::object(), Json{{"start", false}}, Json{{"message", 1}},
                           Json{{"results", 1}}, Json{{"results", {1}}}, Json{{"results", {{{"tool_call_id", 1}}}}},
                           Json{{"decisions", {{{"tool_call_id", "a"}, {"decision", "maybe"}}}}},
                           Json{{"start", true}, {"epoch", "x"}}, Json{{"start", true}, {"continue", true}}}) {
    const Result<SessionOrder> order = session_order_from_json(json);
    ASSERT_FALSE(order) << json;
    EXPECT_TRUE(order.error().is<ValidationError>(ValidationError::Reason::invalid_request));
  }
}

}  // namespace
}  // namespace allm::session_runner_test
