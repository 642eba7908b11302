// How attempts at jobs fail, and what the log and the session say about jobs that are given up.
#pragma once

#include <cstdint>

#include "allm/session.hpp"
#include "allm/work_queue.hpp"

namespace allm {

// The member of Session::metadata that a session has after one of its jobs was given up, until its next run.
//   {"job", "attempts", "error", "status"}      `status`: of the session, but for the error
inline constexpr const char* kGivenUp = "allm.given_up";

// Whether the same may happen at the next attempt although the store works.
bool is_fault_of_job(const Error& error);

// Ends an attempt that failed with `error`, and its lease. If the store itself cannot be used, the attempt does not
// count as failed.
Status end_attempt(SessionStore& store, std::int64_t job, const Lease& lease, const Error& error);

// SessionError `session_in_error_state`: "job 7 was given up at attempt 5: " and why the last attempt failed.
Error given_up_error(const Job& job);
// The last entry of the job.
LogEntry given_up_fact(const Job& job);
// The session in status error, with the reason.
Session with_given_up(Session session, const Job& job);
// The session in the status that it has but for the job that was given up; unchanged if there is none.
Session without_given_up(Session session);

}  // namespace allm
