// A call that is polled on the consumer's thread instead of running on a pool thread: a nested agent.
#pragma once

#include "allm/stream.hpp"

namespace allm {

// Owned by its batch, which destroys it when the call is settled. It answers through the ToolCompletion of its handler.
// One thread at a time.
class PolledCall {
 public:
  PolledCall() = default;
  PolledCall(const PolledCall&) = delete;
  PolledCall& operator=(const PolledCall&) = delete;
  virtual ~PolledCall() = default;

  // Continues as far as possible without waiting; `waker` is called when the call should be polled again. Exceptions of
  // the user's callbacks pass through.
  virtual void poll(const Waker& waker) = 0;
};

}  // namespace allm
