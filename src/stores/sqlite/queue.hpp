// The work queue in an SQLite file. The functions that change something are called in a transaction.
//
// A job is claimed with the fence of the lease that its worker got. It runs as long as the session has this fence and
// the lease is not over; so nothing has to be written when a worker dies. Claims count the attempts that were lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "allm/work_queue.hpp"

#include "stores/sqlite/connection.hpp"

namespace allm::sqlite {

// `order` is the order of the job as JSON.
Result<std::int64_t> submit_job(Connection& connection, const NewJob& job, const std::string& order);
Result<std::optional<Job>> claim_job(Connection& connection, const ClaimOptions& options);
// Ends a job of the session with this key; nothing happens if it has ended already.
Status finish_job(Connection& connection, std::int64_t key, std::int64_t job);
// Counts an attempt that has failed.
Status fail_attempt(Connection& connection, std::int64_t key, const FailedAttempt& failed);
// The attempt with this fence at a job of the session has not failed: its lease was released, or is renewed.
Status release_attempt(Connection& connection, std::int64_t key, std::int64_t fence);
Status resume_attempt(Connection& connection, std::int64_t key, std::int64_t fence);
Result<QueueCounts> count_jobs(Connection& connection);

// When a job can be claimed, in milliseconds since 1970: a time in the past if one is ready, nullopt if there are no
// jobs.
Result<std::optional<std::int64_t>> next_ready_time(Connection& connection);
// The first time after `time` at which a delay or the lease of a job ends, or nullopt.
Result<std::optional<std::int64_t>> next_time_after(Connection& connection, std::int64_t time);

}  // namespace allm::sqlite
