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

Result<Job> job_in(const Rows& rows) {
  const std::int64_t id = rows.number(0, 0);
  const std::string session_id(rows.text(0, 1));
  Result<Json> order = parse_json(rows.text(0, 3));
  if (!order) {
    return std::unexpected(store_error(StoreError::Reason::corrupted, session_id,
                                       "job " + std::to_string(id) + " cannot be read: " + order.error().message()));
  }
  return Job{
      .id = id,
      .session_id = session_id,
      .tenant = std::string(rows.text(0, 2)),
      .order = *std::move(order),
      .priority = static_cast<int>(rows.number(0, 4)),
      .attempt = static_cast<int>(rows.number(0, 5)),
      .lease = {.session_id = session_id, .fence = rows.number(0, 6), .expires_at = rows.time(0, 7)},
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
  arguments.number(job.priority).duration(job.delay);
  const auto rows = pool_.run_once("SELECT allm.submit_job($1, $2, $3, $4)", arguments);
  if (!rows) return std::unexpected(rows.error());
  if (rows->is_null(0, 0)) return std::unexpected(no_such_session(job.session_id));
  return rows->number(0, 0);
}

// Not repeated when the connection is lost: a job that was claimed without an answer is ready again when its lease has
// expired.
Result<std::optional<Job>> PostgresStore::claim(const ClaimOptions& options) {
  Arguments arguments;
  arguments.duration(options.lease).number(limit_of(options));
  const std::uint64_t signals = listener_.job_signals();
  for (int i = 0; i < kMostClaims; ++i) {
    const auto rows = pool_.run_once("SELECT * FROM allm.claim_job($1, $2)", arguments);
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
    const auto rows = pool_.run_repeatable(kNextReady, {});
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
  const auto rows = pool_.run_repeatable(kCount, {});
  if (!rows) return std::unexpected(rows.error());
  return QueueCounts{.ready = static_cast<std::size_t>(rows->number(0, 0)),
                     .delayed = static_cast<std::size_t>(rows->number(0, 1)),
                     .running = static_cast<std::size_t>(rows->number(0, 2))};
}

}  // namespace allm
