// Sends arbitrary bytes as the answer of a server through the whole client: a socket, curl, the transport, a codec and
// the engine. Checks that every call ends, with a response or with an error that can be written as JSON and does not
// show the key, and that the next call works, to a server that answers well. The first byte selects the provider and
// the form of the answer, the second the sizes of the pieces in which the server writes.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "allm/chat.hpp"
#include "allm/providers.hpp"
#include "allm/serialize.hpp"

namespace {

constexpr const char* kKey = "sk-fuzz-8sK3mQ7xV2bN5wR9";

constexpr std::string_view kGoodAnswer =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 80\r\n\r\n"
    R"({"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],"model":"m"})";

void require(bool condition) {
  if (!condition) std::abort();
}

// Answers every request with the same bytes and closes the connection.
class Server {
 public:
  Server() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    require(bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(listener_, 64) == 0);
    require(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/v1";
    std::thread([this] { serve(); }).detach();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& url() const { return url_; }
  void answer_with(std::string_view bytes, std::size_t piece) {
    const std::lock_guard lock(mutex_);
    answer_ = bytes;
    piece_ = piece;
  }

 private:
  void serve() {
    while (true) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      if (read_request(fd)) write_answer(fd);
      close(fd);
    }
  }

  static bool read_request(int fd) {
    std::string request;
    std::array<char, 4096> bytes{};
    while (!is_complete(request)) {
      const ssize_t count = recv(fd, bytes.data(), bytes.size(), 0);
      if (count <= 0) return false;
      request.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return true;
  }

  static bool is_complete(const std::string& request) {
    constexpr std::string_view kLength = "Content-Length: ";
    const std::size_t head = request.find("\r\n\r\n");
    const std::size_t length = request.find(kLength);
    if (head == std::string::npos || length == std::string::npos) return false;
    return request.size() - head - 4 >= std::strtoul(request.c_str() + length + kLength.size(), nullptr, 10);
  }

  void write_answer(int fd) {
    constexpr int kPieces = 16;  // the rest is written at once
    std::string answer;
    std::size_t piece = 0;
    {
      const std::lock_guard lock(mutex_);
      answer = answer_;
      piece = piece_;
    }
    std::string_view rest = answer;
    for (int i = 0; !rest.empty(); ++i) {
      const std::size_t size = i < kPieces ? std::min(piece, rest.size()) : rest.size();
      const ssize_t count = send(fd, rest.data(), size, MSG_NOSIGNAL);
      if (count <= 0) return;
      rest.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  const int listener_;
  std::string url_;
  std::mutex mutex_;
  std::string answer_;
  std::size_t piece_ = 1;
};

Server& server() {
  static auto* const shared = new Server;  // its thread runs until the program ends
  return *shared;
}

Server& good_server() {
  static auto* const shared = [] {
    auto* const made = new Server;
    made->answer_with(kGoodAnswer, kGoodAnswer.size());
    return made;
  }();
  return *shared;
}

allm::Engine engine_with(std::shared_ptr<allm::Adapter> adapter, allm::RetryPolicy retry = allm::RetryPolicy::off()) {
  return allm::Engine({.adapter = std::move(adapter), .model = "m", .retry = std::move(retry)});
}

// It retries, because curl may use the connection of the call before, which the server is closing. The server is
// another one: bytes after the end of an answer can become the answer to the next call on that connection.
const allm::Engine& next_engine() {
  using Endpoint = allm::OpenAiOptions::Endpoint;
  static const auto* const shared = new allm::Engine(engine_with(
      allm::openai({.base_url = good_server().url(), .endpoint = Endpoint::chat, .api_key = kKey}),
      {.max_attempts = 10, .base_delay = std::chrono::milliseconds(1), .jitter = std::chrono::milliseconds(0)}));
  return *shared;
}

const std::vector<allm::Engine>& engines() {
  static const auto* const shared = [] {
    using Endpoint = allm::OpenAiOptions::Endpoint;
    allm::HttpOptions http;
    http.max_body_bytes = std::size_t{4} << 20U;
    http.max_event_bytes = std::size_t{64} << 10U;
    const std::string& url = server().url();
    return new std::vector{
        engine_with(allm::openai({.base_url = url, .endpoint = Endpoint::chat, .api_key = kKey, .http = http})),
        engine_with(allm::openai({.base_url = url, .endpoint = Endpoint::responses, .api_key = kKey, .http = http})),
        engine_with(allm::anthropic({.base_url = url, .api_key = kKey, .http = http})),
        engine_with(allm::gemini({.base_url = url, .api_key = kKey, .http = http}))};
  }();
  return *shared;
}

void check(const allm::Result<allm::Response>& response) {
  const allm::Result<std::string> json = response ? to_json(*response) : to_json(response.error());
  require(json.has_value());
  require(response || json->find(kKey) == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const allm::Request request{.messages = {allm::user("hi")}, .max_tokens = 9, .stream = (data[0] & 0x80U) == 0};
  server().answer_with({reinterpret_cast<const char*>(data) + 2, size - 2}, std::size_t{data[1]} * 4 + 1);
  check(generate(engines()[data[0] % engines().size()], request));
  const allm::Result<allm::Response> next = generate(next_engine(), request);
  if (!next) std::fprintf(stderr, "the next call failed: %s\n", next.error().message().c_str());
  require(next && next->text() == "hello");
  return 0;
}
