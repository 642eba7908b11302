// Answers that take time or memory without end: slow heads, endless headers, compressed bombs, bodies that go on.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "data/base64.hpp"
#include "tests/chat_server.hpp"

namespace allm::network_answers_test {
namespace {

using std::chrono::milliseconds;
using testing::ask;
using testing::engine_at;
using testing::error_of;
using testing::expect_hello;
using testing::hello;
using testing::HttpServer;
using testing::kStream;
using testing::Reply;
using testing::say_hello;
using testing::ServedRequest;

// Repeats a piece, one every few milliseconds, until the client has gone. If it does not go, the test has failed.
void drip(Reply& reply, const std::string& begin, const std::string& piece) {
  reply.write(begin);
  for (int i = 0; i < 2'000 && !reply.gone(); ++i) {
    reply.write(piece);
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(reply.gone());
  reply.cut();
}

struct Drip {
  const char* name;
  std::string begin;
  std::string piece;
};

// Each piece restarted the timeout.
TEST(AttackSlowHead, IsATimeoutThoughTheServerSendsSomething) {
  for (const bool tls : {false, true}) {
    for (const Drip& one : std::vector<Drip>{
             {"100", "", "HTTP/1.1 100 Continue\r\n\r\n"},
             {"103", "", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"},
             {"header lines", "HTTP/1.1 200 OK\r\n", "X-More: x\r\n"},
             {"header bytes", "HTTP/1.1 200 OK\r\nX-More: ", "x"},
             {"folded lines", "HTTP/1.1 200 OK\r\nX-More: x\r\n", " x\r\n"},
         }) {
      SCOPED_TRACE(one.name);
      const HttpServer server([&](const ServedRequest&, Reply& reply) { drip(reply, one.begin, one.piece); },
                              {.tls = tls});
      const Error error = error_of(ask(engine_at(server, {.receive_timeout = milliseconds(100)})));
      EXPECT_EQ(error.reason(), "timeout") << error.message();
      EXPECT_NE(error.message().find("did not answer within 0.1 s"), std::string::npos) << error.message();
    }
  }
}

TEST(AttackSlowTrailers, DoNotExtendTheStreamTimeout) {
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    drip(reply, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
         "X-More: x\r\n");
  });
  const Error error = error_of(ask(engine_at(server, {.stream_timeout = milliseconds(100)})));
  EXPECT_EQ(error.reason(), "timeout") << error.message();
}

// An answer of the length 0x20000 * `blocks`, compressed to four bytes a block.
std::string zstd_bomb(std::size_t blocks) {
  std::string bytes("\x28\xb5\x2f\xfd\x00\x38", 6);
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::uint32_t head = (i + 1 == blocks ? 1U : 0U) | 1U << 1U | 0x20000U << 3U;
    for (const unsigned shift : {0U, 8U, 16U}) bytes += static_cast<char>(head >> shift);
    bytes += '\n';  // the repeated byte: empty lines of an event stream
  }
  return bytes;
}

// Four gigabytes of zeros, compressed three times.
std::string gzip_bomb() {
  return *base64_decode(
      "H4sIAAAAAAACA5Pv5mAAASbmt3cU8y4nyhx/WLY2QyCHQyRJJrntgqQJ05emg7o3ebelzIzyyLJgz2KfMTvGQHYdu8IEnxDBXVuP/6if5773"
      "l/r+ys+We+b1bvumtj//+OPnx48++t9vv1lcGWh0wgO9uli/bckHXrxN+/nwcTpI6MW+N/vnvHNrrFfP75vLDBRhe//q7sWD79oPPP758ool"
      "SMmHuPXhn++KFWzfWfn1pC1YRI4FpFTB1QDk4igwZwGEk4TMGZUZlRmVGZUZlRmVGZUZlRmVGZUZlRmVGZUZlRmVGZUZlRmVGZUZlRmVGZUZ"
      "lRmVGZWhgczT31Vbb/gxfv599tPr34Kx6Y/z67/X5cX7m+y8HbB3kz0DAI810T95GgAA");
}

struct Bomb {
  const char* encoding;
  std::string bytes;
};

TEST(AttackBomb, IsAnErrorBeforeItFillsTheMemory) {
  const std::size_t gigabyte = 8192;
  for (const Bomb& bomb : {Bomb{"zstd", zstd_bomb(gigabyte)}, Bomb{"gzip, gzip, gzip", gzip_bomb()}}) {
    for (const bool chunked : {false, true}) {
      for (const char* type : {kStream, "application/json"}) {
        SCOPED_TRACE(bomb.encoding);
        const HttpServer server([&](const ServedRequest&, Reply& reply) {
          if (!chunked) return reply.send(200, type, bomb.bytes, {{"Content-Encoding", bomb.encoding}});
          reply.write("HTTP/1.1 200 OK\r\nContent-Type: " + std::string(type) +
                      "\r\nTransfer-Encoding: chunked\r\nContent-Encoding: " + bomb.encoding + "\r\n\r\n");
          reply.chunk(bomb.bytes);
          reply.end();
        });
        const Error error = error_of(ask(engine_at(server)));
        EXPECT_EQ(error.reason(), "malformed_response") << error.message();
        EXPECT_NE(error.message().find("compressed size"), std::string::npos) << error.message();
      }
    }
  }
}

TEST(AttackBomb, AnAnswerThatCompressesWellIsRead) {
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    // A second frame has the answer itself, in a block that is not compressed.
    const std::uint32_t head = 1U | static_cast<std::uint32_t>(hello().size()) << 3U;
    std::string answer("\x28\xb5\x2f\xfd\x00\x38", 6);
    for (const unsigned shift : {0U, 8U, 16U}) answer += static_cast<char>(head >> shift);
    std::string blank = zstd_bomb(32);
    blank[blank.size() - 4] &= static_cast<char>(~1);  // not the last block
    reply.send(200, kStream, blank + answer.substr(6) + hello(), {{"Content-Encoding", "zstd"}});
  });
  expect_hello(ask(engine_at(server)));
}

