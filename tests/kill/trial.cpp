#include "tests/kill/trial.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

#include "allm/session_runner.hpp"

#include "tests/kill/effects.hpp"
#include "tests/kill/records.hpp"

namespace allm::kill_matrix {
namespace {

constexpr int kMostLives = 200;

std::int64_t last_fence(const std::vector<Effect>& effects) {
  std::int64_t fence = 0;
  for (const Effect& effect : effects) {
    if (effect.what == "lease") fence = std::stoll(effect.subject);
  }
  return fence;
}

// A program that was killed between its lease and the line about it leaves a lease that nobody else can release.
void wait_for_lease(SessionStore& store, const std::string& id) {
  Result<Lease> lease = store.acquire(id, kLease);
  for (; !lease; lease = store.acquire(id, kLease)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  [[maybe_unused]] const Status released = store.release(*lease);
}

void count_death(Trial& trial, const Death& death, const LifeEnd& end) {
  const bool is_call = death.kind == DeathKind::at_system_call;
  ++trial.deaths[is_call ? 1 : death.kind == DeathKind::at_moment ? 2 : 0];
  if (end.call >= 0) trial.calls.insert(end.call);
  constexpr std::array<const char*, 5> kPlaces = {"", "before commit ", "after commit ", "at entry or exit ",
                                                  "moment "};
  trial.course += (trial.course.empty() ? "killed " : ", ") +
                  std::string(kPlaces[static_cast<std::size_t>(death.kind)]) + std::to_string(death.at);
}

// The life has ended and the session is not complete.
Status take_over(Trial& trial, History& history, SessionStore& store, const std::string& effects, bool was_killed) {
  // Without the lease, what a killed program has sent to a database server can change nothing any more.
  const std::int64_t fence = last_fence(read_effects(effects));
  if (Status released = store.release({.session_id = trial.id, .fence = fence}); !released) return released;
  if (!was_killed) wait_for_lease(store, trial.id);
  Result<Records> records = read_records(store, trial.id);
  if (!records) return std::unexpected(records.error());
  if (was_killed && has_open_run(records->stored.session)) ++trial.resumes;
  history.after_lives.push_back(*std::move(records));
  return {};
}

}  // namespace

std::shared_ptr<Store> StoreAccess::open() {
  if (kept_) return kept_;
  std::shared_ptr<Store> store = open_store(url_).value();
  if (keeps_open_) kept_ = store;
  return store;
}

Trial run_trial(StoreAccess& access, const std::string& lane, const std::string& effects,
                const std::function<Death(int)>& death_of, const Session* undisturbed) {
  Trial trial;
  trial.id = access.open()->create({.session = {.thread = {user("Go.")}}}).value().session.id.value();
  History history;
  Life life{.store = access.url(), .session = trial.id, .effects = effects, .lane = lane};
  for (;; ++life.number) {
    life.death = death_of(life.number);
    const LifeEnd end = trial.last = live_once(life);
    if (end.ended_with(kComplete)) break;
    if (end.was_killed()) count_death(trial, life.death, end);
    if ((!end.was_killed() && !end.ended_with(kTryAgain)) || life.number == kMostLives) {
      trial.error = "the program ended with status " + std::to_string(end.status);
      return trial;
    }
    const Status taken = take_over(trial, history, *access.open(), effects, end.was_killed());
    if (!taken) {
      trial.error = taken.error().message();
      return trial;
    }
  }
  Result<Records> records = read_records(*access.open(), trial.id);
  if (!records) {
    trial.error = records.error().message();
    return trial;
  }
  trial.session = records->stored.session;
  history.at_end = *std::move(records);
  history.effects = read_effects(effects);
  for (const Effect& effect : history.effects) {
    if (effect.what == "killed") trial.facts.insert(effect.key + " " + effect.subject);
  }
  if (undisturbed != nullptr) trial.verdict = judge(history, *undisturbed);
  return trial;
}

Undisturbed run_undisturbed(StoreAccess& access, const std::string& lane, const std::string& effects, bool traces) {
  const Trial trial = run_trial(access, lane, effects, [](int) { return Death(); }, nullptr);
  if (!trial.session) throw std::runtime_error("a session did not become complete: " + trial.error);
  Undisturbed undisturbed{.session = *trial.session, .microseconds = trial.last.after_opening.count()};
  const std::vector<Effect> lines = read_effects(effects);
  for (const Effect& effect : lines) {
    if (effect.what == "commits") undisturbed.commits = std::stoll(effect.subject);
  }
  if (!traces) return undisturbed;
  const Death never{DeathKind::at_system_call, std::numeric_limits<std::int64_t>::max()};
  const Trial traced = run_trial(access, lane, effects + ".traced", [&](int) { return never; }, nullptr);
  if (traced.last.ended_with(kUntraceable)) return undisturbed;
  if (!traced.session) throw std::runtime_error("a traced session did not become complete: " + traced.error);
  undisturbed.stops = traced.last.stops;
  return undisturbed;
}

}  // namespace allm::kill_matrix
