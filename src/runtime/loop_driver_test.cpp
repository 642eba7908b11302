// Which thread drives the loop: one that waits for a result, or the loop thread.
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <sys/epoll.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/function_task.hpp"
#include "runtime/loop.hpp"
#include "runtime/parker.hpp"
#include "runtime/test_waits.hpp"

namespace allm::loop_driver_test {
namespace {

using Clock = std::chrono::steady_clock;
using testing::Counter;
using testing::Gate;

// A pipe whose bytes the driver reads.
class Pipe : public Watcher {
 public:
  explicit Pipe(std::function<void()> taken) : taken_(std::move(taken)) { EXPECT_EQ(pipe(ends_.data()), 0); }
  ~Pipe() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  int fd() const { return ends_[0]; }
  void put() const { EXPECT_EQ(write(ends_[1], "x", 1), 1); }
  void ready(int fd, unsigned /*events*/) noexcept override {
    char byte = 0;
    EXPECT_EQ(read(fd, &byte, 1), 1);
    taken_();
  }

 private:
  std::array<int, 2> ends_{};
  std::function<void()> taken_;
};

// Which thread read how many bytes.
class Taker {
 public:
  explicit Taker(Parker& parker) : parker_(parker) {}
  void take() {
    thread_ = std::this_thread::get_id();
    ++count_;
    parker_.wake();
  }
  int count() const { return count_; }
  bool is_this_thread() const { return thread_.load() == std::this_thread::get_id(); }

 private:
  Parker& parker_;
  std::atomic<std::thread::id> thread_;
  std::atomic<int> count_ = 0;
};

class LoopDriverTest : public ::testing::Test {
 protected:
  // The loop thread looks at everything once when it starts.
  LoopDriverTest() {
    Gate started;
    post([&] { started.open(); });
    started.wait();
  }
  ~LoopDriverTest() override { loop_->stop(); }
  void post(std::function<void()> function) { loop_->post(function_task(std::move(function))); }
  // Takes effect with the next driver.
  void watch(Pipe& pipe) {
    loop_->post_deferred(function_task([this, &pipe] { loop_->watch(pipe.fd(), EPOLLIN, pipe); }));
  }
  void wait_until(const std::function<bool()>& done) {
    while (!done()) loop_->wait(*parker_, std::nullopt);
  }

  std::shared_ptr<Loop> loop_ = std::make_shared<Loop>();
  std::shared_ptr<Parker> parker_ = std::make_shared<Parker>();
};

TEST_F(LoopDriverTest, TheOnlyWaiterDrivesAndGetsWhatArrivesOnItsOwnThread) {
  const Loop::Awaited awaited(loop_, true);
  Taker taker(*parker_);
  Pipe pipe([&] { taker.take(); });
  watch(pipe);
  auto take_one = [&, count = 0]() mutable {
    pipe.put();
    ++count;
    wait_until([&] { return taker.count() == count; });
    return taker.is_this_thread();
  };
  while (!take_one()) {
  }
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(take_one());
}

TEST_F(LoopDriverTest, AnotherThreadCanWakeAWaiterThatDrives) {
  const Loop::Awaited awaited(loop_, true);
  for (int i = 0; i < 100; ++i) {
    const std::jthread other([&] { parker_->wake(); });
    EXPECT_TRUE(loop_->wait(*parker_, std::nullopt));
  }
}

TEST_F(LoopDriverTest, AWaiterLeavesAtItsDeadline) {
  const Loop::Awaited awaited(loop_, true);
  const auto deadline = Clock::now() + std::chrono::milliseconds(5);
  while (loop_->wait(*parker_, deadline)) {
  }
  EXPECT_GE(Clock::now(), deadline);
}

TEST_F(LoopDriverTest, AWaiterThatDrivesRunsWhatOthersPost) {
  const Loop::Awaited awaited(loop_, true);
  std::atomic<bool> ran = false;
  const std::jthread other([&] {
    post([&] {
      ran = true;
      parker_->wake();
    });
  });
  wait_until([&] { return ran.load(); });
}

TEST_F(LoopDriverTest, TimersFireWhileTheWaiterIsAway) {
  const Loop::Awaited awaited(loop_, true);
  parker_->wake();
  EXPECT_TRUE(loop_->wait(*parker_, std::nullopt));
  Gate fired;
  loop_->arm(function_task([&] { fired.open(); }), Clock::now() + std::chrono::milliseconds(1));
  fired.wait();
}

TEST_F(LoopDriverTest, TheLoopThreadDrivesForAWaiterThatDoesNot) {
  const Loop::Awaited awaited(loop_, false);
  Gate taken;
  Pipe pipe([&] { taken.open(); });
  watch(pipe);
  pipe.put();
  taken.wait();
}

TEST_F(LoopDriverTest, TheLoopThreadDrivesForSeveralWaitersUntilOneIsLeft) {
  const Loop::Awaited awaited(loop_, true);
  auto second = std::make_optional<Loop::Awaited>(loop_, true);
  Taker taker(*parker_);
  Pipe pipe([&] { taker.take(); });
  watch(pipe);
  pipe.put();
  wait_until([&] { return taker.count() == 1; });
  EXPECT_FALSE(taker.is_this_thread());
  second.reset();
  // The loop thread hands the driver role over at the next event, if not before.
  for (int i = 2; !taker.is_this_thread(); ++i) {
    pipe.put();
    wait_until([&] { return taker.count() == i; });
  }
}

TEST_F(LoopDriverTest, TheLoopThreadTakesOverFromAWaiterThatStaysAway) {
  const Loop::Awaited awaited(loop_, true);
  Gate taken;
  Pipe pipe([&] { taken.open(); });
  watch(pipe);
  parker_->wake();
  EXPECT_TRUE(loop_->wait(*parker_, std::nullopt));
  pipe.put();
  taken.wait();
}

TEST_F(LoopDriverTest, ManyThreadsDriveInTurn) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const auto parker = std::make_shared<Parker>();
      for (int n = 0; n < kRounds; ++n) {
        const Loop::Awaited awaited(loop_, n % 3 != 0);
        std::atomic<bool> done = false;
        Pipe pipe([&] {
          loop_->unwatch(pipe.fd());
          const std::shared_ptr<Parker> woken = parker;  // the waiter may destroy this lambda once `done` is set
          done = true;
          woken->wake();
        });
        watch(pipe);
        pipe.put();
        while (!done) loop_->wait(*parker, std::nullopt);
      }
    });
  }
}

