// How much of an answer the loop takes from a connection in one turn. Other connections, timers and cancellations wait
// for the end of a turn, so it must not take all that a fast server has sent.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "allm/runtime.hpp"

#include "http/client.hpp"
#include "http/transfer.hpp"
#include "runtime/function_task.hpp"
#include "runtime/loop.hpp"
#include "runtime/runtime_impl.hpp"
#include "runtime/test_waits.hpp"
#include "tests/http_server.hpp"

namespace allm::network_turns_test {
namespace {

using testing::Gate;
using testing::HttpServer;
using testing::Reply;
using testing::ServedRequest;

// Reads a transfer on the thread that drives the loop, whenever it is woken: once in a turn.
class Reader {
 public:
  explicit Reader(std::unique_ptr<HttpTransfer> transfer)
      : target_(std::make_shared<Target>(*this)), transfer_(std::move(transfer)) {
    read();
  }

  void wait() { ended_.wait(); }
  const std::string& body() const { return body_; }
  const std::string& error() const { return error_; }
  std::size_t largest_turn() const { return largest_turn_; }

 private:
  struct Target : Waker::Target {
    explicit Target(Reader& woken) : reader(woken) {}
    void wake() noexcept override { reader.read(); }
    Reader& reader;
  };

  void read() {
    const Waker waker(target_);
    std::size_t bytes = 0;
    while (true) {
      HttpTransfer::Progress progress = transfer_->poll(waker);
      if (const auto* const piece = std::get_if<std::string>(&progress)) {
        bytes += piece->size();
        body_ += *piece;
        continue;
      }
      if (std::holds_alternative<HttpResponseHead>(progress)) continue;
      largest_turn_ = std::max(largest_turn_, bytes);
      if (std::holds_alternative<HttpTransfer::Pending>(progress)) return;
      if (const auto* const error = std::get_if<HttpError>(&progress)) error_ = error->message;
      return ended_.open();
    }
  }

  const std::shared_ptr<Target> target_;
  const std::unique_ptr<HttpTransfer> transfer_;
  std::string body_;
  std::string error_;
  std::size_t largest_turn_ = 0;
  Gate ended_;
};

std::string head(std::string_view header) {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + std::string(header) + "\r\n\r\n";
}

struct Answer {
  std::string wire;
  std::string body;
};

std::vector<Answer> answers() {
  std::string large;
  while (large.size() < 4U << 20U) large += ": comment number " + std::to_string(large.size()) + "\n";
  std::string chunks;
  std::string chunked;
  for (std::size_t i = 0; i < 200'000; ++i) {
    const char byte = static_cast<char>('a' + i % 26);
    chunked += byte;
    chunks += std::string("1\r\n") + byte + "\r\n";
  }
  return {{head("Content-Length: " + std::to_string(large.size())) + large, large},
          {head("Connection: close") + large, large},
          {head("Transfer-Encoding: chunked") + chunks + "0\r\n\r\n", chunked}};
}

// An answer of answers(), and whether it comes over TLS.
class AttackTurns : public ::testing::TestWithParam<std::tuple<std::size_t, bool>> {};
std::string name_of(const ::testing::TestParamInfo<std::tuple<std::size_t, bool>>& test) {
  const auto [index, tls] = test.param;
  constexpr std::array kNames = {"WithALength", "UntilTheConnectionEnds", "InSingleByteChunks"};
  return std::string(kNames.at(index)) + (tls ? "Tls" : "Plain");
}
INSTANTIATE_TEST_SUITE_P(All, AttackTurns, ::testing::Combine(::testing::Range<std::size_t>(0, 3), ::testing::Bool()),
                         name_of);

TEST_P(AttackTurns, TakeLittleOfAnAnswerThatIsThereAlready) {
  const auto [index, tls] = GetParam();
  const Answer answer = answers().at(index);
  const HttpServer server(
      [&answer](const ServedRequest&, Reply& reply) {
        reply.write(answer.wire);
        if (answer.wire.find("Connection: close") != std::string::npos) reply.cut();
      },
      {.tls = tls});
  const auto runtime = Runtime::create();
  const std::shared_ptr<Loop> loop = RuntimeAccess::impl(*runtime).loop;
  HttpClient client(loop);
  std::unique_ptr<Reader> reader;
  Gate started;
  // The reader lives on the thread that drives.
  loop->post(function_task([&] {
    reader = std::make_unique<Reader>(client.start({.url = server.url() + "/", .headers = {}, .body = "{}"}, {}, {},
                                                   {.ca_file = server.ca_file(), .proxy = {}}));
    started.open();
  }));
  started.wait();
  reader->wait();
  EXPECT_EQ(reader->error(), "");
  EXPECT_TRUE(reader->body() == answer.body) << reader->body().size();
  // 64 KiB, the buffer that was read last and what a record of TLS has left.
  EXPECT_LE(reader->largest_turn(), 96U << 10U);
  Gate dropped;
  loop->post(function_task([&] {
    reader.reset();
    dropped.open();
  }));
  dropped.wait();
}

}  // namespace
}  // namespace allm::network_turns_test
