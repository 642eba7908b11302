// A function as a task of the loop.
#pragma once

#include <functional>
#include <utility>

#include "runtime/loop.hpp"

namespace allm {

// The function must return quickly and not throw.
class FunctionTask : public Timer::Task {
 public:
  explicit FunctionTask(std::function<void()> function) : function_(std::move(function)) {}
  void fire() noexcept override { function_(); }

 private:
  std::function<void()> function_;
};

}  // namespace allm
