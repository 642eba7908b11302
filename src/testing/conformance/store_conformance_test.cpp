// The suite finds broken stores: for nearly each check, a store that breaks its promise.
#include "allm/store_conformance.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace allm::store_conformance_test {
namespace {

using std::chrono::milliseconds;

// Passes every call on to another store; broken stores override one function.
class PassingStore : public Store {
 public:
  Result<StoredSession> create(NewSession session) override { return inner().create(std::move(session)); }
  Result<StoredSession> load(const std::string& id) override { return inner().load(id); }
  Result<SessionPage> list(const SessionQuery& query) override { return inner().list(query); }
  Status remove(const std::string& id) override { return inner().remove(id); }
  Result<Committed> commit(const Commit& change) override { return inner().commit(change); }
  Result<std::vector<LogEntry>> read_log(const std::string& id, std::int64_t after, std::size_t limit,
                                         std::string_view kind) override {
    return inner().read_log(id, after, limit, kind);
  }
  Result<bool> wait_for_log(const std::string& id, std::int64_t after, milliseconds timeout) override {
    return inner().wait_for_log(id, after, timeout);
  }
  Result<Lease> acquire(const std::string& id, milliseconds duration) override { return inner().acquire(id, duration); }
  Result<Lease> renew(const Lease& lease, milliseconds duration) override { return inner().renew(lease, duration); }
  Status release(const Lease& lease) override { return inner().release(lease); }
  Result<std::int64_t> submit(const NewJob& job) override { return inner().submit(job); }
  Result<std::optional<Job>> claim(const ClaimOptions& options) override { return inner().claim(options); }
  Result<bool> wait_for_job(milliseconds timeout) override { return inner().wait_for_job(timeout); }
  Result<QueueCounts> count_jobs() override { return inner().count_jobs(); }
  Result<StoredBudget> create_budget(const std::string& name, const BudgetTerms& terms) override {
    return inner().create_budget(name, terms);
  }
  Result<StoredBudget> load_budget(const std::string& name) override { return inner().load_budget(name); }
  Result<std::vector<StoredBudget>> list_budgets(const std::string& after, std::size_t limit) override {
    return inner().list_budgets(after, limit);
  }
  Result<StoredBudget> change_budget(const std::string& name, const BudgetTerms& terms) override {
    return inner().change_budget(name, terms);
  }
  Status remove_budget(const std::string& name) override { return inner().remove_budget(name); }
  Result<std::vector<StoredReservation>> list_reservations(const std::string& name, const ReservationQuery& query,
                                                           std::size_t limit) override {
    return inner().list_reservations(name, query, limit);
  }
  Result<ForgottenReservations> forget_reservations(const std::string& name, const ReservationQuery& query) override {
    return inner().forget_reservations(name, query);
  }
  Result<Reserved> reserve_in_budget(const std::string& name, const NewReservation& reservation) override {
    return inner().reserve_in_budget(name, reservation);
  }
  Status settle_in_budget(const std::string& name, ReservationId id, const Spend& actual) override {
    return inner().settle_in_budget(name, id, actual);
  }

 protected:
  Store& inner() { return *inner_; }

 private:
  std::shared_ptr<Store> inner_ = *open_store("memory:");
};

template <class Broken>
void expect_found(const std::string& check) {
  const auto store = std::make_shared<Broken>();
  const auto report = check_store([&]() -> Result<std::shared_ptr<Store>> { return store; },
                                  {.short_lease = milliseconds(20), .timeout = milliseconds(100), .only = {check}});
  const ConformanceCheck* found = report.find(check);
  ASSERT_NE(found, nullptr) << "there is no check " << check;
  EXPECT_EQ(found->outcome, ConformanceCheck::Outcome::failed) << check;
  EXPECT_FALSE(found->message.empty());
  EXPECT_FALSE(report.passed());
}

TEST(StoreConformance, AcceptsAStoreThatPassesCallsOn) {
  const auto store = std::make_shared<PassingStore>();
  const auto report = check_store([&]() -> Result<std::shared_ptr<Store>> { return store; });
  EXPECT_TRUE(report.passed()) << report.summary();
}

TEST(StoreConformance, AFactoryThatFailsIsReported) {
  const auto report = check_store([]() -> Result<std::shared_ptr<Store>> { return open_store("nowhere:"); });
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.checks.size(), 1U);
  EXPECT_FALSE(check_store([]() -> Result<std::shared_ptr<Store>> { return nullptr; }).passed());
}

