#include "testing/conformance/reading.hpp"

#include <exception>
#include <utility>

namespace allm::conformance {
namespace {

// Reading stops here: no correct answer has so many events.
constexpr std::size_t kEndless = 1'000'000;
// How often a source is polled after its end.
constexpr int kPollsAfterEnd = 3;

// Whether a waker was called. Shared with the wakers, because they may be called after the reader was destroyed.
class Wake {
 public:
  static std::shared_ptr<Wake> make() { return std::make_shared<Wake>(); }
  static Waker waker(const std::shared_ptr<Wake>& wake) {
    return Waker([wake] { wake->set(); });
  }
  bool wait(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] { return woken_; });
  }
  bool woken() {
    const std::lock_guard lock(mutex_);
    return woken_;
  }

 private:
  void set() {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
};

class Reader {
 public:
  Reader(Probe& probe, const ReadLimits& limits) : probe_(probe), limits_(limits) {}

  Reading read(Adapter& adapter, const AdapterCall& call) {
    try {
      auto opened = probe_.call("open()", [&] { return adapter.open(call); });
      if (!opened) {
        reading_.open_error = opened.error();
      } else if (*opened == nullptr) {
        reading_.no_source = true;
      } else {
        source_ = *std::move(opened);
        read_events();
      }
    } catch (const std::exception& exception) {
      reading_.thrown = exception.what();
    } catch (...) {
      reading_.thrown = "something that is not a std::exception";
    }
    probe_.call("the destructor of the source", [&] { source_.reset(); });
    return std::move(reading_);
  }

 private:
  Poll poll(const std::shared_ptr<Wake>& wake) {
    return probe_.call("poll()", [&] { return source_->poll(Wake::waker(wake)); });
  }

  void read_events() {
    while (reading_.events.size() < limits_.events && reading_.events.size() < kEndless) {
      const auto first = Wake::make();
      const auto second = Wake::make();
      Poll got = poll(first);
      if (got.is_pending() && limits_.drop_pending) return;
      // A second poll with another waker: the source must call only the waker of the latest poll.
      if (got.is_pending()) got = poll(second);
      if (got.is_pending()) {
        if (!second->wait(limits_.timeout)) return not_woken(*first);
        continue;
      }
      if (got.is_end()) return at_end();
      reading_.events.push_back(got.take());
    }
  }

  void not_woken(Wake& earlier) {
    reading_.stale_waker = earlier.woken();
    reading_.never_woken = !reading_.stale_waker;
  }

  void at_end() {
    reading_.ended = true;
    for (int i = 0; i < kPollsAfterEnd; ++i) {
      if (!poll(Wake::make()).is_end()) reading_.event_after_end = true;
    }
  }

  Probe& probe_;
  const ReadLimits& limits_;
  std::unique_ptr<EventSource> source_;
  Reading reading_;
};

}  // namespace

Reading read_call(Probe& probe, Adapter& adapter, const AdapterCall& call, const ReadLimits& limits) {
  return Reader(probe, limits).read(adapter, call);
}

}  // namespace allm::conformance
