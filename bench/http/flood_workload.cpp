// How late timers fire while servers flood their connections on the same runtime. Bare libcurl has no such figure.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench/http/figures.hpp"
#include "bench/http/workloads.hpp"
#include "tests/http2_frames.hpp"
#include "tests/http_server.hpp"

namespace allm::bench {
namespace {

using testing::HttpServer;
using testing::Reply;
using testing::ServedRequest;
namespace http2 = testing::http2;

constexpr int kTimers = 500;
constexpr std::string_view kHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

struct Flood {
  const char* name;
  bool tls;
  bool http2;
  std::function<std::string(std::uint32_t stream)> begin;
  std::function<std::string(std::uint32_t stream)> repeated;
};

std::vector<Flood> floods() {
  const auto head = [](std::uint32_t) { return std::string(kHead); };
  const auto comment = [](std::uint32_t) { return std::string(": a comment\n"); };
  return {{"comments, HTTP/1.1", false, false, head, comment},
          {"comments, HTTP/1.1 over TLS", true, false, head, comment},
          {"comments, HTTP/2", true, true, &http2::answer_head,
           [](std::uint32_t stream) { return http2::data(stream, ": a comment\n"); }},
          {"empty data frames, HTTP/2", true, true, &http2::answer_head,
           [](std::uint32_t stream) { return http2::data(stream, ""); }},
          {"pings, HTTP/2", true, true, &http2::answer_head,
           [](std::uint32_t) { return http2::frame(http2::kPing, 0, 0, "pingping"); }}};
}

void send_flood(const Flood& flood, const std::atomic<bool>& over, const ServedRequest& request, Reply& reply) {
  reply.write(flood.begin(request.stream));
  std::string many;
  while (many.size() < 16'000) many += flood.repeated(request.stream);
  while (!over && !reply.gone()) {
    reply.write(many);
    if (flood.http2) reply.discard_input();
  }
  reply.cut();
}

// How late each timer fired, in milliseconds. Another timer is armed when one has fired.
std::vector<double> lateness(Runtime& runtime) {
  constexpr double kDelayUs = 2'000;
  std::vector<double> late;
  for (int i = 0; i < kTimers; ++i) {
    std::atomic<bool> fired = false;
    const double due = now_us() + kDelayUs;
    const Timer timer = runtime.after(std::chrono::microseconds(static_cast<int>(kDelayUs)), [&] {
      late.push_back((now_us() - due) / 1000);
      fired = true;
      fired.notify_one();
    });
    fired.wait(false);
  }
  return late;
}

void measure(const Flood& flood, std::size_t connections) {
  std::atomic<bool> over = false;
  const HttpServer server([&](const ServedRequest& request, Reply& reply) { send_flood(flood, over, request, reply); },
                          {.tls = flood.tls, .http2 = flood.http2});
  const auto runtime = Runtime::create();
  std::vector<std::thread> consumers;
  for (std::size_t i = 0; i < connections; ++i) {
    consumers.emplace_back([&, i] {
      // Other options, so that each consumer has a connection of its own.
      const Engine engine = engine_at(server.url() + "/" + std::to_string(i), server.ca_file(), {}, runtime);
      while (!over) static_cast<void>(generate(engine, {.messages = {user("hi")}}));
    });
  }
  const std::vector<double> late = lateness(*runtime);
  over = true;
  for (std::thread& consumer : consumers) consumer.join();
  fmt::print("{:<40} {:>12} {:>9.2f} ms {:>9.2f} ms {:>9.2f} ms\n", flood.name, connections, median(late),
             quantile(late, 0.99), quantile(late, 1.0));
}

}  // namespace

void flood_workload() {
  fmt::print("\n{:<40} {:>12} {:>12} {:>12} {:>12}\n", "delay of timers beside floods", "connections", "median", "99 %",
             "largest");
  for (const Flood& flood : floods()) {
    for (const std::size_t connections : {std::size_t{1}, std::size_t{16}}) measure(flood, connections);
  }
}

}  // namespace allm::bench
