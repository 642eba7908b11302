// Workload (e): 20,000 chats, at most 1,000 in flight, each with a tool that takes 10 ms. One thread
// drives them all through poll(waker).
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "workloads.hpp"

namespace allm::bench {
namespace {

constexpr std::size_t kChats = 20'000;
constexpr std::size_t kInFlight = 1'000;
constexpr std::chrono::milliseconds kToolTime{10};

// Streams that can be polled again. Any thread adds streams; the polling thread removes all of them at once.
class ReadyQueue {
 public:
  void add(std::size_t index) {
    const std::lock_guard lock(mutex_);
    ready_.push_back(index);
    if (ready_.size() == 1) changed_.notify_one();
  }
  void take(std::vector<std::size_t>& taken) {
    taken.clear();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty(); });
    taken.swap(ready_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> ready_;
};

struct Slot {
  std::optional<EventStream> events;
  bool completed = false;
};

class Driver {
 public:
  Driver(std::shared_ptr<const FakeScript> script, std::vector<Tool> tools)
      : script_(std::move(script)), tools_(std::move(tools)), slots_(kInFlight) {}

  std::size_t run() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      wakers_.emplace_back([this, i] { ready_.add(i); });
      start(i);
      ready_.add(i);
    }
    std::vector<std::size_t> ready;
    while (ended_ < kChats) {
      ready_.take(ready);
      for (const std::size_t index : ready) advance(index);
    }
    return completed_;
  }

 private:
  void start(std::size_t index) {
    ++started_;
    const Engine engine({.adapter = std::make_shared<FakeAdapter>(script_), .tools = tools_});
    slots_[index].events = stream(engine, thread_);
  }

  void advance(std::size_t index) {
    Slot& slot = slots_[index];
    while (slot.events) {
      Poll polled = slot.events->poll(wakers_[index]);
      if (polled.is_pending()) return;
      if (polled.has_event()) {
        if (const auto* done = polled.event().get_if<ChatCompleted>()) {
          if (done->result->halted_reason() == halted::completed) ++completed_;
        }
        continue;
      }
      ++ended_;
      slot.events.reset();
      if (started_ < kChats) start(index);
    }
  }

  std::shared_ptr<const FakeScript> script_;
  std::vector<Tool> tools_;
  Thread thread_ = {user("hi")};
  std::vector<Slot> slots_;
  std::vector<Waker> wakers_;
  ReadyQueue ready_;
  std::size_t started_ = 0;
  std::size_t ended_ = 0;
  std::size_t completed_ = 0;
};

void concurrent_chats(benchmark::State& state, const Tool& echo) {
  const auto script = chat_script();
  for (auto _ : state) {
    if (Driver(script, {echo}).run() != kChats) {
      state.SkipWithError("wrong result");
      break;
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kChats));
}

// The handler answers later, from a timer of the runtime, so no thread waits.
void e_async(benchmark::State& state) {
  concurrent_chats(state, tool({.name = "echo", .handler = [](const Json& arguments, ToolCompletion done) {
                                  Runtime::process()->post_after(kToolTime, [arguments, done] { done(ok(arguments)); });
                                }}));
}
BENCHMARK(e_async)->UseRealTime()->Unit(benchmark::kMillisecond);

void e_blocking(benchmark::State& state) {
  concurrent_chats(state, tool({.name = "echo", .handler = [](const Json& arguments) {
                                  std::this_thread::sleep_for(kToolTime);
                                  return ok(arguments);
                                }}));
}
BENCHMARK(e_blocking)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace allm::bench
