#include "runtime/parker.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/test_waits.hpp"

namespace allm::parker_test {
namespace {

using Clock = std::chrono::steady_clock;

TEST(Parker, KeepsAWakeUpThatCameBeforeTheWait) {
  Parker parker;
  parker.wake();
  parker.wait();
  EXPECT_FALSE(parker.wait_until(Clock::now())) << "it was consumed";
}

TEST(Parker, CountsSeveralWakeUpsAsOne) {
  Parker parker;
  for (int i = 0; i < 3; ++i) parker.wake();
  EXPECT_TRUE(parker.wait_until(Clock::now() + testing::kWatchdog));
  EXPECT_FALSE(parker.wait_until(Clock::now()));
}

TEST(Parker, GivesUpAtTheDeadlineAndNotBefore) {
  Parker parker;
  const auto deadline = Clock::now() + std::chrono::milliseconds(5);
  EXPECT_FALSE(parker.wait_until(deadline));
  EXPECT_GE(Clock::now(), deadline);
  parker.wake();
  EXPECT_TRUE(parker.wait_until(Clock::now())) << "a wake-up beats a deadline that has passed";
}

TEST(Parker, AcceptsAnyDeadline) {
  Parker parker;
  EXPECT_FALSE(parker.wait_until(Clock::time_point::min()));
  EXPECT_FALSE(parker.wait_until(Clock::time_point(std::chrono::nanoseconds(-1))));
  parker.wake();
  EXPECT_TRUE(parker.wait_until(Clock::time_point::max()));
}

TEST(Parker, SleepsUntilAnotherThreadWakesIt) {
  Parker parker;
  testing::Gate about_to_wait;
  std::atomic<bool> told = false;
  std::thread waiter([&] {
    about_to_wait.open();
    parker.wait();
    EXPECT_TRUE(told);
  });
  about_to_wait.wait();
  told = true;
  parker.wake();
  waiter.join();
}

TEST(Parker, LosesNoWakeUpInAPingPong) {
  constexpr int kRounds = 20'000;
  Parker ping;
  Parker pong;
  int ball = 0;  // not atomic: only the wake-ups synchronise the threads
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      ping.wait();
      ++ball;
      pong.wake();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    ++ball;
    ping.wake();
    pong.wait();
  }
  other.join();
  EXPECT_EQ(ball, 2 * kRounds);
}

TEST(Parker, SeesTheDataOfAllThreadsThatWokeIt) {
  constexpr int kWakers = 4;
  constexpr int kRounds = 5'000;
  Parker parker;
  std::atomic<int> told = 0;
  std::vector<std::jthread> wakers;
  for (int i = 0; i < kWakers; ++i) {
    wakers.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        told.fetch_add(1, std::memory_order_relaxed);
        parker.wake();
      }
    });
  }
  while (told.load(std::memory_order_relaxed) < kWakers * kRounds) {
    ASSERT_TRUE(parker.wait_until(Clock::now() + testing::kWatchdog)) << "a wake-up was lost";
  }
}

}  // namespace
}  // namespace allm::parker_test
