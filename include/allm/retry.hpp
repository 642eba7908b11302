// When a failed model call is tried again: only before its first event was delivered.
#pragma once

#include <chrono>
#include <vector>

#include "allm/error.hpp"

namespace allm {

struct RetryPolicy {
  // Tries in all; 0 or 1 means no retry.
  int max_attempts = 3;
  // The wait doubles from `base_delay` with each attempt, up to `max_delay`.
  std::chrono::milliseconds base_delay{500};
  std::chrono::milliseconds max_delay{30'000};
  // Up to this much is added at random, so that clients do not come back in step.
  std::chrono::milliseconds jitter{250};
  // Wait as long as the provider asks, if it does.
  bool respect_retry_after = true;
  // A provider that asks for more than this is not waited for: its error, with the wait it wants, is the answer.
  std::chrono::milliseconds max_retry_after{600'000};
  // Reasons worth another try.
  std::vector<AdapterError::Reason> retry_on = default_retry_on();

  static RetryPolicy off();
  // rate_limited, provider_unavailable, timeout.
  static std::vector<AdapterError::Reason> default_retry_on();
};

// Whether the policy tries again after this error: an AdapterError of a listed reason, unless its metadata say
// {"retryable": false}, as for a quota that is used up.
bool is_retryable(const RetryPolicy& policy, const Error& error);

}  // namespace allm
