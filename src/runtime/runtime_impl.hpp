// The parts of a Runtime, for the layers above.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <typeindex>
#include <unordered_map>

#include "allm/error.hpp"
#include "allm/runtime.hpp"

#include "runtime/fork_guard.hpp"
#include "runtime/loop.hpp"
#include "runtime/pool.hpp"

namespace allm {

class Runtime::Impl {
 public:
  explicit Impl(const RuntimeOptions& runtime_options)
      : options(runtime_options), loop(std::make_shared<Loop>()), pool(std::make_shared<Pool>(runtime_options)) {
    count_forks();
  }

  // Whether this process is a fork of the one that made the runtime, so that its threads are missing.
  bool is_of_parent_process() const { return mark_.is_of_parent_process(); }

  // Starts the thread that a run needs. Fails in a forked child, and if the system refuses the thread.
  Status start() const;

  // The runtime's one object of type T, a type of a layer above. Made at its first use from the loop, and from the
  // options if T's constructor has them. Shared: the runtime releases it after the loop has stopped, but a run may hold
  // it longer.
  template <class T>
  std::shared_ptr<T> service() {
    const std::lock_guard lock(services_mutex_);
    std::shared_ptr<void>& service = services_[typeid(T)];
    if (!service) {
      if constexpr (std::is_constructible_v<T, std::shared_ptr<Loop>, const RuntimeOptions&>) {
        service = std::make_shared<T>(loop, options);
      } else {
        service = std::make_shared<T>(loop);
      }
    }
    return std::static_pointer_cast<T>(service);
  }

  const RuntimeOptions options;
  const std::shared_ptr<Loop> loop;
  const std::shared_ptr<Pool> pool;

 private:
  const ForkMark mark_;
  std::mutex services_mutex_;
  std::unordered_map<std::type_index, std::shared_ptr<void>> services_;
};

// The library's access to what the public header hides.
class RuntimeAccess {
 public:
  using Impl = Runtime::Impl;
  static Impl& impl(const Runtime& runtime) { return *runtime.impl_; }
};

}  // namespace allm
