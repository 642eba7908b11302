// Timers: of the loop, and through Runtime::after.
#include "runtime/loop.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/runtime.hpp"

#include "runtime/alarm.hpp"
#include "runtime/deadline.hpp"
#include "runtime/function_task.hpp"
#include "runtime/test_waits.hpp"

namespace allm::loop_test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::hours;
using std::chrono::milliseconds;
using testing::Counter;
using testing::Gate;

// A loop that is stopped at the end, as a runtime would.
class LoopTest : public ::testing::Test {
 protected:
  ~LoopTest() override { loop_->stop(); }
  std::shared_ptr<LoopTask> arm(Clock::time_point deadline, std::function<void()> function) {
    auto task = function_task(std::move(function));
    loop_->arm(task, deadline);
    return task;
  }
  std::shared_ptr<Loop> loop_ = std::make_shared<Loop>();
};

TEST_F(LoopTest, FiresInTheOrderOfTheDeadlines) {
  std::vector<int> order;
  Counter fired;
  const auto base = Clock::now() + milliseconds(20);
  for (const int i : {3, 0, 4, 1, 2, 7, 6, 5}) {
    arm(base + std::chrono::microseconds(i), [&, i] {
      order.push_back(i);
      EXPECT_GE(Clock::now(), base + std::chrono::microseconds(i)) << "not before its time";
      fired.add();
    });
  }
  fired.wait_for(8);
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(LoopTest, AnEarlierDeadlineReplansTheWait) {
  Gate late;
  Gate early;
  arm(Clock::now() + hours(1), [&] { late.open(); });
  arm(Clock::now() + milliseconds(1), [&] { early.open(); });
  early.wait();
  EXPECT_FALSE(late.is_open());
}

TEST_F(LoopTest, ACancelledTaskDoesNotFire) {
  std::atomic<bool> fired = false;
  Gate after;
  const auto deadline = Clock::now() + milliseconds(20);
  const auto task = arm(deadline, [&] { fired = true; });
  arm(deadline + milliseconds(1), [&] { after.open(); });
  EXPECT_TRUE(loop_->cancel(*task));
  EXPECT_FALSE(loop_->cancel(*task)) << "it is not waiting any more";
  after.wait();
  EXPECT_FALSE(fired);
}

TEST_F(LoopTest, CancelReturnsFalseAfterATaskHasFired) {
  Gate fired;
  const auto task = arm(Clock::now(), [&] { fired.open(); });
  fired.wait();
  EXPECT_FALSE(loop_->cancel(*task));
}

TEST_F(LoopTest, ACallbackCanCancelWhatIsDueAfterIt) {
  Gate done;
  std::atomic<bool> second_fired = false;
  const auto past = Clock::now() - hours(1);
  Gate go;
  // Keeps the loop busy until both others are due.
  arm(past, [&] { go.wait(); });
  std::shared_ptr<LoopTask> second;
  arm(past + milliseconds(1), [&] { EXPECT_TRUE(loop_->cancel(*second)); });
  second = arm(past + milliseconds(2), [&] { second_fired = true; });
  arm(past + milliseconds(3), [&] { done.open(); });
  go.open();
  done.wait();
  EXPECT_FALSE(second_fired);
}

TEST_F(LoopTest, ACallbackCanArmAnother) {
  Gate second;
  std::shared_ptr<LoopTask> inner;
  arm(Clock::now(), [&] { inner = arm(Clock::now(), [&] { second.open(); }); });
  second.wait();
}

TEST_F(LoopTest, ATaskThatIsCancelledWhileItIsDueEitherFiresOrIsCancelled) {
  for (int round = 0; round < 300; ++round) {
    Gate fired;
    const auto task = arm(Clock::now() + std::chrono::microseconds(round % 30), [&] { fired.open(); });
    if (loop_->cancel(*task)) {
      EXPECT_FALSE(fired.is_open());
    } else {
      fired.wait();
    }
  }
}

TEST_F(LoopTest, ManyThreadsArmAndCancel) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 500;
  Counter fired;
  std::atomic<std::size_t> cancelled = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < kTasks; ++n) {
          const auto task = arm(Clock::now() + std::chrono::microseconds(n % 200), [&] { fired.add(); });
          if (n % 2 == 0 && loop_->cancel(*task)) ++cancelled;
        }
      });
    }
  }
  fired.wait_for(std::size_t{kThreads} * kTasks - cancelled);
  EXPECT_EQ(fired.value() + cancelled, std::size_t{kThreads} * kTasks);
}

TEST_F(LoopTest, AfterTheStopNothingFiresAndTasksAreReleased) {
  std::atomic<bool> fired = false;
  auto task = arm(Clock::now() + hours(1), [&] { fired = true; });
  const std::weak_ptr<LoopTask> watch = task;
  loop_->stop();
  EXPECT_FALSE(loop_->cancel(*task));
  task.reset();
  EXPECT_TRUE(watch.expired());
  arm(Clock::now(), [&] { fired = true; });
  loop_->stop();
  EXPECT_FALSE(fired);
}

