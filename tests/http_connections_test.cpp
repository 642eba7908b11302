// How many connections a number of exchanges needs.
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "allm/runtime.hpp"

#include "http/client.hpp"
#include "http/transfer.hpp"
#include "runtime/parker.hpp"
#include "runtime/runtime_impl.hpp"
#include "runtime/test_waits.hpp"
#include "tests/http_server.hpp"

namespace allm::http_connections_test {
namespace {

using testing::Counter;
using testing::HttpServer;
using testing::Reply;
using testing::ServedRequest;

// Runs an exchange to its end, and returns the body.
std::string post(HttpClient& client, const HttpServer& server) {
  const auto transfer = client.start({.url = server.url() + "/", .headers = {}, .body = "{}"}, {}, {},
                                     {.ca_file = server.ca_file(), .proxy = {}});
  const auto parker = std::make_shared<Parker>();
  const Waker waker(parker);
  std::string body;
  while (true) {
    HttpTransfer::Progress progress = transfer->poll(waker);
    if (std::holds_alternative<HttpTransfer::Pending>(progress)) parker->wait();
    if (const auto* const piece = std::get_if<std::string>(&progress)) body += *piece;
    if (std::holds_alternative<HttpTransfer::Ended>(progress)) return body;
    if (const auto* const error = std::get_if<HttpError>(&progress)) return "error: " + error->message;
  }
}

TEST(HttpConnections, StayOpenAfterManyExchangesAtOnce) {
  constexpr std::size_t kAtOnce = 40;
  constexpr std::size_t kRounds = 3;
  Counter arrived;
  std::size_t expected = 0;  // changed only while no request is under way
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    arrived.add();
    arrived.wait_for(expected);
    reply.send(200, "text/plain", "answer");
  });
  const auto runtime = Runtime::create();
  HttpClient client(RuntimeAccess::impl(*runtime).loop);
  for (std::size_t round = 0; round < kRounds; ++round) {
    expected += kAtOnce;
    std::vector<std::thread> consumers;
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      consumers.emplace_back([&] { EXPECT_EQ(post(client, server), "answer"); });
    }
    for (std::thread& consumer : consumers) consumer.join();
    EXPECT_EQ(server.connections(), kAtOnce) << "in round " << round;
  }
}

}  // namespace
}  // namespace allm::http_connections_test
