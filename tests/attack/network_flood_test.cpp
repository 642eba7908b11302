// Servers that send faster than the client reads, with and without parts of an answer. What else runs on the same
// runtime must go on: timers, deadlines, cancellations and other streams.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/chat_server.hpp"
#include "tests/http2_frames.hpp"

namespace allm::network_flood_test {
namespace {

using std::chrono::milliseconds;
using testing::ask;
using testing::engine_at;
using testing::error_of;
using testing::expect_hello;
using testing::Gate;
using testing::HttpServer;
using testing::kStream;
using testing::Reply;
using testing::say_hello;
using testing::ServedRequest;
namespace http2 = testing::http2;

enum class Wire : std::uint8_t { plain, tls, http2 };

struct Flood {
  const char* name;
  Wire wire;
  // What the server sends first, and then repeats for as long as the client stays.
  std::function<std::string(std::uint32_t stream)> begin;
  std::function<std::string(std::uint32_t stream)> repeated;
  // Part of the answer in every byte: it goes on until the run is cancelled. Otherwise the connection is closed.
  bool is_answer = false;
};
void PrintTo(const Flood& flood, std::ostream* out) { *out << flood.name; }

std::string chunked_head() {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
}
std::string endless_head() { return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"; }
std::string answer_head(std::uint32_t stream) { return http2::answer_head(stream); }

std::function<std::string(std::uint32_t)> always(const std::string& text) {
  return [text](std::uint32_t) { return text; };
}

std::string_view bytes_of(const char* text, std::size_t size) { return {text, size}; }

std::vector<Flood> floods() {
  const auto nothing = always("");
  const std::string comment = ": a comment\n";
  const auto on_stream = [](std::uint8_t kind, std::uint8_t flags, std::string payload) {
    return [=](std::uint32_t stream) { return http2::frame(kind, flags, stream, payload); };
  };
  const auto on_connection = [](std::uint8_t kind, std::uint8_t flags, std::string payload) {
    return [=](std::uint32_t) { return http2::frame(kind, flags, 0, payload); };
  };
  const std::string setting(bytes_of("\x00\x03\x00\x00\x00\x64", 6));
  return {
      {"PlainComments", Wire::plain, always(endless_head()), always(comment), true},
      {"PlainSingleByteChunks", Wire::plain, always(chunked_head()), always("1\r\n\n\r\n"), true},
      {"TlsComments", Wire::tls, always(endless_head()), always(comment), true},
      {"TlsSingleByteChunks", Wire::tls, always(chunked_head()), always("1\r\n\n\r\n"), true},
      {"TlsChunkExtension", Wire::tls, always(chunked_head() + "1;"), always("extension")},
      {"Http2Comments", Wire::http2, &answer_head, [=](std::uint32_t stream) { return http2::data(stream, comment); },
       true},
      {"Http2EmptyData", Wire::http2, &answer_head, on_stream(http2::kData, 0, "")},
      {"Http2Pings", Wire::http2, &answer_head, on_connection(http2::kPing, 0, "pingping")},
      {"Http2PingsBeforeTheHead", Wire::http2, nothing, on_connection(http2::kPing, 0, "pingping")},
      {"Http2PingAnswers", Wire::http2, &answer_head, on_connection(http2::kPing, http2::kAck, "pingping")},
      {"Http2Settings", Wire::http2, &answer_head, on_connection(http2::kSettings, 0, setting)},
      {"Http2EmptySettings", Wire::http2, nothing, on_connection(http2::kSettings, 0, "")},
      {"Http2WindowUpdates", Wire::http2, &answer_head,
       on_connection(http2::kWindowUpdate, 0, std::string(bytes_of("\0\0\0\x01", 4)))},
      {"Http2Priorities", Wire::http2, &answer_head,
       [](std::uint32_t) { return http2::frame(http2::kPriority, 0, 3, bytes_of("\0\0\0\0\x10", 5)); }},
      {"Http2Resets", Wire::http2, &answer_head,
       [](std::uint32_t) { return http2::frame(http2::kReset, 0, 3, bytes_of("\0\0\0\x08", 4)); }},
      {"Http2UnknownFrames", Wire::http2, nothing, on_stream(http2::kUnknown, 0, "")},
      {"Http2LargeUnknownFrames", Wire::http2, &answer_head, on_connection(http2::kUnknown, 0, std::string(9000, 'x'))},
      {"Http2PaddedData", Wire::http2, &answer_head,
       [](std::uint32_t stream) { return http2::frame(http2::kData, 8, stream, "\xC8" + std::string(200, '\0')); }},
      {"Http2InterimResponses", Wire::http2, nothing,
       [](std::uint32_t stream) {
         return http2::frame(http2::kHeaders, http2::kEndHeaders, stream, std::string("\x08\x03") + "103");
       }},
      {"Http2Continuations", Wire::http2,
       [](std::uint32_t stream) { return http2::frame(http2::kHeaders, 0, stream, "\x88"); },
       on_stream(http2::kContinuation, 0, "")},
  };
}

// The flooding server. The other server answers "Hello wörld".
class AttackFlood : public ::testing::TestWithParam<Flood> {
 protected:
  void flood(std::uint32_t stream, Reply& reply) {
    reply.write(GetParam().begin(stream));
    std::string many;
    const std::string one = GetParam().repeated(stream);
    while (many.size() < 16'000) many += one;
    reply.write(many);
    flooding_.open();
    // The flood is endless, but a test that fails must not take for ever.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!reply.gone() && std::chrono::steady_clock::now() < end) {
      reply.write(many);
      if (GetParam().wire == Wire::http2) reply.discard_input();
    }
    EXPECT_LT(std::chrono::steady_clock::now(), end) << "the client stayed";
    reply.cut();
  }

  const std::shared_ptr<Runtime> runtime_ = Runtime::create();
  Gate flooding_;
  const HttpServer good_{[](const ServedRequest&, Reply& reply) { say_hello(reply); }};
  const HttpServer flooding_server_{
      [this](const ServedRequest& request, Reply& reply) { flood(request.stream, reply); },
      {.tls = GetParam().wire != Wire::plain, .http2 = GetParam().wire == Wire::http2}};
};
INSTANTIATE_TEST_SUITE_P(All, AttackFlood, ::testing::ValuesIn(floods()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(AttackFlood, DoesNotStopWhatElseRuns) {
  std::stop_source stop;
  std::optional<Result<Response>> flooded;
  std::thread consumer([&] {
    flooded = ask(engine_at(flooding_server_, {}, RetryPolicy::off(), runtime_), {.cancel = {.now = stop.get_token()}});
  });
  flooding_.wait();
  // A timer, a deadline, another stream: each of them waited for as long as the flood lasted.
  Gate fired;
  const Timer timer = runtime_->after(milliseconds(1), [&] { fired.open(); });
  fired.wait();
  const Engine good = engine_at(good_, {}, RetryPolicy::off(), runtime_);
  expect_hello(ask(good));
  const HttpServer silent([](const ServedRequest&, Reply& reply) {
    while (!reply.gone()) std::this_thread::sleep_for(milliseconds(1));
  });
  const Engine silent_engine = engine_at(silent, {}, RetryPolicy::off(), runtime_);
  EXPECT_EQ(error_of(ask(silent_engine, {.run_timeout = milliseconds(20)})).reason(), "timeout");
  if (GetParam().is_answer) stop.request_stop();
  consumer.join();
  const Error error = error_of(*flooded);
  if (GetParam().is_answer) {
    EXPECT_EQ(error.reason(), "cancelled") << error.message();
  } else {
    EXPECT_TRUE(error.reason() == "malformed_response" || error.reason() == "network_error")
        << error.reason() << ": " << error.message();
  }
}

}  // namespace
}  // namespace allm::network_flood_test
