// A function as a task of the loop.
#pragma once

#include <memory>
#include <utility>

#include "runtime/loop.hpp"

namespace allm {

template <class Function>
class FunctionTask : public LoopTask {
 public:
  explicit FunctionTask(Function function) : function_(std::move(function)) {}
  void fire() noexcept override { function_(); }

 private:
  Function function_;
};

// The function must return quickly and not throw.
template <class Function>
std::shared_ptr<LoopTask> function_task(Function function) {
  return std::make_shared<FunctionTask<Function>>(std::move(function));
}

}  // namespace allm
