// How often single calls succeed if the server cuts half of the connections at random. The server's decisions come from
// a seed and the calls follow each other, so that the test knows the outcome of each call.
#include <atomic>
#include <cstddef>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/chat_server.hpp"

namespace allm::http_retry_test {
namespace {

using testing::engine_at;
using testing::error_of;
using testing::HttpServer;
using testing::Reply;
using testing::ServedRequest;

enum class Fate : std::uint8_t { answered, cut_before_headers, cut_after_headers };

// The fates of the requests, in order: half of the connections are cut.
class Fates {
 public:
  explicit Fates(unsigned seed) : random_(seed) {}
  Fate next() {
    const std::lock_guard lock(mutex_);
    ++count_;
    const unsigned drawn = random_() % 4U;
    return drawn < 2 ? Fate::answered : drawn == 2 ? Fate::cut_before_headers : Fate::cut_after_headers;
  }

  std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  mutable std::mutex mutex_;
  std::mt19937 random_;
  std::size_t count_ = 0;
};

struct Count {
  std::size_t answered = 0;
  std::size_t tries = 0;
  bool operator==(const Count&) const = default;
};
void PrintTo(const Count& count, std::ostream* out) {
  *out << count.answered << " answered, " << count.tries << " tries";
}

// The outcome with `tries` tries for each call.
Count expected(unsigned seed, std::size_t calls, std::size_t tries) {
  Fates fates(seed);
  Count count;
  for (std::size_t call = 0; call < calls; ++call) {
    for (std::size_t attempt = 0; attempt < tries; ++attempt) {
      ++count.tries;
      if (fates.next() != Fate::answered) continue;
      ++count.answered;
      break;
    }
  }
  return count;
}

Count counted(unsigned seed, std::size_t calls, RetryPolicy policy) {
  Fates fates(seed);
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    const Fate fate = fates.next();
    // No connection is used twice: curl itself repeats a request on a used connection that was closed.
    if (fate == Fate::answered) {
      reply.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + testing::hello());
    } else if (fate == Fate::cut_after_headers) {
      reply.begin(200, testing::kStream);
    }
    reply.cut();
  });
  const Engine engine = engine_at(server, {}, std::move(policy));
  Count count;
  for (std::size_t call = 0; call < calls; ++call) {
    const Result<Response> response = testing::ask(engine);
    if (response && !response->error) {
      ++count.answered;
    } else {
      EXPECT_EQ(error_of(response).reason(), "network_error") << error_of(response).message();
    }
  }
  count.tries = fates.count();
  return count;
}

TEST(Disconnects, ACallIsTriedThreeTimesByDefault) {
  constexpr unsigned kSeed = 14;
  constexpr std::size_t kCalls = 80;
  const Count official = expected(kSeed, kCalls, 3);
  EXPECT_GE(official.answered, 66U) << "the seed is no harder than the foreign mock was";
  EXPECT_EQ(counted(kSeed, kCalls, testing::quick_retries()), official);
  EXPECT_EQ(counted(kSeed, kCalls, RetryPolicy::off()), expected(kSeed, kCalls, 1));
}

TEST(Disconnects, AWholeAnswerThatIsCutIsRepeated) {
  std::atomic<int> requests = 0;
  const std::string document = testing::provider_cases().front().document("Hello wörld", Json::array()).dump();
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    if (++requests == 3) return reply.send(200, "application/json", document);
    reply.begin(200, "application/json");
    reply.chunk(document.substr(0, document.size() / 2));
    reply.cut();
  });
  const Engine engine = engine_at(server, {}, testing::quick_retries());
  testing::expect_hello(testing::ask(engine, {.stream = false}));
  EXPECT_EQ(requests, 3) << "no event of the answer was produced before";
}

TEST(Disconnects, AStreamThatHasProducedAnEventIsNotRepeated) {
  std::atomic<int> requests = 0;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    ++requests;
    reply.begin(200, testing::kStream);
    reply.chunk(testing::hello().substr(0, testing::hello().find("data: [DONE]") / 2));
    reply.cut();
  });
  const Error error = error_of(testing::ask(engine_at(server, {}, testing::quick_retries())));
  EXPECT_EQ(error.reason(), "network_error");
  EXPECT_EQ(requests, 1);
}

TEST(Disconnects, ARefusedCertificateIsNotTriedAgain) {
  const HttpServer server([](const ServedRequest&, Reply& reply) { testing::say_hello(reply); },
                          {.host = "other.test"});
  const Error error = error_of(testing::ask(engine_at(server, {}, testing::quick_retries())));
  EXPECT_EQ(error.reason(), "network_error");
  EXPECT_EQ(error.metadata().value("retryable", Json()), false) << error.metadata();
  EXPECT_EQ(server.connections(), 1U);
}

}  // namespace
}  // namespace allm::http_retry_test