TEST_F(LoopDriverTest, APausedWatchIsSilentAndCanBeResumed) {
  const Loop::Awaited awaited(loop_, false);
  Counter taken;
  Counter others;
  Pipe pipe([&] { taken.add(); });
  Pipe other([&] { others.add(); });
  watch(pipe);
  watch(other);
  pipe.put();
  taken.wait_for(1);
  // Nothing arrives while it is paused.
  post([&] { loop_->pause_watch(pipe.fd()); });
  watch(pipe);
  pipe.put();
  taken.wait_for(2);
  // Something arrives while it is paused: other descriptors still work, and the byte is there after the resume.
  Gate paused;
  post([&] {
    loop_->pause_watch(pipe.fd());
    paused.open();
  });
  paused.wait();
  pipe.put();
  for (std::size_t i = 1; i <= 3; ++i) {
    other.put();
    others.wait_for(i);
  }
  EXPECT_EQ(taken.value(), 2U);
  watch(pipe);
  taken.wait_for(3);
  Gate unwatched;
  post([&] {
    loop_->unwatch(pipe.fd());
    loop_->unwatch(other.fd());
    unwatched.open();
  });
  unwatched.wait();
}

TEST_F(LoopDriverTest, ADescriptorNumberThatIsReusedWhilePausedIsWatchedAnew) {
  const Loop::Awaited awaited(loop_, false);
  Gate paused;
  Counter taken;
  auto first = std::make_optional<Pipe>([] {});
  std::optional<Pipe> second;
  const int number = first->fd();
  post([&] {
    loop_->watch(number, EPOLLIN, *first);
    loop_->pause_watch(number);
    paused.open();
  });
  paused.wait();
  first.reset();
  second.emplace([&] { taken.add(); });
  ASSERT_EQ(second->fd(), number);
  watch(*second);
  second->put();
  taken.wait_for(1);
  Gate unwatched;
  post([&] {
    loop_->unwatch(number);
    unwatched.open();
  });
  unwatched.wait();
}

// Computes for twice as long as the driver may without a look at its tasks.
void compute() {
  const auto computed = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  const auto end = computed() + 2 * Poller::kMaxDispatch;
  while (computed() < end) {
  }
}

TEST_F(LoopDriverTest, TasksAreLookedAtBetweenDescriptorsThatAreReadyTogether) {
  constexpr std::size_t kPipes = 16;
  for (const bool waiter_drives : {false, true}) {
    const Loop::Awaited awaited(loop_, waiter_drives);
    Counter called;
    std::size_t called_before_timer = 0;
    std::size_t called_before_task = 0;
    Gate fired;
    const auto timer = function_task([&] {
      called_before_timer = called.value();
      fired.open();
    });
    std::vector<std::unique_ptr<Pipe>> pipes;
    for (std::size_t i = 0; i < kPipes; ++i) {
      pipes.push_back(std::make_unique<Pipe>([&] {
        if (called.value() == 0) {
          loop_->arm(timer, Clock::now());
          post([&] { called_before_task = called.value(); });
        }
        compute();
        called.add();
        if (called.value() == kPipes) parker_->wake();
      }));
    }
    const auto on_all = [&](const std::function<void(Pipe&)>& function) {
      loop_->post_deferred(function_task([&pipes, function] {
        for (const auto& pipe : pipes) function(*pipe);
      }));
    };
    on_all([&](Pipe& pipe) {
      loop_->watch(pipe.fd(), EPOLLIN, pipe);
      pipe.put();
    });
    wait_until([&] { return called.value() == kPipes; });
    fired.wait();
    EXPECT_EQ(called_before_task, 1U);
    EXPECT_EQ(called_before_timer, 1U);
    Gate unwatched;
    on_all([&](Pipe& pipe) { loop_->unwatch(pipe.fd()); });
    post([&] { unwatched.open(); });
    unwatched.wait();
  }
}

TEST_F(LoopDriverTest, ABrokenPipeRaisesNoSignalOnTheWaiter) {
  const Loop::Awaited awaited(loop_, true);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  close(ends[0]);
  loop_->expect_broken_pipes();
  bool broken = false;
  loop_->post_deferred(function_task([&] {
    broken = write(ends[1], "x", 1) < 0 && errno == EPIPE;
    parker_->wake();
  }));
  wait_until([&] { return broken; });
  sigset_t blocked;
  sigset_t pending;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  sigpending(&pending);
  EXPECT_EQ(sigismember(&blocked, SIGPIPE), 0);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
  close(ends[1]);
}

TEST_F(LoopDriverTest, StoppingWaitsForTheWaiterToLeave) {
  const Loop::Awaited awaited(loop_, true);
  Gate driving;
  loop_->post_deferred(function_task([&] { driving.open(); }));
  std::jthread waiter([&] { loop_->wait(*parker_, std::nullopt); });
  driving.wait();
  loop_->stop();
  parker_->wake();
}

}  // namespace
}  // namespace allm::loop_driver_test
