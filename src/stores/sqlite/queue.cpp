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
#include "stores/store_errors.hpp"

namespace allm::sqlite {
namespace {

// The tenant that is served next, of those that have a job ready and fewer than ?2 running ones. ?3: kMostTurnsBehind;
// ?4: kTolerance.
constexpr std::string_view kTenant =
    "WITH ready AS (SELECT * FROM ("
    "  SELECT t.name, t.served, t.turn, ("
    "    SELECT count(*) FROM jobs j JOIN sessions s ON s.key = j.session"
    "    WHERE j.tenant = t.name AND j.fence IS NOT NULL AND j.fence = s.fence AND s.lease_until > ?1) AS running"
    "  FROM tenants t WHERE EXISTS (SELECT 1 FROM jobs j JOIN sessions s ON s.key = j.session WHERE j.tenant = t.name"
    "    AND j.not_before <= ?1 AND (s.lease_until IS NULL OR s.lease_until <= ?1)"
    "    AND NOT EXISTS (SELECT 1 FROM jobs e WHERE e.session = j.session AND e.id < j.id))) WHERE running < ?2) "
    "SELECT name, max(turn, (SELECT max(turn) FROM tenants) - ?3) AS due FROM ready "
    "WHERE running <= (SELECT min(running) FROM ready) + ?4 ORDER BY due, running, served, name LIMIT 1";

// The next job of the tenant ?2.
constexpr std::string_view kNextJob =
    "SELECT j.id, s.id, j.priority, j.attempts, j.job_order, j.failures, j.max_attempts, j.last_error "
    "FROM jobs j JOIN sessions s ON s.key = j.session "
    "WHERE j.tenant = ?2 AND j.not_before <= ?1 AND (s.lease_until IS NULL OR s.lease_until <= ?1) "
    "AND NOT EXISTS (SELECT 1 FROM jobs e WHERE e.session = j.session AND e.id < j.id) "
    "ORDER BY j.priority DESC, j.id LIMIT 1";

// A job has a fence while an attempt at it goes on. ?2: the milliseconds of the longest delay; ?3: the error.
constexpr std::string_view kCountLost =
    "UPDATE jobs SET failures = failures + 1, lost_fence = fence, fence = NULL, last_error = ?3,"
    "  not_before = ?1 + min(retry_ms << min(failures, 20), ?2) "
    "WHERE fence IS NOT NULL AND EXISTS (SELECT 1 FROM sessions s WHERE s.key = jobs.session"
    "  AND (s.fence <> jobs.fence OR s.lease_until IS NULL OR s.lease_until <= ?1))";

constexpr std::string_view kFail =
    "UPDATE jobs SET failures = failures + 1, lost_fence = NULL, fence = NULL, last_error = ?4,"
    "  not_before = ?3 + min(retry_ms << min(failures, 20), ?5) WHERE id = ?1 AND session = ?2";

constexpr std::string_view kForgive =
    "UPDATE jobs SET failures = failures - 1, lost_fence = NULL, not_before = 0 WHERE session = ?1 AND lost_fence = ?2";

constexpr std::string_view kResume =
    "UPDATE jobs SET failures = failures - 1, lost_fence = NULL, not_before = 0, fence = ?2 "
    "WHERE session = ?1 AND lost_fence = ?2";

constexpr std::string_view kCounts =
    "SELECT coalesce(sum(running), 0), coalesce(sum(NOT running AND ready), 0), count(*) FROM ("
    "  SELECT coalesce(j.fence = s.fence AND s.lease_until > ?1, 0) AS running,"
    "    j.not_before <= ?1 AND coalesce(s.lease_until, 0) <= ?1"
    "      AND NOT EXISTS (SELECT 1 FROM jobs e WHERE e.session = j.session AND e.id < j.id) AS ready"
    "  FROM jobs j JOIN sessions s ON s.key = j.session)";

constexpr std::string_view kNextReady =
    "SELECT min(max(j.not_before, coalesce(s.lease_until, 0))) FROM jobs j JOIN sessions s ON s.key = j.session "
    "WHERE NOT EXISTS (SELECT 1 FROM jobs e WHERE e.session = j.session AND e.id < j.id)";

constexpr std::string_view kNextTime =
    "SELECT min(time) FROM (SELECT not_before AS time FROM jobs UNION ALL "
    "SELECT s.lease_until FROM jobs j JOIN sessions s ON s.key = j.session) WHERE time > ?";

struct NextTenant {
  std::string name = {};
  std::int64_t turn = 0;
};

Result<std::optional<NextTenant>> next_tenant(Connection& connection, const ClaimOptions& options, std::int64_t now) {
  constexpr std::size_t kNoLimit = std::numeric_limits<std::int64_t>::max();
  const auto most = static_cast<std::int64_t>(std::min(options.max_per_tenant.value_or(kNoLimit), kNoLimit));
  Statement query = connection.run(kTenant, now, most, kMostTurnsBehind, kTolerance);
  const Result<bool> row = query.step();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::nullopt;
  return NextTenant{.name = query.text(0), .turn = query.integer(1)};
}

// An order that somebody edited by hand into something else than JSON is returned as null, which the runner refuses.
Result<std::optional<Job>> next_job(Connection& connection, const std::string& tenant, std::int64_t now) {
  Statement query = connection.run(kNextJob, now, tenant);
  const Result<bool> row = query.step();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::nullopt;
  Job job{.id = query.integer(0),
          .session_id = query.text(1),
          .tenant = tenant,
          .order = parse_json(query.view(4)).value_or(Json(nullptr)),
          .priority = static_cast<int>(query.integer(2)),
          .attempt = static_cast<int>(query.integer(3)),
          .failures = static_cast<int>(query.integer(5)),
          .max_attempts = static_cast<int>(query.integer(6)),
          .last_error = query.text(7)};
  if (!job.is_given_up()) ++job.attempt;
  return job;
}

// Marks the job as claimed and its tenant as served.
Status mark_claimed(Connection& connection, const Job& job, std::int64_t turn) {
  if (Status done = connection.execute("UPDATE jobs SET fence = ?, attempts = ? WHERE id = ?", job.lease.fence,
                                       job.attempt, job.id);
      !done) {
    return done;
  }
  return connection.execute("UPDATE tenants SET served = ?, turn = ? WHERE name = ?", job.lease.fence, turn + 1,
                            job.tenant);
}

Result<std::optional<Job>> take_job(Connection& connection, Job job, std::int64_t turn, const ClaimOptions& options) {
  const Result<SessionRow> session = find_session(connection, job.session_id);
  if (!session) return std::unexpected(session.error());
  Result<Lease> lease = grant_lease(connection, job.session_id, *session, options.lease);
  if (!lease) return std::unexpected(lease.error());
  job.lease = *std::move(lease);
  if (Status done = mark_claimed(connection, job, turn); !done) return std::unexpected(done.error());
  return job;
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
  if (Status done = connection.execute("INSERT INTO tenants (name, served) VALUES (?, 0) ON CONFLICT DO NOTHING",
                                       session->tenant);
      !done) {
    return std::unexpected(done.error());
  }
  if (Status done = connection.execute(
          "INSERT INTO jobs (session, tenant, priority, not_before, job_order, max_attempts, retry_ms) "
          "VALUES (?, ?, ?, ?, ?, ?, ?)",
          session->key, session->tenant, job.priority, later(now_ms(), job.delay), order, job.max_attempts,
          delay_after_failures(job.retry_delay, 1).count());
      !done) {
    return std::unexpected(done.error());
  }
  return connection.last_row_id();
}

Result<std::optional<Job>> claim_job(Connection& connection, const ClaimOptions& options) {
  const std::int64_t now = now_ms();
  if (Status counted = connection.execute(kCountLost, now, kLongestRetryDelay.count(), kLostAttempt); !counted) {
    return std::unexpected(counted.error());
  }
  const Result<std::optional<NextTenant>> tenant = next_tenant(connection, options, now);
  if (!tenant) return std::unexpected(tenant.error());
  if (!*tenant) return std::nullopt;
  Result<std::optional<Job>> job = next_job(connection, (*tenant)->name, now);
  if (!job || !*job) return job;
  return take_job(connection, **std::move(job), (*tenant)->turn, options);
}

Status fail_attempt(Connection& connection, std::int64_t key, const FailedAttempt& failed) {
  return connection.execute(kFail, failed.job, key, now_ms(), failed.error, kLongestRetryDelay.count());
}

Status release_attempt(Connection& connection, std::int64_t key, std::int64_t fence) {
  if (Status done = connection.execute("UPDATE jobs SET fence = NULL WHERE session = ? AND fence = ?", key, fence);
      !done) {
    return done;
  }
  return connection.execute(kForgive, key, fence);
}

Status resume_attempt(Connection& connection, std::int64_t key, std::int64_t fence) {
  return connection.execute(kResume, key, fence);
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
