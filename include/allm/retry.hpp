// Retries of failed model calls. A call is not retried after its first event has been delivered.
#pragma once

#include <chrono>
#include <vector>

#include "allm/error.hpp"

namespace allm {

struct RetryPolicy {
  // Attempts in all; 0 or 1 means no retry.
  int max_attempts = 3;
  // The wait doubles from `base_delay` with each attempt, up to `max_delay`.
  std::chrono::milliseconds base_delay{500};
  std::chrono::milliseconds max_delay{30'000};
  // A random time of up to `jitter` is added to the wait, so that many clients do not retry at the same moment.
  std::chrono::milliseconds jitter{250};
  // True: if the provider asks for a wait (`retry-after`), that wait is used instead of the delay above.
  bool respect_retry_after = true;
  // If the provider asks for a longer wait than this, the call is not retried; the error has the wait in
  // AdapterError::retry_after_ms.
  std::chrono::milliseconds max_retry_after{600'000};
  // Reasons for which a call is retried.
  std::vector<AdapterError::Reason> retry_on = default_retry_on();

  // The policy with the defaults above. EngineOptions uses it instead of `= {}`, because g++ 12 at -O3 warns about that
  // in users' programs.
  static RetryPolicy standard();
  static RetryPolicy off();  // never retries
  // rate_limited, provider_unavailable, timeout, network_error.
  static std::vector<AdapterError::Reason> default_retry_on();
};

// Whether the policy retries after this error: an AdapterError with a listed reason whose metadata does not have
// {"retryable": false}, as an exhausted quota and a refused certificate have.
bool is_retryable(const RetryPolicy& policy, const Error& error);

}  // namespace allm