TEST(StoreConformance, AQueueWithJobsIsReported) {
  const auto store = std::make_shared<PassingStore>();
  ASSERT_TRUE(store->create({.session = {.id = "s"}}) && store->submit({.session_id = "s"}));
  EXPECT_FALSE(check_store([&]() -> Result<std::shared_ptr<Store>> { return store; }).passed());
}

TEST(StoreConformance, FindsBrokenSessions) {
  struct ForgetsTenants : PassingStore {
    Result<StoredSession> create(NewSession session) override {
      auto made = inner().create({.session = session.session});
      if (made) made->tenant = session.tenant;
      return made;
    }
  };
  expect_found<ForgetsTenants>("another_handle_sees_the_session");
  struct ForgetsContexts : PassingStore {
    Result<StoredSession> load(const std::string& id) override {
      auto loaded = inner().load(id);
      if (loaded) loaded->session.context = Json::object();
      return loaded;
    }
  };
  expect_found<ForgetsContexts>("sessions_are_equal_after_load");
  struct CreatesAgain : PassingStore {
    Result<StoredSession> create(NewSession session) override {
      if (session.session.id) static_cast<void>(inner().remove(*session.session.id));
      return inner().create(std::move(session));
    }
  };
  expect_found<CreatesAgain>("an_existing_id_is_refused");
  struct IgnoresCase : PassingStore {
    Result<StoredSession> load(const std::string& id) override {
      std::string lower = id;
      std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      return inner().load(lower);
    }
  };
  expect_found<IgnoresCase>("odd_ids_work");
  struct CutsThreads : PassingStore {
    Result<StoredSession> load(const std::string& id) override {
      auto loaded = inner().load(id);
      if (loaded) loaded->session.thread.messages = loaded->session.thread.messages.first(100);
      return loaded;
    }
  };
  expect_found<CutsThreads>("large_sessions_are_kept");
  struct MakesMissing : PassingStore {
    Result<StoredSession> load(const std::string& id) override { return inner().load(id).value_or(StoredSession{}); }
  };
  expect_found<MakesMissing>("missing_sessions_are_not_found");
  struct KeepsRemoved : PassingStore {
    Status remove(const std::string&) override { return {}; }
  };
  expect_found<KeepsRemoved>("remove_removes_everything");
}

TEST(StoreConformance, FindsBrokenCommits) {
  struct Overwrites : PassingStore {
    Result<Committed> commit(const Commit& change) override {
      Commit any = change;
      any.expected_version.reset();
      return inner().commit(any);
    }
  };
  expect_found<Overwrites>("a_stale_writer_gets_conflict");
  expect_found<Overwrites>("one_of_many_writers_wins");
  struct CountsEntries : PassingStore {
    Result<Committed> commit(const Commit& change) override {
      Commit always = change;
      if (auto stored = inner().load(change.session_id); stored && !always.session) always.session = stored->session;
      return inner().commit(always);
    }
  };
  expect_found<CountsEntries>("versions_increase_by_one");
  struct LosesEntries : PassingStore {
    Result<Committed> commit(const Commit& change) override {
      Commit fewer = change;
      if (fewer.entries.size() > 1) fewer.entries.pop_back();
      return inner().commit(fewer);
    }
  };
  expect_found<LosesEntries>("log_numbers_have_no_gaps");
  expect_found<LosesEntries>("entries_of_many_writers_are_kept");
  struct ReadsAll : PassingStore {
    Result<std::vector<LogEntry>> read_log(const std::string& id, std::int64_t, std::size_t limit,
                                           std::string_view) override {
      return inner().read_log(id, 0, limit, "");
    }
  };
  expect_found<ReadsAll>("the_log_is_read_in_pages");
  expect_found<ReadsAll>("facts_and_events_are_told_apart");
  struct NeverNotices : PassingStore {
    Result<bool> wait_for_log(const std::string&, std::int64_t, milliseconds) override { return false; }
  };
  expect_found<NeverNotices>("wait_for_log_notices_other_handles");
}