TEST(AttackEndlessBody, IsNotReadAfterTheAnswer) {
  std::atomic<std::size_t> written = 0;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    reply.chunk(hello());
    const std::string more(std::size_t{1} << 16U, '\n');
    while (!reply.gone()) {
      reply.chunk(more);
      written += more.size();
    }
    reply.cut();
  });
  const Engine engine = engine_at(server);
  expect_hello(ask(engine));
  const Result<Response> second = ask(engine);  // on a connection of its own
  expect_hello(second);
  testing::eventually([&] { return server.requests() == 2; }, "the end of both connections");
  EXPECT_LT(written, std::size_t{64} << 20U);
}

// libcurl before 8.1 appended such a line to a header of the exchange before, which it had freed.
TEST(AttackHeaders, AFoldedFirstLineDoesNotReachTheExchangeBefore) {
  for (const bool tls : {false, true}) {
    std::atomic<int> calls = 0;
    const HttpServer server(
        [&](const ServedRequest&, Reply& reply) {
          const std::string folded = calls++ % 2 == 0 ? "" : " " + std::string(100, 'x') + "\r\n";
          reply.write("HTTP/1.1 200 OK\r\n" + folded + "Content-Type: text/event-stream\r\nContent-Length: " +
                      std::to_string(hello().size()) + "\r\n\r\n" + hello());
        },
        {.tls = tls});
    const Engine engine = engine_at(server);
    for (int i = 0; i < 50; ++i) {
      expect_hello(ask(engine));
      const Result<Response> folded = ask(engine);
      if (folded && !folded->error) {
        expect_hello(folded);
      } else {
        EXPECT_FALSE(error_of(folded).message().empty());
        calls = 0;  // the request may have been sent again
      }
    }
  }
}

TEST(AttackHeaders, OfAnyNumberAndSizeAreAnErrorOrAnAnswer) {
  const std::vector<std::pair<const char*, std::function<void(Reply&)>>> answers = {
      {"ten thousand headers",
       [](Reply& reply) {
         std::string head = "HTTP/1.1 200 OK\r\n";
         for (int i = 0; i < 10'000; ++i) head += "X-" + std::to_string(i) + ": x\r\n";
         reply.write(head + "Content-Type: text/event-stream\r\nContent-Length: " + std::to_string(hello().size()) +
                     "\r\n\r\n" + hello());
       }},
      {"a line of a megabyte",
       [](Reply& reply) {
         reply.write("HTTP/1.1 200 OK\r\nX: " + std::string(std::size_t{1} << 20U, 'x') + "\r\n\r\n");
       }},
      {"an endless line",
       [](Reply& reply) {
         reply.write("HTTP/1.1 200 OK\r\nX: ");
         while (!reply.gone()) reply.write(std::string(10'000, 'x'));
       }},
      {"endless trailers",
       [](Reply& reply) {
         reply.begin(200, kStream);
         reply.write("0\r\n");
         while (!reply.gone()) reply.write("X-Trailer: x\r\n");
       }},
      {"endless interim responses",
       [](Reply& reply) {
         while (!reply.gone()) reply.write("HTTP/1.1 100 Continue\r\n\r\n");
       }},
      {"a length that is too large",
       [](Reply& reply) {
         reply.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 99999\r\n\r\n: x\n\n");
       }},
      {"a length that is too small",
       [](Reply& reply) {
         reply.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9\r\n\r\n" + hello());
       }},
      {"a redirect to itself",
       [](Reply& reply) { reply.send(307, "text/plain", "", {{"Location", "/v1/chat/completions"}}); }},
      {"many encodings",
       [](Reply& reply) {
         reply.send(200, kStream, hello(), {{"Content-Encoding", "gzip, gzip, gzip, gzip, gzip, gzip, gzip"}});
       }},
  };
  for (const auto& [name, answer] : answers) {
    SCOPED_TRACE(name);
    std::atomic<int> calls = 0;
    const HttpServer server([&, write = answer](const ServedRequest&, Reply& reply) {
      if (++calls > 1) return say_hello(reply);
      write(reply);
      reply.cut();
    });
    const Engine engine = engine_at(server);
    const Result<Response> response = ask(engine);
    if (!response || response->error) {
      EXPECT_FALSE(error_of(response).message().empty());
    } else {
      expect_hello(response);
    }
    expect_hello(ask(engine));
  }
}

}  // namespace
}  // namespace allm::network_answers_test
