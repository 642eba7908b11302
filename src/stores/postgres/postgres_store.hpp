// A store in a PostgreSQL database, for many processes on many machines. docs/stores.md describes its schema and how to
// operate it.
//
// Every function is one statement: one round trip to the server, and one transaction. When the connection is lost,
// calls that can be repeated without harm (load, list, read_log, renew, release, count_jobs, commits with entries, the
// waits, all of budgets but create, remove and forget) are repeated on a new connection, for as long as the URL says.
// The others fail with `unavailable`: it is not known whether they took effect.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allm/work_queue.hpp"

#include "stores/postgres/listener.hpp"
#include "stores/postgres/pool.hpp"

namespace allm {

// `url` is a libpq URL, see stores/postgres/address.hpp. Fails as open_store does. Messages never contain the password.
Result<std::shared_ptr<Store>> open_postgres_store(const std::string& url);

class PostgresStore : public Store {
 public:
  // `first` is a connection to `address`; the database has the current schema.
  PostgresStore(const postgres::Address& address, postgres::Connection first)
      : pool_(address, std::move(first)), listener_(address) {}

  Result<StoredSession> create(NewSession session) override;
  Result<StoredSession> load(const std::string& id) override;
  Result<SessionPage> list(const SessionQuery& query) override;
  Status remove(const std::string& id) override;
  Result<Committed> commit(const Commit& change) override;
  Result<std::vector<LogEntry>> read_log(const std::string& id, std::int64_t after, std::size_t limit,
                                         std::string_view kind) override;
  Result<bool> wait_for_log(const std::string& id, std::int64_t after, std::chrono::milliseconds timeout) override;
  Result<Lease> acquire(const std::string& id, std::chrono::milliseconds duration) override;
  Result<Lease> renew(const Lease& lease, std::chrono::milliseconds duration) override;
  Status release(const Lease& lease) override;

  Result<std::int64_t> submit(const NewJob& job) override;
  Result<std::optional<Job>> claim(const ClaimOptions& options) override;
  Result<bool> wait_for_job(std::chrono::milliseconds timeout) override;
  Result<QueueCounts> count_jobs() override;

  Result<StoredBudget> create_budget(const std::string& name, const BudgetTerms& terms) override;
  Result<StoredBudget> load_budget(const std::string& name) override;
  Result<std::vector<StoredBudget>> list_budgets(const std::string& after, std::size_t limit) override;
  Result<StoredBudget> change_budget(const std::string& name, const BudgetTerms& terms) override;
  Status remove_budget(const std::string& name) override;
  Result<std::vector<StoredReservation>> list_reservations(const std::string& name, const ReservationQuery& query,
                                                           std::size_t limit) override;
  Result<ForgottenReservations> forget_reservations(const std::string& name, const ReservationQuery& query) override;
  Result<Reserved> reserve_in_budget(const std::string& name, const NewReservation& reservation) override;
  Status settle_in_budget(const std::string& name, ReservationId id, const Spend& actual) override;

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  postgres::Pool pool_;
  postgres::Listener listener_;
  // Listener::job_signals() before the last claim that found nothing: a wait that follows need not look at once.
  std::atomic<std::uint64_t> found_nothing_at_ = kNever;
};

}  // namespace allm
