#include "testing/conformance/probe.hpp"

#include <thread>
#include <utility>

namespace allm::conformance {

void Probe::enter(const char* name) {
  const std::lock_guard lock(mutex_);
  name_ = name;
  since_ = std::chrono::steady_clock::now();
  changed_.notify_all();
}

void Probe::finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

const char* Probe::watch(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  while (!finished_) {
    if (name_ == nullptr) {
      changed_.wait(lock);
    } else if (const auto end = since_ + limit; std::chrono::steady_clock::now() >= end) {
      return name_;
    } else {
      changed_.wait_until(lock, end);
    }
  }
  return nullptr;
}

std::optional<std::string> run_probe(std::chrono::milliseconds limit, std::function<void(Probe&)> body) {
  const auto probe = std::make_shared<Probe>();
  std::thread thread([probe, body = std::move(body)] {
    body(*probe);
    probe->finish();
  });
  const char* const blocked = probe->watch(limit);
  if (blocked == nullptr) {
    thread.join();
    return std::nullopt;
  }
  thread.detach();
  return std::string(blocked) + " did not return within " + std::to_string(limit.count()) + " ms";
}

}  // namespace allm::conformance
