// A call that is polled on the consumer's thread instead of running on a thread of the pool: a nested agent.
#pragma once

#include "allm/stream.hpp"

namespace allm {

// The batch that the call belongs to owns it and drops it when the call is over, by its answer, its deadline or a
// cancellation. It answers through the ToolCompletion that its handler was given. One thread at a time.
class PolledCall {
 public:
  PolledCall() = default;
  PolledCall(const PolledCall&) = delete;
  PolledCall& operator=(const PolledCall&) = delete;
  virtual ~PolledCall() = default;

  // Goes on as far as possible without waiting; `waker` is called when polling again is worth it. What the user's
  // callbacks throw passes through.
  virtual void poll(const Waker& waker) = 0;
};

}  // namespace allm
