#include "stores/sqlite/sqlite_store.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "allm/serialize.hpp"

#include "engine/request_id.hpp"
#include "stores/sqlite/budgets.hpp"
#include "stores/sqlite/changes.hpp"
#include "stores/sqlite/clock.hpp"
#include "stores/sqlite/commit.hpp"
#include "stores/sqlite/errors.hpp"
#include "stores/sqlite/file.hpp"
#include "stores/sqlite/leases.hpp"
#include "stores/sqlite/list.hpp"
#include "stores/sqlite/log.hpp"
#include "stores/sqlite/pool.hpp"
#include "stores/sqlite/queue.hpp"
#include "stores/sqlite/schema.hpp"
#include "stores/sqlite/sessions.hpp"

namespace allm {
namespace {

using namespace sqlite;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

steady_clock::time_point end_of(milliseconds timeout) {
  return steady_clock::now() + std::clamp<milliseconds>(timeout, milliseconds(0), std::chrono::hours(24 * 366));
}

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(FileOptions options) : shared_(std::make_unique<Shared>(std::move(options))) {}
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;
  ~SqliteStore() override {
    // In a forked child, mutexes may be locked by threads that do not exist there. The connections are closed.
    if (pool().is_of_parent_process()) [[maybe_unused]]
      const Shared* const left_alone = shared_.release();
  }

  Status open() {
    return read([](Connection& connection) { return migrate(connection); });
  }

  Result<StoredSession> create(NewSession session) override;
  Result<StoredSession> load(const std::string& id) override {
    return read([&](Connection& connection) { return load_session(connection, id); });
  }
  Result<SessionPage> list(const SessionQuery& query) override {
    return read([&](Connection& connection) { return list_sessions(connection, query); });
  }
  Status remove(const std::string& id) override {
    return write([&](Connection& connection) { return remove_session(connection, id); });
  }

  Result<Committed> commit(const Commit& change) override;

  Result<std::vector<LogEntry>> read_log(const std::string& id, std::int64_t after, std::size_t limit,
                                         std::string_view kind) override {
    return read([&](Connection& connection) { return sqlite::read_log(connection, id, after, limit, kind); });
  }
  Result<bool> wait_for_log(const std::string& id, std::int64_t after, milliseconds timeout) override;

  Result<Lease> acquire(const std::string& id, milliseconds duration) override {
    return write([&](Connection& connection) { return acquire_lease(connection, id, duration); });
  }
  Result<Lease> renew(const Lease& lease, milliseconds duration) override {
    return write([&](Connection& connection) { return renew_lease(connection, lease, duration); });
  }
  Status release(const Lease& lease) override {
    return write([&](Connection& connection) { return release_lease(connection, lease); });
  }

  Result<std::int64_t> submit(const NewJob& job) override;
  Result<std::optional<Job>> claim(const ClaimOptions& options) override;
  Result<bool> wait_for_job(milliseconds timeout) override;
  Result<QueueCounts> count_jobs() override {
    return read([](Connection& connection) { return sqlite::count_jobs(connection); });
  }

  Result<StoredBudget> create_budget(const std::string& name, const BudgetTerms& terms) override {
    return write_budget([&](Connection& connection) { return sqlite::create_budget(connection, name, terms); });
  }
  Result<StoredBudget> load_budget(const std::string& name) override {
    return read([&](Connection& connection) { return sqlite::load_budget(connection, name); });
  }
  Result<std::vector<StoredBudget>> list_budgets(const std::string& after, std::size_t limit) override {
    return read([&](Connection& connection) { return sqlite::list_budgets(connection, after, limit); });
  }
  Result<StoredBudget> change_budget(const std::string& name, const BudgetTerms& terms) override {
    return write_budget([&](Connection& connection) { return sqlite::change_budget(connection, name, terms); });
  }
  Status remove_budget(const std::string& name) override {
    return write_budget([&](Connection& connection) { return sqlite::remove_budget(connection, name); });
  }
  Result<std::vector<StoredReservation>> list_reservations(const std::string& name, const ReservationQuery& query,
                                                           std::size_t limit) override {
    return read([&](Connection& connection) { return sqlite::list_reservations(connection, name, query, limit); });
  }
  Result<ForgottenReservations> forget_reservations(const std::string& name, const ReservationQuery& query) override {
    return write_budget([&](Connection& connection) { return sqlite::forget_reservations(connection, name, query); });
  }
  Result<Reserved> reserve_in_budget(const std::string& name, const NewReservation& reservation) override {
    return write_budget([&](Connection& connection) { return reserve(connection, name, reservation); });
  }
  Status settle_in_budget(const std::string& name, ReservationId id, const Spend& actual) override {
    return write_budget([&](Connection& connection) { return settle(connection, name, id, actual); });
  }

 private:
  struct EmptyClaim {
    std::uint64_t changes = 0;  // made before it
    std::int64_t at = 0;
  };
  struct Shared {
    explicit Shared(FileOptions options) : pool(std::move(options)), changes(pool) {}
    Pool pool;
    Changes changes;
    std::mutex mutex;
    // The last claim with a limit that found nothing: jobs may be ready whose tenants are at their limits.
    std::optional<EmptyClaim> empty_claim;
  };

  Pool& pool() const { return shared_->pool; }
  Changes& changes() const { return shared_->changes; }

