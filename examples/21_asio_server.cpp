// A chat server with 1,000 chats at once on one thread, with Boost.Asio.
//
// A client sends a line and gets the answer while the model writes it. async_next reads the stream of a chat: while the
// model is silent, the chat occupies no thread. The program starts the server and its clients itself.
#include <chrono>
#include <cstddef>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include <boost/asio.hpp>

#include "allm/allm.hpp"
#include "allm/asio.hpp"
#include "allm/fake.hpp"

namespace {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

constexpr std::size_t kChats = 1000;

// [chat]
// One client's chat: reads a line, writes the answer, closes the connection.
class Chat : public std::enable_shared_from_this<Chat> {
 public:
  Chat(tcp::socket socket, const allm::Engine& engine) : socket_(std::move(socket)), engine_(engine) {}

  void start() {
    net::async_read_until(socket_, net::dynamic_buffer(line_), '\n',
                          [self = shared_from_this()](error_code error, std::size_t) {
                            if (!error) self->ask();
                          });
  }

 private:
  void ask() {
    stream_.emplace(allm::stream(engine_, {allm::user(line_)}));
    read_event();
  }
  void read_event() {
    allm::asio::async_next(*stream_, socket_.get_executor(),
                           [self = shared_from_this()](allm::Poll event) { self->take(std::move(event)); });
  }
  void take(allm::Poll event) {
    if (!event) return socket_.close();  // the end of the answer
    const auto* text = event.event().get_if<allm::TextDelta>();
    if (text == nullptr) return read_event();
    line_ = text->delta;
    net::async_write(socket_, net::buffer(line_), [self = shared_from_this()](error_code error, std::size_t) {
      if (!error) self->read_event();
    });
  }

  tcp::socket socket_;
  allm::Engine engine_;
  std::string line_;
  std::optional<allm::ChatStream> stream_;
};
// [/chat]

void accept(tcp::acceptor& acceptor, const allm::Engine& engine, std::size_t left) {
  acceptor.async_accept([&acceptor, engine, left](error_code error, tcp::socket socket) {
    if (error) return;
    std::make_shared<Chat>(std::move(socket), engine)->start();
    if (left > 1) accept(acceptor, engine, left - 1);
  });
}

// Asks one question and counts correct answers.
class Client : public std::enable_shared_from_this<Client> {
 public:
  Client(net::io_context& loop, std::size_t& answered) : socket_(loop), answered_(answered) {}
  void start(const tcp::endpoint& server) {
    socket_.async_connect(server, [self = shared_from_this()](error_code error) {
      if (!error) self->ask();
    });
  }

 private:
  void ask() {
    net::async_write(socket_, net::buffer(kQuestion), [self = shared_from_this()](error_code error, std::size_t) {
      if (!error) self->read();
    });
  }
  void read() {
    net::async_read(socket_, net::dynamic_buffer(answer_), [self = shared_from_this()](error_code, std::size_t) {
      if (self->answer_ == "Good morning.") ++self->answered_;
    });
  }

  static constexpr std::string_view kQuestion = "hello\n";
  tcp::socket socket_;
  std::string answer_;
  std::size_t& answered_;
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
  return allm::Engine({.adapter = allm::fake(allm::FakeScript(kChats + 1, script))});
}

}  // namespace

int main() {
  if (!raise_descriptor_limit()) {
    std::cout << "skipped: the system allows too few open files\n";
    return 0;
  }
  net::io_context loop(1);
  tcp::acceptor acceptor(loop, {net::ip::address_v4::loopback(), 0});
  const allm::Engine engine = make_engine();
  accept(acceptor, engine, kChats);
  // The server asks a question of its own: the whole run is one operation.
  std::string summary;
  allm::ChatStream question = allm::stream(engine, {allm::user("How do you greet?")});
  allm::asio::async_finish(question, loop.get_executor(), [&summary](const allm::Result<allm::ChatResult>& result) {
    summary = result ? result->text() : result.error().message();
  });
  std::size_t answered = 0;
  for (std::size_t i = 0; i < kChats; ++i) {
    std::make_shared<Client>(loop, answered)->start(acceptor.local_endpoint());
  }
  loop.run();
  std::cout << answered << " chats answered on one thread: " << summary << '\n';
  return answered == kChats && summary == "Good morning." ? 0 : 1;
}
