// Many streams on one epoll loop: a file descriptor that is readable when one of them can go on.
//
//   allm::WakeQueue woken;                                  // watch woken.fd() for EPOLLIN
//   stream.poll(woken.waker(7));                            // pending: 7 is in take() when polling again is worth it
//   for (std::uint64_t key : woken.take()) …                // when the descriptor is readable
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "allm/stream.hpp"

namespace allm {

// Works with every loop that watches file descriptors: epoll, poll, libuv, glib. Wakers may be called from any thread,
// also after the queue is gone; everything else is for one thread at a time.
class WakeQueue {
 public:
  // Throws std::system_error if the system gives no descriptor.
  WakeQueue();
  WakeQueue(const WakeQueue&) = delete;
  WakeQueue& operator=(const WakeQueue&) = delete;
  ~WakeQueue();

  // Readable while keys are waiting. Owned by the queue; do not read from it.
  int fd() const;
  // A waker that puts `key` into the queue. One waker can be used for every poll of a stream.
  Waker waker(std::uint64_t key) const;
  // Takes all keys, in the order in which they were woken; a key that was woken several times is there once.
  std::vector<std::uint64_t> take();

 private:
  class State;
  std::shared_ptr<State> state_;  // shared with the wakers, which may outlive the queue
};

}  // namespace allm
