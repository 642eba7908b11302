// What all stores have in common: their errors, and the rules of the work queue.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "allm/error.hpp"

namespace allm {

// A StoreError about one session; the message should name it.
inline Error store_error(StoreError::Reason reason, std::string message) {
  return {StoreError{.reason = reason}, std::move(message)};
}
inline Error store_error(StoreError::Reason reason, std::string session_id, std::string message) {
  return {StoreError{.reason = reason, .session_id = std::move(session_id)}, std::move(message)};
}

// The errors that every store has.
inline Error no_such_session(const std::string& id) {
  return store_error(StoreError::Reason::not_found, id, "there is no session '" + id + "'");
}
inline Error session_exists(const std::string& id) {
  return store_error(StoreError::Reason::already_exists, id, "session '" + id + "' exists already");
}
inline Error session_leased(const std::string& id) {
  return store_error(StoreError::Reason::leased, id, "session '" + id + "' is being run by somebody else");
}
inline Error lease_fenced(const std::string& id) {
  return store_error(StoreError::Reason::fenced, id,
                     "the lease of session '" + id + "' has ended; stop running the session");
}
inline Error version_conflict(const std::string& id, std::int64_t expected, std::int64_t actual) {
  return store_error(StoreError::Reason::conflict, id,
                     "session '" + id + "' has version " + std::to_string(actual) + ", not " +
                         std::to_string(expected) + ": somebody else has changed it; load it again");
}

// What a queue says about an attempt whose lease has expired.
inline constexpr const char* kLostAttempt = "its worker died or was cut off from the store for longer than its lease";

// The delay after a failed attempt at a job.
inline constexpr std::chrono::milliseconds kLongestRetryDelay = std::chrono::minutes(10);
inline std::chrono::milliseconds delay_after_failures(std::chrono::milliseconds first, int failures) {
  constexpr int kMostDoublings = 20;
  const auto limited = std::clamp(first, std::chrono::milliseconds(0), kLongestRetryDelay);
  return std::min(limited * (1 << std::clamp(failures - 1, 0, kMostDoublings)), kLongestRetryDelay);
}

// How fairness between tenants is kept; allm/work_queue.hpp describes the rule.
inline constexpr int kTolerance = 1;        // running jobs more than the tenant with the fewest
inline constexpr int kMostTurnsBehind = 8;  // claims

}  // namespace allm
