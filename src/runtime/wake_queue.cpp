#include "allm/wake_queue.hpp"

#include <cerrno>
#include <mutex>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>
#include <unordered_set>
#include <utility>

namespace allm {

// Safe to call from any thread. Shared: wakers may outlive the queue.
class WakeQueue::State {
 public:
  class Target : public Waker::Target {
   public:
    Target(std::shared_ptr<State> state, std::uint64_t key) : state_(std::move(state)), key_(key) {}
    void wake() noexcept override { state_->put(key_); }

   private:
    const std::shared_ptr<State> state_;
    const std::uint64_t key_;
  };

  State() : fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "allm: cannot create an eventfd");
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { close(fd); }

  void put(std::uint64_t key) {
    const std::lock_guard lock(mutex_);
    if (!known_.insert(key).second) return;
    keys_.push_back(key);
    if (keys_.size() == 1) eventfd_write(fd, 1);
  }
  std::vector<std::uint64_t> take() {
    const std::lock_guard lock(mutex_);
    eventfd_t count = 0;
    eventfd_read(fd, &count);
    known_.clear();
    return std::exchange(keys_, {});
  }

  const int fd;

 private:
  std::mutex mutex_;
  std::vector<std::uint64_t> keys_;
  std::unordered_set<std::uint64_t> known_;  // those in keys_
};

WakeQueue::WakeQueue() : state_(std::make_shared<State>()) {}
WakeQueue::~WakeQueue() = default;
int WakeQueue::fd() const { return state_->fd; }
Waker WakeQueue::waker(std::uint64_t key) const { return Waker(std::make_shared<State::Target>(state_, key)); }
std::vector<std::uint64_t> WakeQueue::take() { return state_->take(); }

}  // namespace allm