TEST_F(LoopTest, CanBeStoppedFromACallback) {
  Gate stopped;
  arm(Clock::now(), [&] {
    loop_->stop();
    stopped.open();
  });
  stopped.wait();
}

TEST_F(LoopTest, PostedTasksRunInOrder) {
  constexpr int kPosts = 1'000;
  Gate go;
  std::vector<int> order;
  Counter ran;
  loop_->post(function_task([&] { go.wait(); }));
  for (int i = 0; i < kPosts; ++i) {
    loop_->post(function_task([&, i] {
      order.push_back(i);
      ran.add();
    }));
  }
  go.open();
  ran.wait_for(kPosts);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST_F(LoopTest, TheStopReleasesPostedTasks) {
  bool late = false;
  Gate stopping;
  loop_->post(function_task([&] { stopping.wait(); }));
  std::thread stopper([&] { loop_->stop(); });
  testing::eventually(
      [&] {
        // Refused once the loop is stopping.
        auto task = function_task([&] { late = true; });
        const std::weak_ptr<LoopTask> waits = task;
        loop_->post(std::move(task));
        return waits.expired();
      },
      "the stop");
  stopping.open();
  stopper.join();
  EXPECT_FALSE(late);
}

TEST(RuntimeAfter, CallsOnceOnTheLoopThread) {
  const auto runtime = Runtime::create();
  Gate called;
  std::thread::id thread;
  const Timer timer = runtime->after(milliseconds(1), [&] {
    thread = std::this_thread::get_id();
    called.open();
  });
  called.wait();
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(RuntimeAfter, ADestroyedOrOverwrittenTimerDoesNotFire) {
  const auto runtime = Runtime::create();
  std::atomic<int> fired = 0;
  Gate last;
  {
    const Timer timer = runtime->after(milliseconds(5), [&] { ++fired; });
  }
  Timer moved = runtime->after(milliseconds(5), [&] { ++fired; });
  Timer target = std::move(moved);
  target = runtime->after(milliseconds(10), [&] { last.open(); });
  Timer cancelled = runtime->after(milliseconds(5), [&] { ++fired; });
  cancelled.cancel();
  cancelled.cancel();
  last.wait();
  EXPECT_EQ(fired, 0);
}

TEST(RuntimeAfter, PostAfterNeedsNoTimer) {
  const auto runtime = Runtime::create();
  Gate called;
  runtime->post_after(milliseconds(0), [&] { called.open(); });
  called.wait();
}

TEST(RuntimeAfter, AcceptsTheLongestDelay) {
  const auto runtime = Runtime::create();
  Gate soon;
  const Timer never = runtime->after(std::chrono::nanoseconds::max(), [] { FAIL(); });
  const Timer negative = runtime->after(std::chrono::nanoseconds::min(), [&] { soon.open(); });
  soon.wait();
}

TEST(RuntimeAfter, TimersMayOutliveTheirRuntime) {
  auto runtime = Runtime::create();
  auto token = std::make_shared<int>(1);
  Timer timer = runtime->after(hours(1), [token] { FAIL(); });
  EXPECT_EQ(token.use_count(), 2);
  runtime.reset();
  timer.cancel();
  EXPECT_EQ(token.use_count(), 1) << "what the callback held is freed";
}

TEST(RuntimeAfter, ARuntimeCanBeDestroyedFromItsOwnCallback) {
  auto runtime = Runtime::create();
  Gate ended;
  Runtime* raw = runtime.get();
  raw->post_after(milliseconds(1), [&ended, keep = std::move(runtime)]() mutable {
    keep.reset();
    ended.open();
  });
  ended.wait();
}

TEST(AlarmTest, WakesTheConsumerThatPolledIt) {
  const auto runtime = Runtime::create();
  Alarm alarm(*runtime, milliseconds(2));
  Gate woken;
  if (!alarm.poll(Waker([&] { woken.open(); }))) woken.wait();
  EXPECT_TRUE(alarm.poll(Waker()));
  EXPECT_TRUE(alarm.poll(Waker())) << "and stays so";
}

TEST(AlarmTest, WakesNobodyAfterItIsDestroyed) {
  const auto runtime = Runtime::create();
  Gate woken;
  {
    Alarm alarm(*runtime, hours(1));
    EXPECT_FALSE(alarm.poll(Waker([&] { woken.open(); })));
  }
  EXPECT_FALSE(woken.is_open());
}

TEST(DeadlineAfter, NeverOverflows) {
  const auto now = Clock::now();
  EXPECT_EQ(deadline_after(milliseconds(5), now), now + milliseconds(5));
  EXPECT_EQ(deadline_after(milliseconds::max(), now), Clock::time_point::max());
  EXPECT_EQ(deadline_after(std::chrono::nanoseconds::max(), now), Clock::time_point::max());
  EXPECT_EQ(deadline_after(milliseconds::min(), now), now);
}

}  // namespace
}  // namespace allm::loop_test