TEST(StoreConformance, FindsBrokenLeases) {
  struct SharesLeases : PassingStore {
    Result<Lease> acquire(const std::string& id, milliseconds duration) override {
      auto lease = inner().acquire(id, duration);
      if (lease) last = *lease;
      return lease || last.session_id != id ? lease : Result<Lease>(last);
    }
    Lease last = {};
  };
  expect_found<SharesLeases>("a_lease_excludes_others");
  struct KeepsLeases : PassingStore {
    Status release(const Lease&) override { return {}; }
    Result<Committed> commit(const Commit& change) override {
      Commit kept = change;
      kept.release = false;
      return inner().commit(kept);
    }
  };
  expect_found<KeepsLeases>("release_ends_a_lease");
  expect_found<KeepsLeases>("a_commit_can_release");
  struct DoesNotRenew : PassingStore {
    Result<Lease> renew(const Lease& lease, milliseconds duration) override {
      Lease renewed = lease;
      renewed.expires_at += duration;
      return renewed;
    }
  };
  expect_found<DoesNotRenew>("renew_extends_a_lease");
  expect_found<DoesNotRenew>("a_takeover_fences_the_old_holder");
  // A commit revives an expired lease.
  struct RevivesLeases : PassingStore {
    Result<Committed> commit(const Commit& change) override {
      if (change.fence) {
        static_cast<void>(
            inner().renew({.session_id = change.session_id, .fence = *change.fence}, milliseconds(1'000)));
      }
      return inner().commit(change);
    }
  };
  expect_found<RevivesLeases>("an_expired_lease_is_fenced");
}

TEST(StoreConformance, FindsBrokenLists) {
  struct Reverses : PassingStore {
    Result<SessionPage> list(const SessionQuery& query) override {
      auto page = inner().list(query);
      if (page) std::ranges::reverse(page->sessions);
      return page;
    }
  };
  expect_found<Reverses>("the_latest_change_is_listed_first");
  struct ForgetsTitles : PassingStore {
    Result<SessionPage> list(const SessionQuery& query) override {
      auto page = inner().list(query);
      for (SessionSummary& summary : page->sessions) summary.title.clear();
      return page;
    }
  };
  expect_found<ForgetsTitles>("summaries_describe_the_session");
  struct OnePage : PassingStore {
    Result<SessionPage> list(const SessionQuery& query) override {
      auto page = inner().list(query);
      if (page) page->next.clear();
      return page;
    }
  };
  expect_found<OnePage>("pages_are_complete");
  // Pages are numbers of rows.
  struct CountsRows : PassingStore {
    Result<SessionPage> list(const SessionQuery& query) override {
      SessionQuery all = query;
      all.after.clear();
      all.limit = 1'000;
      auto page = inner().list(all);
      const std::size_t begin = query.after.empty() ? 0 : std::stoul(query.after);
      std::vector<SessionSummary>& rows = page->sessions;
      const std::size_t end = std::min(begin + query.limit, rows.size());
      if (end < rows.size()) page->next = std::to_string(end);
      rows = {rows.begin() + static_cast<std::ptrdiff_t>(std::min(begin, end)),
              rows.begin() + static_cast<std::ptrdiff_t>(end)};
      return page;
    }
  };
  expect_found<CountsRows>("paging_survives_changes");
  struct IgnoresStatus : PassingStore {
    Result<SessionPage> list(const SessionQuery& query) override {
      SessionQuery any = query;
      any.status.reset();
      return inner().list(any);
    }
  };
  expect_found<IgnoresStatus>("lists_are_filtered");
  struct FirstWord : PassingStore {
    Result<SessionPage> list(const SessionQuery& query) override {
      SessionQuery first = query;
      first.text = first.text.substr(0, first.text.find(' '));
      return inner().list(first);
    }
  };
  expect_found<FirstWord>("search_finds_words");
  expect_found<FirstWord>("search_words_are_not_operators");
}

TEST(StoreConformance, FindsBrokenQueues) {
  struct ForgetsOrders : PassingStore {
    Result<std::int64_t> submit(const NewJob& job) override { return inner().submit({.session_id = job.session_id}); }
  };
  expect_found<ForgetsOrders>("a_job_carries_its_order");
  expect_found<ForgetsOrders>("a_higher_priority_comes_first");
  expect_found<ForgetsOrders>("delayed_jobs_wait");
  struct NeverFinishes : PassingStore {
    Result<Committed> commit(const Commit& change) override {
      Commit unfinished = change;
      unfinished.finished_job.reset();
      return inner().commit(unfinished);
    }
  };
  expect_found<NeverFinishes>("commits_finish_jobs");
  expect_found<NeverFinishes>("a_session_runs_one_job_at_a_time");
  expect_found<NeverFinishes>("each_job_is_claimed_once");
  struct ForgetsAttempts : PassingStore {
    Result<std::optional<Job>> claim(const ClaimOptions& options) override {
      auto job = inner().claim({.lease = options.lease});
      if (job && *job) (*job)->attempt = 1;
      return job;
    }
  };
  expect_found<ForgetsAttempts>("a_lost_job_is_claimed_again");
  expect_found<ForgetsAttempts>("the_limit_of_a_tenant_holds");
  struct IgnoresNewJobs : PassingStore {
    Result<bool> wait_for_job(milliseconds) override { return false; }
  };
  expect_found<IgnoresNewJobs>("wait_for_job_notices_other_handles");
  struct KeepsJobs : PassingStore {
    Status release(const Lease&) override { return {}; }
  };
  expect_found<KeepsJobs>("a_released_job_is_ready_again");
  expect_found<KeepsJobs>("a_leased_session_runs_no_job");
  // All jobs are of one tenant.
  struct OneTenant : PassingStore {
    Result<StoredSession> create(NewSession session) override {
      auto made = inner().create({.session = session.session, .tenant = "all"});
      if (made) tenants[made->session.id.value_or("")] = session.tenant;
      return made;
    }
    Result<std::optional<Job>> claim(const ClaimOptions& options) override {
      auto job = inner().claim(options);
      if (job && *job) (*job)->tenant = tenants[(*job)->session_id];
      return job;
    }
    std::map<std::string, std::string> tenants = {};
  };
  expect_found<OneTenant>("the_tenant_with_the_fewest_running_jobs_comes_next");
  expect_found<OneTenant>("among_equals_the_longest_unserved_tenant_comes_next");
  expect_found<OneTenant>("priorities_do_not_starve_other_tenants");
}

TEST(StoreConformance, FindsBrokenBudgets) {
  struct ForgetsStrictness : PassingStore {
    Result<StoredBudget> create_budget(const std::string& name, const BudgetTerms& terms) override {
      return inner().create_budget(name, {.limit = terms.limit});
    }
  };
  expect_found<ForgetsStrictness>("budgets_are_kept_with_their_limits");
  expect_found<ForgetsStrictness>("what_does_not_fit_is_refused");
  struct MakesMissing : PassingStore {
    Result<StoredBudget> load_budget(const std::string& name) override {
      return inner().load_budget(name).value_or(StoredBudget{});
    }
  };
  expect_found<MakesMissing>("missing_budgets_are_not_found");
  struct IgnoresCase : PassingStore {
    static std::string lower(std::string name) {
      std::ranges::transform(name, name.begin(),
                             [](unsigned char c) { return c == 0x89 ? '\xA9' : static_cast<char>(c); });
      return name;
    }
    Result<StoredBudget> load_budget(const std::string& name) override { return inner().load_budget(lower(name)); }
  };
  expect_found<IgnoresCase>("budget_names_are_exact");
  struct ListsAll : PassingStore {
    Result<std::vector<StoredBudget>> list_budgets(const std::string&, std::size_t limit) override {
      return inner().list_budgets({}, limit);
    }
  };
  expect_found<ListsAll>("budgets_are_listed_by_name");
  // A second settlement counts again.
  struct SettlesTwice : PassingStore {
    Status settle_in_budget(const std::string& name, ReservationId id, const Spend& actual) override {
      if (const Status settled = inner().settle_in_budget(name, id, actual); settled) return settled;
      static_cast<void>(inner().reserve_in_budget(name, {.id = id, .amount = {.tokens = 0, .nanos = 0}}));
      return inner().settle_in_budget(name, id, actual);
    }
  };
  expect_found<SettlesTwice>("a_reservation_counts_until_it_is_settled");
  expect_found<SettlesTwice>("forgotten_reservations_are_given_back");
  expect_found<SettlesTwice>("a_removed_budget_takes_its_reservations");
  struct UnknownIsNothing : PassingStore {
    Status settle_in_budget(const std::string& name, ReservationId id, const Spend& actual) override {
      return inner().settle_in_budget(name, id,
                                      {.tokens = actual.tokens.value_or(0), .nanos = actual.nanos.value_or(0)});
    }
  };
  expect_found<UnknownIsNothing>("an_unknown_usage_counts_as_reserved");
  expect_found<UnknownIsNothing>("sums_of_budgets_do_not_overflow");
  // An id that the store knows already is another reservation.
  struct CountsAgain : PassingStore {
    Result<Reserved> reserve_in_budget(const std::string& name, const NewReservation& reservation) override {
      NewReservation other = reservation;
      other.id = ++last;
      const auto made = inner().reserve_in_budget(name, other);
      if (!made || std::holds_alternative<BudgetRefusal>(*made)) return made;
      return reservation.id;
    }
    ReservationId last = 0;
  };
  expect_found<CountsAgain>("a_repeated_reservation_counts_once");
  struct NeverChanges : PassingStore {
    Result<StoredBudget> change_budget(const std::string& name, const BudgetTerms&) override {
      return inner().load_budget(name);
    }
  };
  expect_found<NeverChanges>("limits_of_budgets_can_be_changed");
  struct IgnoresQueries : PassingStore {
    Result<std::vector<StoredReservation>> list_reservations(const std::string& name, const ReservationQuery&,
                                                             std::size_t limit) override {
      return inner().list_reservations(name, {}, limit);
    }
  };
  expect_found<IgnoresQueries>("reservations_are_listed");
  // Looks at what is left and reserves afterwards, without a transaction.
  struct Looks : PassingStore {
    Result<Reserved> reserve_in_budget(const std::string& name, const NewReservation& reservation) override {
      const auto budget = inner().load_budget(name);
      if (!budget) return std::unexpected(budget.error());
      std::this_thread::sleep_for(milliseconds(1));
      if (budget->left().tokens < reservation.amount.tokens) return BudgetRefusal{};
      static_cast<void>(inner().change_budget(name, {}));
      auto made = inner().reserve_in_budget(name, reservation);
      static_cast<void>(inner().change_budget(name, budget->terms));
      return made;
    }
  };
  expect_found<Looks>("many_processes_cannot_exceed_a_budget");
}

}  // namespace
}  // namespace allm::store_conformance_test
