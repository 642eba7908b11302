// The program that is killed.
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <sys/ptrace.h>

#include "allm/session_runner.hpp"

#include "tests/kill/agent.hpp"
#include "tests/kill/effects.hpp"
#include "tests/kill/killing_store.hpp"
#include "tests/kill/life.hpp"

namespace allm::kill_matrix {
namespace {

int exit_status(const Error& error) {
  const auto* store = error.get_if<StoreError>();
  using enum StoreError::Reason;
  const bool is_temporary =
      store != nullptr && (store->reason == fenced || store->reason == leased || store->reason == unavailable);
  if (is_temporary) return kTryAgain;
  std::fprintf(stderr, "the program failed: %s\n", error.message().c_str());
  return kFailed;
}

void note_told(const Life& life, const Event& event) {
  Effect effect{.what = "told", .life = life.number};
  if (const auto* message = event.get_if<MessageCompleted>()) {
    effect.key = "response";
    effect.subject = message->message.text();
  } else if (const auto* call = event.get_if<ToolExecutionCompleted>()) {
    effect.key = "finished";
    effect.subject = call->id;
  } else {
    return;
  }
  note_effect(life.effects, effect);
}

Result<StoredTurn> run_once(const SessionRunner& runner, const StoredSession& stored, const Life& life) {
  StoredStream stream = has_open_run(stored.session) ? runner.stream_resume(life.session)
                                                     : runner.stream(life.session, next_order(stored));
  while (const Poll event = stream.next()) note_told(life, event.event());
  Result<StoredTurn> turn = stream.finish();
  if (turn) {
    note_effect(life.effects, {.what = "turn", .life = life.number, .subject = std::to_string(turn->version)});
  }
  return turn;
}

}  // namespace

int live(const Life& life) {
  if (life.death.kind == DeathKind::at_system_call) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return kUntraceable;
    raise(SIGSTOP);  // the parent goes on from here
  }
  const Result<std::shared_ptr<Store>> opened = open_store(life.store);
  if (!opened) return exit_status(opened.error());
  const auto store = std::make_shared<KillingStore>(*opened, life);
  const SessionRunner runner(make_agent(life), store, {.lease = kLease});
  std::puts("ready");
  std::fflush(stdout);
  while (true) {
    const Result<StoredSession> stored = store->load(life.session);
    if (!stored) return exit_status(stored.error());
    if (!has_open_run(stored->session) && stored->session.status == SessionStatus::completed) break;
    if (const Result<StoredTurn> turn = run_once(runner, *stored, life); !turn) return exit_status(turn.error());
  }
  note_effect(life.effects, {.what = "commits", .life = life.number, .subject = std::to_string(store->commits())});
  return kComplete;
}

}  // namespace allm::kill_matrix
