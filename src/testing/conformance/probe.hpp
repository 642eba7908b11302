// Runs code that may block forever, under a watchdog.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace allm::conformance {

// Records which call of the code under test is running. Shared by the thread that runs the code and the thread that
// watches it; safe to call from both.
class Probe {
 public:
  // Runs `function`, which must return within the limit that run_probe was given.
  template <class Function>
  auto call(const char* name, Function function) {
    const Inside inside(*this, name);
    return function();
  }

 private:
  friend std::optional<std::string> run_probe(std::chrono::milliseconds, std::function<void(Probe&)>);
  class Inside {
   public:
    Inside(Probe& probe, const char* name) : probe_(probe) { probe_.enter(name); }
    ~Inside() { probe_.enter(nullptr); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Probe& probe_;
  };
  void enter(const char* name);
  void finish();
  // Blocks until the code has finished (null) or one call takes longer than `limit` (the name of that call).
  const char* watch(std::chrono::milliseconds limit);

  std::mutex mutex_;
  std::condition_variable changed_;
  const char* name_ = nullptr;
  std::chrono::steady_clock::time_point since_;
  bool finished_ = false;
};

// Runs `body` on a new thread and blocks until it has finished. If one of its calls takes longer than `limit`, the
// thread is detached and the result names the call; otherwise the result is nullopt. `body` must own everything that it
// uses and must not throw.
std::optional<std::string> run_probe(std::chrono::milliseconds limit, std::function<void(Probe&)> body);

}  // namespace allm::conformance