  Status check_process() const;
  template <class Body>
  auto read(Body body) -> decltype(body(std::declval<Connection&>()));
  // Also tells the threads that wait.
  template <class Body>
  auto write(Body body) -> decltype(body(std::declval<Connection&>()));
  // Nobody waits for changes of budgets.
  template <class Body>
  auto write_budget(Body body) -> decltype(body(std::declval<Connection&>()));
  // The time at which a job may be ready, as far as it is known after that many changes.
  Result<std::optional<std::int64_t>> ready_time(std::uint64_t changes);

  std::unique_ptr<Shared> shared_;
};

Status SqliteStore::check_process() const {
  if (!pool().is_of_parent_process()) return {};
  return std::unexpected(
      Error(StoreError{.reason = StoreError::Reason::unavailable},
            "this process was forked from the one that opened the session store; open the store again in it"));
}

template <class Body>
auto SqliteStore::read(Body body) -> decltype(body(std::declval<Connection&>())) {
  if (Status checked = check_process(); !checked) return std::unexpected(checked.error());
  return pool().read(std::move(body));
}

template <class Body>
auto SqliteStore::write(Body body) -> decltype(body(std::declval<Connection&>())) {
  if (Status checked = check_process(); !checked) return std::unexpected(checked.error());
  auto result = pool().write(std::move(body));
  if (result) changes().announce();
  return result;
}

template <class Body>
auto SqliteStore::write_budget(Body body) -> decltype(body(std::declval<Connection&>())) {
  if (Status checked = check_process(); !checked) return std::unexpected(checked.error());
  return pool().write(std::move(body));
}

Result<StoredSession> SqliteStore::create(NewSession session) {
  if (session.session.id.value_or("").empty()) session.session.id = make_request_id();
  const Result<std::string> state = to_json(session.session);
  if (!state) return std::unexpected(state.error());
  return write([&](Connection& connection) { return create_session(connection, std::move(session), *state); });
}

Result<Committed> SqliteStore::commit(const Commit& change) {
  const Result<PreparedCommit> prepared = prepare_commit(change);
  if (!prepared) return std::unexpected(prepared.error());
  return write([&](Connection& connection) { return apply_commit(connection, *prepared); });
}

Result<bool> SqliteStore::wait_for_log(const std::string& id, std::int64_t after, milliseconds timeout) {
  const auto until = end_of(timeout);
  while (true) {
    if (Status checked = check_process(); !checked) return std::unexpected(checked.error());
    const Result<std::uint64_t> seen = changes().count();
    if (!seen) return std::unexpected(seen.error());
    const Result<bool> longer = read([&](Connection& connection) { return log_is_longer(connection, id, after); });
    if (!longer || *longer || steady_clock::now() >= until) return longer;
    if (Status waited = changes().wait(*seen, until); !waited) return std::unexpected(waited.error());
  }
}

Result<std::int64_t> SqliteStore::submit(const NewJob& job) {
  const Result<std::string> order = write_json(job.order);
  if (!order) return std::unexpected(order.error());
  return write([&](Connection& connection) { return submit_job(connection, job, *order); });
}

Result<std::optional<Job>> SqliteStore::claim(const ClaimOptions& options) {
  if (Status checked = check_process(); !checked) return std::unexpected(checked.error());
  const Result<std::uint64_t> seen = changes().count();
  if (!seen) return std::unexpected(seen.error());
  const std::int64_t at = now_ms();
  Result<std::optional<Job>> job = pool().write([&](Connection& connection) { return claim_job(connection, options); });
  if (!job) return job;
  if (*job) {
    changes().announce();
  } else if (options.max_per_tenant) {
    const std::lock_guard lock(shared_->mutex);
    shared_->empty_claim = EmptyClaim{.changes = *seen, .at = at};
  }
  return job;
}

Result<std::optional<std::int64_t>> SqliteStore::ready_time(std::uint64_t changes) {
  std::optional<EmptyClaim> empty;
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->empty_claim && shared_->empty_claim->changes == changes) empty = shared_->empty_claim;
  }
  return read([&empty](Connection& connection) {
    return empty ? next_time_after(connection, empty->at) : next_ready_time(connection);
  });
}

Result<bool> SqliteStore::wait_for_job(milliseconds timeout) {
  const auto until = end_of(timeout);
  while (true) {
    if (Status checked = check_process(); !checked) return std::unexpected(checked.error());
    const Result<std::uint64_t> seen = changes().count();
    if (!seen) return std::unexpected(seen.error());
    const Result<std::optional<std::int64_t>> ready = ready_time(*seen);
    if (!ready) return std::unexpected(ready.error());
    const std::int64_t now = now_ms();
    if (*ready && **ready <= now) return true;
    if (steady_clock::now() >= until) return false;
    const auto soon = *ready ? end_of(milliseconds(**ready - now)) : until;
    if (Status waited = changes().wait(*seen, std::min(soon, until)); !waited) return std::unexpected(waited.error());
  }
}

}  // namespace

Result<std::shared_ptr<Store>> open_sqlite_store(const SqliteOptions& options) {
  Result<std::string> path = prepare_file(options.path);
  if (!path) return std::unexpected(path.error());
  // Shared by the runners and workers of a program.
  auto store = std::make_shared<SqliteStore>(
      FileOptions{.path = *std::move(path), .busy_timeout = options.busy_timeout, .vfs = options.vfs});
  if (Status opened = store->open(); !opened) return std::unexpected(opened.error());
  return store;
}

}  // namespace allm
