// Many streams on one epoll loop: a file descriptor that is readable when one of them should be polled.
//
//   allm::WakeQueue woken;                                  // watch woken.fd() for EPOLLIN
//   stream.poll(woken.waker(7));                            // if pending: take() returns 7 when it is time to poll
//   for (std::uint64_t key : woken.take()) …                // when the descriptor is readable
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "allm/stream.hpp"

namespace allm {

// Works with every loop that watches file descriptors: epoll, poll, libuv, glib. Wakers may be called from any thread,
// also after the queue was destroyed; all other functions: one thread at a time.
class WakeQueue {
 public:
  // Throws std::system_error if the system has no descriptor left.
  WakeQueue();
  WakeQueue(const WakeQueue&) = delete;
  WakeQueue& operator=(const WakeQueue&) = delete;
  ~WakeQueue();

  // Readable while keys are waiting. Owned by the queue; do not read from it.
  int fd() const;
  // A waker that puts `key` into the queue. One waker can be used for every poll of a stream.
  Waker waker(std::uint64_t key) const;
  // Removes and returns all keys, in the order in which they were woken; a key that was woken several times occurs
  // once.
  std::vector<std::uint64_t> take();

 private:
  class State;
  std::shared_ptr<State> state_;  // shared with the wakers, which may outlive the queue
};

}  // namespace allm
