// Several runs on your own event loop, one thread, nothing blocking.
//
// A stream is polled with a waker. Pending means: the waker will be called, from whatever thread,
// when polling again is worth it. Here it writes to an eventfd that epoll watches. The tool answers
// late, from the same loop: while it waits it holds no thread.
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

// Closes its descriptor. Shared with wakers, which may be called after their stream is gone.
struct Descriptor {
  explicit Descriptor(int opened) : fd(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(fd); }
  const int fd;
};

// A sensor that takes a moment. Handlers queue up from worker threads; the loop answers them all
// when the timer has fired.
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
// A run, and the bell that is rung when it can go on.
class Conversation {
 public:
  Conversation(const allm::Engine& engine, const std::string& text)
      : bell_(std::make_shared<Descriptor>(eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC))),  // 1: rung, to begin with
        waker_([bell = bell_] { eventfd_write(bell->fd, 1); }),
        stream_(allm::stream(engine, {allm::user(text)})) {}

  // Takes what is there. False at the end.
  bool advance() {
    eventfd_t rung = 0;
    eventfd_read(bell_->fd, &rung);
    while (true) {
      const allm::Poll polled = stream_.poll(waker_);
      if (polled.is_end()) return false;
      if (polled.is_pending()) return true;
      collector_.apply(polled.event());
    }
  }
  int fd() const { return bell_->fd; }
  std::string text() const {
    const auto result = collector_.chat_result();
    return result ? result->text() : result.error().message();
  }

 private:
  std::shared_ptr<Descriptor> bell_;
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
