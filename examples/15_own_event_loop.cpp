// Several runs on the program's own event loop, in one thread that never blocks in a run.
//
// A stream is polled with a waker. If the result is pending, the waker will be called, from any thread, when the stream
// should be polled again. Here the waker writes to an eventfd that epoll watches. The tool answers later, from the same
// loop: while it waits, it occupies no thread.
#include <chrono>
#include <cstddef>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

// Closes its descriptor. Shared with wakers, which may be called after their stream was destroyed.
struct Descriptor {
  explicit Descriptor(int opened) : fd(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(fd); }
  const int fd;
};

// A slow sensor. Handlers add their completions from pool threads; the loop answers all of them when the timer has
// fired.
class Sensor {
 public:
  void ask(allm::ToolCompletion done) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(done));
    const itimerspec in_20_ms = {.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 20'000'000}};
    timerfd_settime(timer_.fd, 0, &in_20_ms, nullptr);
  }
  void answer() {
    eventfd_t fired = 0;
    eventfd_read(timer_.fd, &fired);
    const std::lock_guard lock(mutex_);
    for (const allm::ToolCompletion& done : waiting_) done(allm::ok({{"celsius", 21}}));
    waiting_.clear();
  }
  int fd() const { return timer_.fd; }

 private:
  Descriptor timer_{timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)};
  std::mutex mutex_;
  std::vector<allm::ToolCompletion> waiting_;
};

// [conversation]
// A run, and an eventfd that the waker writes to.
class Conversation {
 public:
  Conversation(const allm::Engine& engine, const std::string& text)
      : wakeup_(std::make_shared<Descriptor>(eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC))),  // 1: poll once at first
        waker_([wakeup = wakeup_] { eventfd_write(wakeup->fd, 1); }),
        stream_(allm::stream(engine, {allm::user(text)})) {}

  // Reads the events that are ready. False at the end.
  bool advance() {
    eventfd_t count = 0;
    eventfd_read(wakeup_->fd, &count);
    while (true) {
      const allm::Poll polled = stream_.poll(waker_);
      if (polled.is_end()) return false;
      if (polled.is_pending()) return true;
      collector_.apply(polled.event());
    }
  }
  int fd() const { return wakeup_->fd; }
  std::string text() const {
    const auto result = collector_.chat_result();
    return result ? result->text() : result.error().message();
  }

 private:
  std::shared_ptr<Descriptor> wakeup_;
  allm::Waker waker_;
  allm::EventStream stream_;
  allm::StreamCollector collector_;
};
// [/conversation]

allm::Engine make_engine(const std::shared_ptr<Sensor>& sensor) {
  const allm::Tool measure = allm::tool({
      .name = "measure",
      .description = "Reads the sensor.",
      .handler = [sensor](const allm::Json&, allm::ToolCompletion done) { sensor->ask(std::move(done)); },
  });
  return allm::Engine({
      .adapter = allm::fake({
          {allm::fake_tool_call("call_1", "measure"), allm::fake_finish(allm::FinishReason::tool_calls)},
          {allm::fake_delay(std::chrono::milliseconds(5)), allm::fake_text("21 degrees."),
           allm::fake_finish(allm::FinishReason::stop)},
      }),
      .tools = {measure},
  });
}

}  // namespace

int main() {
  const auto sensor = std::make_shared<Sensor>();
  std::vector<Conversation> conversations;
  for (const char* room : {"kitchen", "cellar", "attic"}) conversations.emplace_back(make_engine(sensor), room);

  const Descriptor loop(epoll_create1(EPOLL_CLOEXEC));
  const auto watch = [&loop](int fd, std::size_t id) {
    epoll_event event = {.events = EPOLLIN, .data = {.u64 = id}};
    epoll_ctl(loop.fd, EPOLL_CTL_ADD, fd, &event);
  };
  const std::size_t sensor_id = conversations.size();
  for (std::size_t id = 0; id < conversations.size(); ++id) watch(conversations[id].fd(), id);
  watch(sensor->fd(), sensor_id);

  for (std::size_t running = conversations.size(); running > 0;) {
    epoll_event event = {};
    if (epoll_wait(loop.fd, &event, 1, 10'000) != 1) return fail("nothing happened for ten seconds");
    if (event.data.u64 == sensor_id) {
      std::cout << "the sensor answers\n";
      sensor->answer();
    } else if (Conversation& conversation = conversations[event.data.u64]; !conversation.advance()) {
      std::cout << "run " << event.data.u64 << ": " << conversation.text() << '\n';
      if (conversation.text() != "21 degrees.") return fail(conversation.text());
      --running;
    }
  }
  return 0;
}
