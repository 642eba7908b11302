#include "runtime/pool.hpp"

#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/test_waits.hpp"

namespace allm::pool_test {
namespace {

using std::chrono::milliseconds;
using testing::Counter;
using testing::eventually;
using testing::Gate;
using testing::HighWater;

class Job : public Pool::Task {
 public:
  explicit Job(std::function<void()> function) : function_(std::move(function)) {}
  void run() noexcept override { function_(); }

 private:
  std::function<void()> function_;
};

// A pool that is stopped at the end, as a runtime would.
class PoolTest : public ::testing::Test {
 protected:
  ~PoolTest() override {
    if (pool_) pool_->stop();
  }
  void make(RuntimeOptions options = {}) { pool_ = std::make_shared<Pool>(options); }
  void submit(std::function<void()> function) { pool_->submit(std::make_shared<Job>(std::move(function))); }
  std::shared_ptr<Pool> pool_;
};

TEST_F(PoolTest, RunsEveryTaskOnce) {
  make();
  constexpr std::size_t kTasks = 5'000;
  std::vector<std::atomic<int>> runs(kTasks);
  Counter done;
  {
    std::vector<std::jthread> submitters;
    for (std::size_t part = 0; part < 4; ++part) {
      submitters.emplace_back([&, part] {
        for (std::size_t i = part; i < kTasks; i += 4) {
          submit([&, i] {
            ++runs[i];
            done.add();
          });
        }
      });
    }
  }
  done.wait_for(kTasks);
  for (const auto& count : runs) EXPECT_EQ(count, 1);
  eventually([&] { return pool_->stats().running == 0; }, "rest");
  EXPECT_EQ(pool_->stats().queued, 0U);
}

TEST_F(PoolTest, BlockedTasksDoNotDelayOthers) {
  make();
  constexpr int kBlocked = 20;
  // Passes only if all of them and the last task run at once.
  std::barrier all(kBlocked + 1);
  Counter done;
  for (int i = 0; i <= kBlocked; ++i) {
    submit([&] {
      all.arrive_and_wait();
      done.add();
    });
  }
  done.wait_for(kBlocked + 1);
}

TEST_F(PoolTest, TasksSubmittedByTasksRunToo) {
  make();
  Gate may_end;
  Gate inner;
  Counter ended;
  submit([&] {
    submit([&] {
      inner.open();
      may_end.wait();
      ended.add();
    });
    inner.wait();  // the outer one blocks until the inner one runs
    may_end.open();
    ended.add();
  });
  ended.wait_for(2);
}

TEST_F(PoolTest, MaxThreadsBoundsWhatRunsAtOnce) {
  make({.max_threads = 3});
  HighWater inside;
  Counter entered;
  Counter done;
  Gate may_end;
  for (int i = 0; i < 10; ++i) {
    submit([&] {
      inside.enter();
      entered.add();
      may_end.wait();
      inside.leave();
      done.add();
    });
  }
  entered.wait_for(3);
  EXPECT_EQ(pool_->stats().threads, 3U);
  EXPECT_EQ(pool_->stats().running, 3U);
  EXPECT_EQ(pool_->stats().queued, 7U);
  may_end.open();
  done.wait_for(10);
  EXPECT_EQ(inside.highest(), 3U);
}

TEST_F(PoolTest, AThreadThatIsSetAsideIsReplaced) {
  make({.max_threads = 1, .max_set_aside = 2});
  Gate may_end;
  Gate first_in;
  Gate second_in;
  submit([&] {
    first_in.open();
    may_end.wait();
    pool_->set_aside_returned();
  });
  first_in.wait();
  submit([&] { second_in.open(); });
  EXPECT_EQ(pool_->stats().queued, 1U);
  pool_->set_aside();
  second_in.wait();
  EXPECT_EQ(pool_->stats().set_aside, 1U);
  EXPECT_FALSE(pool_->full());
  pool_->set_aside();
  EXPECT_TRUE(pool_->full());
  pool_->set_aside_returned();
  may_end.open();
  eventually([&] { return pool_->stats().set_aside == 0; }, "the return");
  EXPECT_EQ(pool_->stats().late, 2U);
}

TEST_F(PoolTest, IdleThreadsEnd) {
  make({.idle_timeout = milliseconds(1)});
  Counter done;
  std::barrier all(8);
  for (int i = 0; i < 8; ++i) {
    submit([&] {
      all.arrive_and_wait();
      done.add();
    });
  }
  done.wait_for(8);
  eventually([&] { return pool_->stats().threads == 0; }, "the end of idle threads");
  Gate again;
  submit([&] { again.open(); });
  again.wait();
}

TEST_F(PoolTest, NoTaskIsLostWhileThreadsStartAndEnd) {
  make({.idle_timeout = milliseconds(0)});
  Counter done;
  for (std::size_t i = 1; i <= 300; ++i) {
    submit([&] { done.add(); });
    if (i % 3 == 0) done.wait_for(i);
  }
  done.wait_for(300);
}

TEST_F(PoolTest, StopEndsIdleThreadsAndWaitsForThem) {
  make({.idle_timeout = std::chrono::hours(1)});
  Counter done;
  std::barrier all(4);
  for (int i = 0; i < 4; ++i) {
    submit([&] {
      all.arrive_and_wait();
      done.add();
    });
  }
  done.wait_for(4);
  eventually([&] { return pool_->stats().running == 0; }, "rest");
  pool_->stop();
  EXPECT_EQ(pool_->stats().threads, 0U);
}

TEST_F(PoolTest, StopDoesNotWaitForRunningTasks) {
  make();
  Gate may_end;
  Gate entered;
  Gate ended;
  submit([&] {
    entered.open();
    may_end.wait();
    ended.open();
  });
  entered.wait();
  pool_->stop();
  EXPECT_EQ(pool_->stats().running, 1U);
  may_end.open();
  ended.wait();
  eventually([&] { return pool_->stats().threads == 0; }, "the thread's end");
}

TEST_F(PoolTest, StopDoesNotWaitForATaskThatIsAboutToRun) {
  // The thread may be on its way to the task when stop() begins to wait.
  for (int round = 0; round < 100; ++round) {
    make({.idle_timeout = milliseconds(0)});
    auto may_end = std::make_shared<Gate>();
    auto ended = std::make_shared<Gate>();
    submit([may_end, ended] {
      may_end->wait();
      ended->open();
    });
    pool_->stop();
    may_end->open();
    ended->wait();
  }
}

TEST_F(PoolTest, TasksAfterTheStopStillRun) {
  // A run that is dropped late asks its handlers to stop through the pool.
  make();
  pool_->stop();
  Gate ran;
  submit([&] { ran.open(); });
  ran.wait();
  eventually([&] { return pool_->stats().threads == 0; }, "the thread's end");
}

}  // namespace
}  // namespace allm::pool_test
