// The right to start something: it ends with the lease, and comes back with a renewal.
#include "stores/journal/journal_queue.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace allm::journal_queue_test {
namespace {

using namespace std::chrono_literals;

JournalQueue::Batch take_at_once(JournalQueue& queue) { return queue.take(JournalQueue::Clock::now()); }

TEST(JournalQueue, NothingMayStartWhenTheLeaseMayBeOver) {
  JournalQueue queue;
  EXPECT_FALSE(queue.may_start());
  EXPECT_TRUE(take_at_once(queue).needs_lease);
  EXPECT_FALSE(take_at_once(queue).needs_lease);
  queue.set_lease_end(LeaseClock::now() - 1ns);
  EXPECT_FALSE(queue.may_start());
  queue.set_lease_end(LeaseClock::now() + 1h);
  EXPECT_TRUE(queue.may_start());
  EXPECT_TRUE(queue.wait_to_start());
  queue.fail(Error(StoreError{StoreError::Reason::fenced}, "the lease has ended"));
  EXPECT_FALSE(queue.may_start());
  EXPECT_FALSE(queue.wait_to_start());
}

TEST(JournalQueue, WhoWaitsToStartAsksForTheLeaseAndIsWokenByIt) {
  JournalQueue queue;
  std::atomic<int> woken = 0;
  queue.watch(Waker([&] { ++woken; }));
  std::atomic<bool> may_start = false;
  std::jthread waiting([&] { may_start = queue.wait_to_start(); });
  // Returns when the lease is asked for.
  EXPECT_TRUE(queue.take(JournalQueue::Clock::now() + 1h).needs_lease);
  queue.set_lease_end(LeaseClock::now() + 1h);
  waiting.join();
  EXPECT_TRUE(may_start);
  EXPECT_EQ(woken, 1);
}

TEST(JournalQueue, WhoWaitsToStartStopsWaitingWhenTheRunEnds) {
  JournalQueue queue;
  std::atomic<bool> may_start = true;
  std::jthread waiting([&] { may_start = queue.wait_to_start(); });
  EXPECT_TRUE(queue.take(JournalQueue::Clock::now() + 1h).needs_lease);
  queue.close();
  waiting.join();
  EXPECT_FALSE(may_start);
}

}  // namespace
}  // namespace allm::journal_queue_test
