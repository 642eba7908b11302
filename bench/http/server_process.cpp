#include "bench/http/server_process.hpp"

#include <array>
#include <atomic>
#include <exception>
#include <fcntl.h>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "bench/http/answers.hpp"
#include "tests/http2_front.hpp"
#include "tests/http_server.hpp"

namespace allm::bench {
namespace {

using testing::HttpServer;
using testing::Reply;
using testing::ServedRequest;

class Servers {
 public:
  Servers() : plain_(handler(), {.tls = false}), tls_(handler(), {.tls = true}) {
    try {
      front_.emplace(plain_);
    } catch (const std::exception&) {
      // The others do not need it.
    }
  }
  ~Servers() {
    over_ = true;
    over_.notify_all();
  }
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;

  std::string words() const {
    return fmt::format("{} {} {} {} {}\n", plain_.url(), tls_.url(), tls_.ca_file(), plain_.ca_file(),
                       front_ ? front_->url() : "");
  }

 private:
  HttpServer::Handler handler() {
    return [this](const ServedRequest& request, Reply& reply) {
      if (request.target.starts_with(kWaiting)) return wait(reply);
      answer(request, reply);
    };
  }
  void wait(Reply& reply) {
    begin_answer(reply);
    over_.wait(false);
    reply.cut();
  }

  std::atomic<bool> over_ = false;
  HttpServer plain_;
  HttpServer tls_;
  std::optional<testing::Http2Front> front_;
};

// Serves until the other end of `stop` is closed, which also happens when its process ends.
int serve(int report, int stop) {
  try {
    const Servers servers;
    const std::string words = servers.words();
    if (write(report, words.data(), words.size()) < 0) return 1;
    char byte = 0;
    while (read(stop, &byte, 1) > 0) {
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "the server does not start: {}\n", error.what());
    return 1;
  }
}

}  // namespace

ServerProcess::ServerProcess() {
  std::array<int, 2> report{};
  std::array<int, 2> stop{};
  if (pipe2(report.data(), O_CLOEXEC) != 0 || pipe2(stop.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  process_ = fork();
  if (process_ == 0) {
    close(report[0]);
    close(stop[1]);
    _exit(serve(report[1], stop[0]));
  }
  close(report[1]);
  close(stop[0]);
  stop_ = stop[1];
  std::string words;
  std::array<char, 4096> bytes{};
  while (!words.ends_with('\n')) {
    const ssize_t count = read(report[0], bytes.data(), bytes.size());
    if (count <= 0) break;
    words.append(bytes.data(), static_cast<std::size_t>(count));
  }
  close(report[0]);
  std::istringstream(words) >> urls_.plain >> urls_.tls >> urls_.tls_ca >> urls_.http2_ca >> urls_.http2;
  if (urls_.http2_ca.empty()) throw std::runtime_error("no server");
}

ServerProcess::~ServerProcess() {
  close(stop_);
  waitpid(process_, nullptr, 0);
}

}  // namespace allm::bench
