// What a Runtime is made of, for the layers above.
#pragma once

#include <memory>

#include "allm/runtime.hpp"

#include "runtime/loop.hpp"
#include "runtime/pool.hpp"

namespace allm {

class Runtime::Impl {
 public:
  explicit Impl(const RuntimeOptions& runtime_options)
      : options(runtime_options), loop(std::make_shared<Loop>()), pool(std::make_shared<Pool>(runtime_options)) {}

  const RuntimeOptions options;
  const std::shared_ptr<Loop> loop;
  const std::shared_ptr<Pool> pool;
};

}  // namespace allm
