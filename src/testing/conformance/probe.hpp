// Runs code that may block for ever.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace allm::conformance {

// Says which call the code under test is in. Shared by the thread that runs it and the one that watches; safe for both.
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
  // The call that took longer than `limit`; null once the code has finished.
  const char* watch(std::chrono::milliseconds limit);

  std::mutex mutex_;
  std::condition_variable changed_;
  const char* name_ = nullptr;
  std::chrono::steady_clock::time_point since_;
  bool finished_ = false;
};

// Runs `body` on a thread of its own. If one of its calls takes longer than `limit` the thread is left behind and the
// result says which call it is. `body` owns all that it uses and handles its exceptions.
std::optional<std::string> run_probe(std::chrono::milliseconds limit, std::function<void(Probe&)> body);

}  // namespace allm::conformance
