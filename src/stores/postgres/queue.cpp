// The work queue.
#include <algorithm>

#include "stores/postgres/ids.hpp"
#include "stores/postgres/postgres_store.hpp"

namespace allm {
namespace {

using postgres::Arguments;
using postgres::Rows;
using namespace std::chrono_literals;

// Other workers make a claim start again when they claim at the same moment. A claim that was overtaken this often
// leaves the jobs to the others.
constexpr int kMostClaims = 100;

// A thread that waits looks at the table at least this often; if a job is ready but its tenant is at its limit, more
// often.
constexpr std::chrono::milliseconds kLookAgainAfter = 20s;
constexpr std::chrono::milliseconds kLookForLimited = 1s;

constexpr const char* kCount =
    "SELECT count(*) FILTER (WHERE ready), count(*) FILTER (WHERE NOT ready AND NOT running),"
    " count(*) FILTER (WHERE running) FROM allm.job_states";

// Whether a job is ready, and the milliseconds until a delay or a lease ends (null: none does).
constexpr const char* kNextReady =
    "SELECT EXISTS (SELECT 1 FROM allm.job_states WHERE ready), ceil(extract(epoch FROM least("
    "  (SELECT min(j.ready_at) FROM allm.jobs j WHERE j.ready_at > now()),"
    "  (SELECT min(s.lease_until) FROM allm.jobs j JOIN allm.sessions s ON s.id = j.session_id"
    "   WHERE j.ready_at <= now() AND s.lease_until > now())) - now()) * 1000)::bigint";

// An order that somebody edited by hand into something else than JSON is returned as null, which the runner refuses.
Job job_in(const Rows& rows) {
  const std::string session_id(rows.text(0, 1));
  return {
      .id = rows.number(0, 0),
      .session_id = session_id,
      .tenant = std::string(rows.text(0, 2)),
      .order = parse_json(rows.text(0, 3)).value_or(Json(nullptr)),
      .priority = static_cast<int>(rows.number(0, 4)),
      .attempt = static_cast<int>(rows.number(0, 5)),
      .lease = {.session_id = session_id, .fence = rows.number(0, 6), .expires_at = rows.time(0, 7)},
      .failures = static_cast<int>(rows.number(0, 8)),
      .max_attempts = static_cast<int>(rows.number(0, 9)),
      .last_error = std::string(rows.text(0, 10)),
  };
}

std::optional<std::int64_t> limit_of(const ClaimOptions& options) {
  if (!options.max_per_tenant) return std::nullopt;
  return static_cast<std::int64_t>(std::min<std::size_t>(*options.max_per_tenant, 1'000'000'000));
}

}  // namespace

Result<std::int64_t> PostgresStore::submit(const NewJob& job) {
  if (!postgres::is_session_id(job.session_id)) return std::unexpected(no_such_session(job.session_id));
  const Result<std::string> order = write_json(job.order);
  if (!order) return std::unexpected(order.error());
  Arguments arguments;
  arguments.text(std::string_view(job.session_id)).text(std::string_view(*order));
  arguments.number(job.priority).duration(job.delay).number(job.max_attempts);
  arguments.duration(delay_after_failures(job.retry_delay, 1));
  const auto rows = pool_.run_once("SELECT allm.submit_job($1, $2, $3, $4, $5, $6)", arguments);
  if (!rows) return std::unexpected(rows.error());
  if (rows->is_null(0, 0)) return std::unexpected(no_such_session(job.session_id));
  return rows->number(0, 0);
}

// Not repeated when the connection is lost: a job that was claimed without an answer is ready again when its lease has
// expired.
Result<std::optional<Job>> PostgresStore::claim(const ClaimOptions& options) {
  Arguments arguments;
  arguments.duration(options.lease).number(limit_of(options)).number(kTolerance).number(kMostTurnsBehind);
  arguments.text(std::string_view(kLostAttempt));
  const std::uint64_t signals = listener_.job_signals();
  for (int i = 0; i < kMostClaims; ++i) {
    const auto rows = pool_.run_once("SELECT * FROM allm.claim_job($1, $2, $3, $4, $5)", arguments);
    if (!rows) return std::unexpected(rows.error());
    if (rows->count() == 0) break;
    if (!rows->is_null(0, 0)) return job_in(*rows);
  }
  found_nothing_at_ = signals;
  return std::nullopt;
}

Result<bool> PostgresStore::wait_for_job(std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::clamp<std::chrono::milliseconds>(timeout, 0ms, 8760h);
  // After a claim that found nothing, a job that is ready belongs to a tenant at its limit: returning at once would
  // make the caller claim in a busy loop.
  bool look = listener_.job_signals() != found_nothing_at_;
  while (true) {
    const std::uint64_t signals = listener_.job_signals();
    const auto rows = pool_.run_repeatable(kNextReady, {}, postgres::Plan::by_values);
    if (!rows) return std::unexpected(rows.error());
    const bool ready = rows->flag(0, 0);
    if (ready && look) return true;
    const auto now = Clock::now();
    if (now >= deadline) return false;
    auto until = std::min(deadline, now + (ready ? kLookForLimited : kLookAgainAfter));
    if (!rows->is_null(0, 1)) until = std::min(until, now + std::chrono::milliseconds(rows->number(0, 1)));
    listener_.wait_for_jobs(signals, until);
    look = true;
  }
}

Result<QueueCounts> PostgresStore::count_jobs() {
  const auto rows = pool_.run_repeatable(kCount, {}, postgres::Plan::by_values);
  if (!rows) return std::unexpected(rows.error());
  return QueueCounts{.ready = static_cast<std::size_t>(rows->number(0, 0)),
                     .delayed = static_cast<std::size_t>(rows->number(0, 1)),
                     .running = static_cast<std::size_t>(rows->number(0, 2))};
}

}  // namespace allm
