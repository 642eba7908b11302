#include "allm/wake_queue.hpp"

#include <optional>
#include <poll.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace allm::wake_queue_test {
namespace {

bool is_readable(int fd, int timeout_ms = 0) {
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, timeout_ms) == 1;
}

TEST(WakeQueue, IsReadableWhileKeysWaitAndHoldsEachOnce) {
  WakeQueue queue;
  const Waker seven = queue.waker(7);
  EXPECT_FALSE(is_readable(queue.fd()));
  seven.wake();
  queue.waker(3).wake();
  seven.wake();
  EXPECT_TRUE(is_readable(queue.fd()));
  EXPECT_EQ(queue.take(), (std::vector<std::uint64_t>{7, 3}));
  EXPECT_FALSE(is_readable(queue.fd()));
  EXPECT_TRUE(queue.take().empty());
  seven.wake();
  EXPECT_EQ(queue.take(), std::vector<std::uint64_t>{7}) << "it can be woken again";
}

TEST(WakeQueue, CanBeWokenFromOtherThreads) {
  WakeQueue queue;
  const std::jthread other([waker = queue.waker(1)] { waker.wake(); });
  EXPECT_TRUE(is_readable(queue.fd(), -1));
  EXPECT_EQ(queue.take(), std::vector<std::uint64_t>{1});
}

TEST(WakeQueue, ItsWakersMayOutliveIt) {
  std::optional<WakeQueue> queue(std::in_place);
  const Waker waker = queue->waker(1);
  queue.reset();
  waker.wake();
}

}  // namespace
}  // namespace allm::wake_queue_test
