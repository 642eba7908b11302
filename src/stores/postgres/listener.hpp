// Receives the notifications of a store (LISTEN) on a connection of its own, for all threads that wait.
//
// A notification says that something may have changed: the thread looks at the tables again. When the connection was
// lost, notifications may be missing, so all threads are woken after it is back.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "process/fd.hpp"
#include "stores/postgres/connection.hpp"

namespace allm::postgres {

// Safe to call from any thread.
class Listener {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Listener(Address address) : address_(std::move(address)) {}
  ~Listener();  // no thread may be waiting
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // The number of notifications about jobs so far, for wait_for_jobs.
  std::uint64_t job_signals();
  // Waits until job_signals() differs from `seen`, or until the time. Returns whether it differs.
  bool wait_for_jobs(std::uint64_t seen, Time until);

  // Waits for notifications about the log of one session, from its construction on. One thread at a time.
  class LogWaiter {
   public:
    LogWaiter(Listener& listener, std::string id);
    ~LogWaiter();
    LogWaiter(const LogWaiter&) = delete;
    LogWaiter& operator=(const LogWaiter&) = delete;
    // Waits until there was a notification since the last call, or until the time.
    void wait(Time until);

   private:
    friend class Listener;
    Listener& listener_;
    const std::string id_;
    bool signalled_ = false;
  };

 private:
  void start();  // the first call starts the thread; needs the mutex
  void run();
  void receive(Connection& connection);
  bool wait_for_input(int socket, std::chrono::milliseconds timeout);
  void handle(const PGnotify& notification);
  void wake_all();

  const Address address_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_multimap<std::string, LogWaiter*> log_waiters_;
  std::uint64_t job_signals_ = 0;
  Fd stop_;  // an eventfd that is readable when the thread must end
  std::thread thread_;
};

}  // namespace allm::postgres
