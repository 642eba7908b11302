#include "stores/sqlite/queue.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "stores/sqlite/clock.hpp"
#include "stores/sqlite/errors.hpp"
#include "stores/sqlite/leases.hpp"
#include "stores/sqlite/sessions.hpp"

namespace allm::sqlite {
namespace {

// Tenants with jobs and fewer than ?2 running ones, in the order in which they are served.
constexpr std::string_view kTenants =
    "SELECT name FROM ("
    "  SELECT t.name, t.served, ("
    "    SELECT count(*) FROM jobs j JOIN sessions s ON s.key = j.session"
    "    WHERE j.tenant = t.name AND j.fence IS NOT NULL AND j.fence = s.fence AND s.lease_until > ?1) AS running"
    "  FROM tenants t WHERE EXISTS (SELECT 1 FROM jobs j WHERE j.tenant = t.name))"
    "WHERE running < ?2 ORDER BY running, served, name";

// The next job of the tenant ?2. An order that somebody edited by hand into something else than JSON is left where it
// is, so that it does not stop the queue.
constexpr std::string_view kNextJob =
    "SELECT j.id, s.id, j.priority, j.attempts, j.job_order FROM jobs j JOIN sessions s ON s.key = j.session "
    "WHERE j.tenant = ?2 AND j.not_before <= ?1 AND (s.lease_until IS NULL OR s.lease_until <= ?1) "
    "AND NOT EXISTS (SELECT 1 FROM jobs e WHERE e.session = j.session AND e.id < j.id) AND json_valid(j.job_order) "
    "ORDER BY j.priority DESC, j.id LIMIT 1";

constexpr std::string_view kCounts =
    "SELECT coalesce(sum(running), 0), coalesce(sum(NOT running AND ready), 0), count(*) FROM ("
    "  SELECT coalesce(j.fence = s.fence AND s.lease_until > ?1, 0) AS running,"
    "    j.not_before <= ?1 AND coalesce(s.lease_until, 0) <= ?1"
    "      AND NOT EXISTS (SELECT 1 FROM jobs e WHERE e.session = j.session AND e.id < j.id) AS ready"
    "  FROM jobs j JOIN sessions s ON s.key = j.session)";

constexpr std::string_view kNextReady =
    "SELECT min(max(j.not_before, coalesce(s.lease_until, 0))) FROM jobs j JOIN sessions s ON s.key = j.session "
    "WHERE json_valid(j.job_order) AND NOT EXISTS (SELECT 1 FROM jobs e WHERE e.session = j.session AND e.id < j.id)";

constexpr std::string_view kNextTime =
    "SELECT min(time) FROM (SELECT not_before AS time FROM jobs UNION ALL "
    "SELECT s.lease_until FROM jobs j JOIN sessions s ON s.key = j.session) WHERE time > ?";

struct JobRow {
  Job job = {};
  std::string order = {};
};

Result<std::vector<std::string>> tenants_to_serve(Connection& connection, const ClaimOptions& options,
                                                  std::int64_t now) {
  constexpr std::size_t kNoLimit = std::numeric_limits<std::int64_t>::max();
  const auto most = static_cast<std::int64_t>(std::min(options.max_per_tenant.value_or(kNoLimit), kNoLimit));
  Statement query = connection.run(kTenants, now, most);
  std::vector<std::string> names;
  while (true) {
    const Result<bool> row = query.step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return names;
    names.push_back(query.text(0));
  }
}

Result<std::optional<JobRow>> next_job(Connection& connection, const std::string& tenant, std::int64_t now) {
  Statement query = connection.run(kNextJob, now, tenant);
  const Result<bool> row = query.step();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::nullopt;
  return JobRow{.job = {.id = query.integer(0),
                        .session_id = query.text(1),
                        .tenant = tenant,
                        .priority = static_cast<int>(query.integer(2)),
                        .attempt = static_cast<int>(query.integer(3)) + 1},
                .order = query.text(4)};
}

// Marks the job as claimed and its tenant as served.
Status mark_claimed(Connection& connection, const Job& job) {
  if (Status done = connection.execute("UPDATE jobs SET fence = ?, attempts = attempts + 1 WHERE id = ?",
                                       job.lease.fence, job.id);
      !done) {
    return done;
  }
  return connection.execute("UPDATE tenants SET served = ? WHERE name = ?", job.lease.fence, job.tenant);
}

Result<std::optional<Job>> claim_row(Connection& connection, JobRow row, const ClaimOptions& options) {
  Result<Json> order = parse_json(row.order);
  if (!order) {
    return std::unexpected(
        corrupted_session(connection.path(), row.job.session_id,
                          fmt::format("the order of job {}: {}", row.job.id, order.error().message())));
  }
  row.job.order = *std::move(order);
  const Result<SessionRow> session = find_session(connection, row.job.session_id);
  if (!session) return std::unexpected(session.error());
  Result<Lease> lease = grant_lease(connection, row.job.session_id, *session, options.lease);
  if (!lease) return std::unexpected(lease.error());
  row.job.lease = *std::move(lease);
  if (Status done = mark_claimed(connection, row.job); !done) return std::unexpected(done.error());
  return std::move(row.job);
}

Result<std::optional<std::int64_t>> optional_integer(Statement query) {
  const Result<bool> row = query.step();
  if (!row) return std::unexpected(row.error());
  if (!*row || query.is_null(0)) return std::nullopt;
  return query.integer(0);
}

}  // namespace

Result<std::int64_t> submit_job(Connection& connection, const NewJob& job, const std::string& order) {
  const Result<SessionRow> session = find_session(connection, job.session_id);
  if (!session) return std::unexpected(session.error());
  if (Status done = connection.execute("INSERT INTO tenants VALUES (?, 0) ON CONFLICT DO NOTHING", session->tenant);
      !done) {
    return std::unexpected(done.error());
  }
  if (Status done = connection.execute(
          "INSERT INTO jobs (session, tenant, priority, not_before, job_order) VALUES (?, ?, ?, ?, ?)", session->key,
          session->tenant, job.priority, later(now_ms(), job.delay), order);
      !done) {
    return std::unexpected(done.error());
  }
  return connection.last_row_id();
}

Result<std::optional<Job>> claim_job(Connection& connection, const ClaimOptions& options) {
  const std::int64_t now = now_ms();
  const Result<std::vector<std::string>> tenants = tenants_to_serve(connection, options, now);
  if (!tenants) return std::unexpected(tenants.error());
  for (const std::string& tenant : *tenants) {
    Result<std::optional<JobRow>> row = next_job(connection, tenant, now);
    if (!row) return std::unexpected(row.error());
    if (*row) return claim_row(connection, **std::move(row), options);
  }
  return std::nullopt;
}

Status finish_job(Connection& connection, std::int64_t key, std::int64_t job) {
  return connection.execute("DELETE FROM jobs WHERE id = ? AND session = ?", job, key);
}

Result<QueueCounts> count_jobs(Connection& connection) {
  Statement query = connection.run(kCounts, now_ms());
  const Result<bool> row = query.step();
  if (!row) return std::unexpected(row.error());
  const auto running = static_cast<std::size_t>(query.integer(0));
  const auto ready = static_cast<std::size_t>(query.integer(1));
  const auto all = static_cast<std::size_t>(query.integer(2));
  return QueueCounts{.ready = ready, .delayed = all - ready - running, .running = running};
}

Result<std::optional<std::int64_t>> next_ready_time(Connection& connection) {
  return optional_integer(connection.run(kNextReady));
}

Result<std::optional<std::int64_t>> next_time_after(Connection& connection, std::int64_t time) {
  return optional_integer(connection.run(kNextTime, time));
}

}  // namespace allm::sqlite
