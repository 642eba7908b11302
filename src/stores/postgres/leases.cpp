// Leases.
#include "stores/postgres/ids.hpp"
#include "stores/postgres/postgres_store.hpp"

namespace allm {

// Not repeated when the connection is lost: a lease that was granted without an answer expires by itself.
Result<Lease> PostgresStore::acquire(const std::string& id, std::chrono::milliseconds duration) {
  if (!postgres::is_session_id(id)) return std::unexpected(no_such_session(id));
  const auto rows = pool_.run_once("SELECT * FROM allm.acquire_lease($1, $2)",
                                   postgres::Arguments().text(std::string_view(id)).duration(duration));
  if (!rows) return std::unexpected(rows.error());
  if (rows->text(0, 0) != "done") return std::unexpected(postgres::outcome_error(rows->text(0, 0), id));
  return Lease{.session_id = id, .fence = rows->number(0, 1), .expires_at = rows->time(0, 2)};
}

Result<Lease> PostgresStore::renew(const Lease& lease, std::chrono::milliseconds duration) {
  const std::string& id = lease.session_id;
  if (!postgres::is_session_id(id)) return std::unexpected(no_such_session(id));
  const auto rows =
      pool_.run_repeatable("SELECT * FROM allm.renew_lease($1, $2, $3)",
                           postgres::Arguments().text(std::string_view(id)).number(lease.fence).duration(duration));
  if (!rows) return std::unexpected(rows.error());
  if (rows->text(0, 0) != "done") return std::unexpected(postgres::outcome_error(rows->text(0, 0), id));
  return Lease{.session_id = id, .fence = lease.fence, .expires_at = rows->time(0, 1)};
}

Status PostgresStore::release(const Lease& lease) {
  if (!postgres::is_session_id(lease.session_id)) return {};
  const auto rows =
      pool_.run_repeatable("SELECT allm.release_lease($1, $2)",
                           postgres::Arguments().text(std::string_view(lease.session_id)).number(lease.fence));
  if (!rows) return std::unexpected(rows.error());
  return {};
}

}  // namespace allm
