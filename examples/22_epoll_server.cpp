// A chat server with 1,000 chats at once on one thread, with plain epoll.
//
// A client sends a line and gets the answer while the model writes it. A WakeQueue tells the loop which chats to poll:
// while the model is silent, a chat occupies no thread. The program starts the server and its clients itself.
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allm/allm.hpp"
#include "allm/fake.hpp"
#include "allm/wake_queue.hpp"

namespace {

constexpr std::size_t kChats = 1000;

// Closes its descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(fd_); }
  int get() const { return fd_; }

 private:
  int fd_;
};

// Appends the bytes that can be read now. Returns whether the other side has closed the connection.
bool read_all(int fd, std::string& text) {
  std::array<char, 256> buffer{};
  while (true) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got <= 0) return got == 0;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

// [chat]
// One client's chat: reads a line, writes the answer.
class Chat {
 public:
  Chat(int fd, const allm::Engine& engine, allm::Waker waker)
      : socket_(fd), engine_(engine), waker_(std::move(waker)) {}

  void on_readable() {
    read_all(socket_.get(), line_);
    if (stream_ || !line_.ends_with('\n')) return;
    stream_.emplace(allm::stream(engine_, {allm::user(line_)}));
    waker_.wake();
  }
  // Writes the text that the model has sent. False at the end of the answer.
  bool advance() {
    while (stream_) {
      const allm::Poll event = stream_->poll(waker_);
      if (event.is_pending()) return true;
      if (event.is_end()) return false;
      if (const auto* text = event.event().get_if<allm::TextDelta>()) send_text(text->delta);
    }
    return true;  // the wake-up was for an earlier chat that had this descriptor
  }

 private:
  // An answer of this example always fits into the socket's buffer.
  void send_text(const std::string& text) const { send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL); }

  Descriptor socket_;
  allm::Engine engine_;
  allm::Waker waker_;
  std::string line_;
  std::optional<allm::ChatStream> stream_;
};
// [/chat]

class Server {
 public:
  explicit Server(allm::Engine engine)
      : engine_(std::move(engine)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    listen(listener_.get(), SOMAXCONN);
    watch(listener_.get());
    watch(woken_.fd());
  }

  sockaddr_in address() const {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    return address;
  }
  void watch(int fd) const {
    epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};
    epoll_ctl(loop_.get(), EPOLL_CTL_ADD, fd, &event);
  }
  // Waits for events and handles those of the server. Returns the other descriptors that are ready.
  std::vector<int> run_once() {
    std::vector<int> others;
    std::array<epoll_event, 64> events{};
    const int count = epoll_wait(loop_.get(), events.data(), static_cast<int>(events.size()), 10'000);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == listener_.get()) {
        accept_all();
      } else if (fd == woken_.fd()) {
        advance_woken();
      } else if (const auto chat = chats_.find(fd); chat != chats_.end()) {
        chat->second.on_readable();
      } else {
        others.push_back(fd);
      }
    }
    return others;
  }

 private:
  void accept_all() {
    for (int fd = 0; (fd = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
      chats_.try_emplace(fd, fd, engine_, woken_.waker(static_cast<std::uint64_t>(fd)));
      watch(fd);
    }
  }
  void advance_woken() {
    for (const std::uint64_t key : woken_.take()) {
      const auto chat = chats_.find(static_cast<int>(key));
      if (chat != chats_.end() && !chat->second.advance()) chats_.erase(chat);
    }
  }

  allm::Engine engine_;
  Descriptor loop_{epoll_create1(EPOLL_CLOEXEC)};
  Descriptor listener_;
  allm::WakeQueue woken_;
  std::unordered_map<int, Chat> chats_;
};

// Each chat needs two descriptors: the server's end and the client's.
bool raise_descriptor_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 2 * kChats + 100;
}

allm::Engine make_engine() {
  using namespace std::chrono_literals;
  const allm::FakeCallScript script = {allm::fake_delay(100ms), allm::fake_text("Good "), allm::fake_delay(100ms),
                                       allm::fake_text("morning."), allm::fake_finish(allm::FinishReason::stop)};
  return allm::Engine({.adapter = allm::fake(allm::FakeScript(kChats, script))});
}

// Connects a client and sends its question.
int connect_client(const sockaddr_in& server) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0 || write(fd, "hello\n", 6) != 6) {
    std::cerr << "a client cannot connect\n";
  }
  return fd;
}

}  // namespace

int main() {
  if (!raise_descriptor_limit()) {
    std::cout << "skipped: the system allows too few open files\n";
    return 0;
  }
  Server server(make_engine());
  std::unordered_map<int, std::string> clients;
  std::size_t answered = 0;
  const auto read_answers = [&](const std::vector<int>& ready) {
    for (const int fd : ready) {
      const auto client = clients.find(fd);
      if (client == clients.end()) continue;
      std::string& answer = client->second;
      std::array<char, 64> buffer{};
      const ssize_t got = recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got > 0) answer.append(buffer.data(), static_cast<std::size_t>(got));
      if (got != 0) continue;
      if (answer == "Good morning.") ++answered;
      close(fd);
      clients.erase(fd);
    }
  };
  for (std::size_t i = 0; i < kChats; ++i) {
    const int fd = connect_client(server.address());
    clients.emplace(fd, "");
    server.watch(fd);
    if (i % 64 == 63) read_answers(server.run_once());  // the server accepts meanwhile
  }
  while (!clients.empty()) {
    const std::vector<int> ready = server.run_once();
    read_answers(ready);
  }
  std::cout << answered << " chats answered on one thread\n";
  return answered == kChats ? 0 : 1;
}
