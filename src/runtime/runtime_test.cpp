#include "allm/runtime.hpp"

#include <functional>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "runtime/pool.hpp"
#include "runtime/runtime_impl.hpp"
#include "runtime/test_waits.hpp"

namespace allm::runtime_test {
namespace {

using testing::Gate;

class Job : public Pool::Task {
 public:
  explicit Job(std::function<void()> function) : function_(std::move(function)) {}
  void run() noexcept override { function_(); }

 private:
  std::function<void()> function_;
};

TEST(Runtime, TheProcessHasOne) {
  EXPECT_EQ(Runtime::process(), Runtime::process());
  EXPECT_EQ(Runtime::process()->options().max_set_aside, 1024U);
}

TEST(Runtime, WithoutWorkStartsNoThread) {
  const auto runtime = Runtime::create();
  EXPECT_EQ(runtime->stats().threads, 0U);
}

TEST(Runtime, ItsDestructorDoesNotWaitForARunningHandler) {
  auto runtime = Runtime::create();
  Gate entered;
  Gate may_end;
  Gate ended;
  RuntimeAccess::impl(*runtime).pool->submit(std::make_shared<Job>([&] {
    entered.open();
    may_end.wait();
    ended.open();
  }));
  entered.wait();
  const std::weak_ptr<Pool> pool = RuntimeAccess::impl(*runtime).pool;
  runtime.reset();
  EXPECT_FALSE(pool.expired()) << "the running thread keeps what it needs";
  may_end.open();
  ended.wait();
  testing::eventually([&] { return pool.expired(); }, "the pool's end");
}

TEST(Runtime, CanBeDestroyedByAHandler) {
  // The handler holds the last reference, as the handler of a dropped run may.
  auto runtime = Runtime::create();
  Gate ended;
  const std::shared_ptr<Pool> pool = RuntimeAccess::impl(*runtime).pool;
  pool->submit(std::make_shared<Job>([&ended, keep = std::move(runtime)]() mutable {
    keep.reset();
    ended.open();
  }));
  ended.wait();
}

}  // namespace
}  // namespace allm::runtime_test
