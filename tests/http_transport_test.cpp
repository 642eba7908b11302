// The HTTP transport and the OpenAI adapter, with a real TLS server on loopback.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "data/base64.hpp"
#include "tests/chat_server.hpp"
#include "tests/full_listener.hpp"

namespace allm::http_transport_test {
namespace {

using std::chrono::milliseconds;
using testing::ask;
using testing::chat_key;
using testing::engine_at;
using testing::error_of;
using testing::expect_hello;
using testing::Gate;
using testing::hello;
using testing::HttpServer;
using testing::kStream;
using testing::quick_retries;
using testing::Reply;
using testing::say_hello;
using testing::ServedRequest;

// A value that the server's thread stores for the test. Safe to call from any thread.
template <class T>
class Kept {
 public:
  void set(T value) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
  }
  T get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  T value_;
};

TEST(HttpTransport, StreamsAnAnswer) {
  Kept<ServedRequest> seen;
  const HttpServer server([&](const ServedRequest& request, Reply& reply) {
    seen.set(request);
    say_hello(reply);
  });
  expect_hello(ask(engine_at(server)));
  EXPECT_EQ(seen.get().target, "/v1/chat/completions");
  EXPECT_EQ(seen.get().header("authorization"), std::string("Bearer ") + chat_key());
}

TEST(HttpTransport, ReusesItsConnection) {
  const HttpServer server([](const ServedRequest&, Reply& reply) { say_hello(reply); });
  const Engine engine = engine_at(server);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(ask(engine).has_value());
  EXPECT_EQ(server.connections(), 1U);
}

TEST(HttpTransport, AConnectionThatTheServerClosedIsReplaced) {
  const HttpServer server([](const ServedRequest&, Reply& reply) {
    say_hello(reply);
    reply.cut();
  });
  const Engine engine = engine_at(server);
  for (int i = 0; i < 10; ++i) expect_hello(ask(engine));
  EXPECT_EQ(server.connections(), 10U);
}

// The transport reuses curl handles, so no setting of one exchange may remain for the next.
TEST(HttpTransport, NothingOfOneExchangeReachesTheNext) {
  Kept<ServedRequest> seen;
  const HttpServer server([&](const ServedRequest& request, Reply& reply) {
    seen.set(request);
    say_hello(reply);
  });
  const Engine trusting = engine_at(server);
  expect_hello(ask(trusting));
  // This engine does not trust the server's authority, so it must not use the open connection.
  const Engine strict(
      {.adapter =
           openai({.base_url = server.url() + "/v1", .endpoint = OpenAiOptions::Endpoint::chat, .api_key = chat_key()}),
       .model = "gpt-4.1",
       .retry = RetryPolicy::off()});
  const Error distrust = error_of(ask(strict));
  EXPECT_NE(distrust.message().find("certificate"), std::string::npos) << distrust.message();
  const Error lost = error_of(ask(engine_at(server, {.proxy = "http://127.0.0.1:1"})));
  EXPECT_EQ(lost.reason(), "network_error") << lost.message();
  expect_hello(generate(trusting, {.messages = {user(std::string(100'000, 'x'))}}));
  expect_hello(ask(trusting));
  EXPECT_LT(seen.get().body.size(), 1'000U);
  EXPECT_EQ(server.connections(), 2U) << "one of them was not trusted";
}

TEST(HttpTransport, ASourceKeepsTheRuntimeThatItNeeds) {
  const HttpServer server([](const ServedRequest&, Reply& reply) { say_hello(reply); });
  auto runtime = Runtime::create();
  auto source = engine_at(server).adapter()->open(
      {.request = {.messages = {user("hi")}}, .model = "gpt-4.1", .runtime = runtime});
  ASSERT_TRUE(source.has_value());
  runtime.reset();
  EventStream events(*std::move(source));
  StreamCollector collector;
  while (const auto event = events.next()) collector.apply(*event);
  expect_hello(collector.response());
}

TEST(HttpTransport, ASlowAnswerAfterFastOnesArrives) {
  std::atomic<Gate*> held = nullptr;
  Gate asked;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    if (Gate* const gate = held.load()) {
      asked.open();
      gate->wait();
    }
    say_hello(reply);
  });
  const Engine engine = engine_at(server);
  for (int i = 0; i < 20; ++i) expect_hello(ask(engine));
  Gate answer;
  held = &answer;
  const std::jthread answering([&] {
    asked.wait();
    answer.open();
  });
  expect_hello(ask(engine));
  EXPECT_EQ(server.connections(), 1U);
}

TEST(HttpTransport, ReadsAnAnswerByteByByte) {
  const HttpServer server([](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    for (const char& byte : hello()) reply.chunk({&byte, 1});
    reply.end();
  });
  expect_hello(ask(engine_at(server)));
}

// curl's connect timer fires during the exchange. No other timer follows it.
TEST(HttpTransport, TheConnectTimeoutDoesNotLimitTheAnswer) {
  constexpr milliseconds kConnect{50};
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    reply.chunk(std::string_view(hello()).substr(0, 100));
    std::this_thread::sleep_for(4 * kConnect);
    reply.chunk(std::string_view(hello()).substr(100));
    reply.end();
  });
  const Engine engine = engine_at(server, {.connect_timeout = kConnect}, RetryPolicy::off(), Runtime::create());
  for (int i = 0; i < 2; ++i) expect_hello(ask(engine));
}

TEST(HttpTransport, AnAbandonedConnectionDoesNotAffectTheNext) {
  testing::FullListener full;
  const Engine engine(
      {.adapter =
           openai({.base_url = full.url() + "/v1", .endpoint = OpenAiOptions::Endpoint::chat, .api_key = chat_key()}),
       .model = "gpt-4.1",
       .retry = RetryPolicy::off(),
       .runtime = Runtime::create()});
  const auto soon = [] { return std::chrono::steady_clock::now() + milliseconds(20); };
  {
    EventStream given_up = stream_generate(engine, {.messages = {user("hi")}});
    EXPECT_TRUE(given_up.next(soon()).is_pending());
  }
  // The next socket gets the same descriptor number and must be watched nevertheless.
  EventStream waiting = stream_generate(engine, {.messages = {user("hi")}});
  EXPECT_TRUE(waiting.next(soon()).is_pending());
  std::atomic<bool> heard = false;
  std::string bytes;
  const std::jthread server([&] {
    bytes = full.first_bytes();
    heard = true;
  });
  while (!heard) waiting.next(soon());
  EXPECT_TRUE(bytes.starts_with("POST ")) << bytes;
}

TEST(HttpTransport, SilenceBeforeTheAnswerIsATimeout) {
  Gate over;
  const HttpServer server([&](const ServedRequest&, Reply&) { over.wait(); });
  const auto response = ask(engine_at(server, {.receive_timeout = milliseconds(50)}));
  over.open();
  EXPECT_EQ(error_of(response).reason(), "timeout");
  EXPECT_EQ(error_of(response).message(), "the server did not answer within 0.05 s");
}

TEST(HttpTransport, SilenceWithinTheAnswerIsATimeout) {
  Gate over;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    reply.chunk(std::string_view(hello()).substr(0, hello().size() / 2));
    over.wait();
  });
  const auto response = ask(engine_at(server, {.stream_timeout = milliseconds(50)}));
  over.open();
  EXPECT_EQ(error_of(response).reason(), "timeout");
  EXPECT_EQ(error_of(response).message(), "the server sent nothing for 0.05 s");
}

TEST(HttpTransport, TheRequestTimeoutLimitsTheWholeRequest) {
  Gate over;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    while (!over.is_open() && !reply.gone()) {
      reply.chunk(": still here\n\n");
      std::this_thread::sleep_for(milliseconds(5));
    }
  });
  const auto response = ask(engine_at(server, {.request_timeout = milliseconds(100)}));
  over.open();
  EXPECT_EQ(error_of(response).message(), "the request took longer than 0.1 s");
}

TEST(HttpTransport, ACallCanSetTheTimeouts) {
  Gate over;
  Kept<ServedRequest> seen;
  const HttpServer server([&](const ServedRequest& request, Reply&) {
    seen.set(request);
    over.wait();
  });
  const Engine engine = engine_at(server);
  const auto response = ask(engine, {.params = {{"connect_timeout", 9'000},
                                                {"receive_timeout", 50},
                                                {"stream_timeout", 70},
                                                {"request_timeout", 8'000},
                                                {"top_p", 0.5}}});
  over.open();
  EXPECT_EQ(error_of(response).message(), "the server did not answer within 0.05 s");
  EXPECT_EQ(seen.get().body.find("timeout"), std::string::npos) << "timeouts are not sent to the server";
  EXPECT_NE(seen.get().body.find("top_p"), std::string::npos);
  EXPECT_EQ(error_of(ask(engine, {.params = {{"stream_timeout", "soon"}}})).message(),
            "invalid option: stream_timeout must be a number of milliseconds, at least 1");
}

TEST(HttpTransport, TheRunTimeoutLimitsAnExchange) {
  Gate over;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    reply.chunk(std::string_view(hello()).substr(0, hello().size() / 2));
    over.wait();
  });
  const auto response = ask(engine_at(server), {.run_timeout = milliseconds(100)});
  over.open();
  EXPECT_EQ(error_of(response).reason(), "timeout");
  EXPECT_EQ(error_of(response).message(), "the run took longer than its run_timeout of 100 ms");
}

TEST(HttpTransport, ARetryThatWouldExceedTheRunTimeoutIsNotMade) {
  std::atomic<int> calls = 0;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    ++calls;
    reply.send(429, "application/json", R"({"error":{"message":"slow down"}})", {{"Retry-After", "3600"}});
  });
  const Error error = error_of(ask(engine_at(server, {}, quick_retries()), {.run_timeout = std::chrono::seconds(60)}));
  EXPECT_EQ(error.reason(), "rate_limited");
  EXPECT_EQ(error.get_if<AdapterError>()->retry_after_ms, 3'600'000);
  EXPECT_EQ(calls, 1);
}

TEST(HttpTransport, EveryFormOfRetryAfterIsUnderstood) {
  struct Form {
    std::vector<std::pair<std::string, std::string>> headers;
    std::int64_t milliseconds;
  };
  const std::vector<Form> forms = {
      {{{"Retry-After", "7"}}, 7'000},
      {{{"Retry-After", "0.25"}}, 250},
      {{{"Date", "Mon, 16 Nov 2026 05:00:00 GMT"}, {"Retry-After", "Mon, 16 Nov 2026 05:00:09 GMT"}}, 9'000},
      {{{"Retry-After", "7"}, {"retry-after-ms", "30"}}, 30},
  };
  for (const Form& form : forms) {
    SCOPED_TRACE(form.headers.back().second);
    const HttpServer server([&](const ServedRequest&, Reply& reply) {
      reply.send(429, "application/json", R"({"error":{"message":"slow down"}})", form.headers);
    });
    EXPECT_EQ(error_of(ask(engine_at(server))).get_if<AdapterError>()->retry_after_ms, form.milliseconds);
  }
}

TEST(HttpTransport, ARetryWaitsForRetryAfterAndSucceeds) {
  std::atomic<int> calls = 0;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    if (++calls > 1) return say_hello(reply);
    reply.send(429, "application/json", R"({"error":{"message":"slow down"}})", {{"retry-after-ms", "5"}});
  });
  expect_hello(ask(engine_at(server, {}, quick_retries())));
  EXPECT_EQ(calls, 2);
}

TEST(HttpTransport, AServerThatRefusesStreamOptionsGetsRequestsWithoutThem) {
  std::atomic<int> refused = 0;
  Kept<ServedRequest> first;
  Kept<ServedRequest> accepted;
  const HttpServer server([&](const ServedRequest& request, Reply& reply) {
    if (request.body.find("stream_options") == std::string::npos) {
      accepted.set(request);
      return say_hello(reply);
    }
    ++refused;
    first.set(request);
    reply.send(400, "application/json", R"({"error":{"message":"Unknown field: stream_options"}})");
  });
  const Engine engine = engine_at(server);
  const CallOptions options = {.temperature = 0.1, .params = {{"seed", 7}}};
  expect_hello(ask(engine, options));
  Json body = *parse_json(first.get().body);
  body.erase("stream_options");
  EXPECT_EQ(accepted.get().body, *write_json(body)) << "nothing else is missing";
  EXPECT_EQ(accepted.get().header("authorization"), first.get().header("authorization"));
  expect_hello(ask(engine, options));
  EXPECT_EQ(accepted.get().body, *write_json(body));
  EXPECT_EQ(refused, 1) << "it is remembered";
}

TEST(HttpTransport, CompressedAnswersAreRead) {
  // printf 'data: {"choices":[{"delta":{"content":"zip"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n' | gzip -n
  const std::string packed = *base64_decode(
      "H4sIAAAAAAAAA0tJLEm0UqhWSs7Iz0xOLVayiq5WSknNKUlUsgIK5ueVpOaVKFkpVWUWKNXqKKVl5mUWZ8QXpSYW5+"
      "cBhYtL8oHisbVcXClgc6Jd/P1cY7m4ACo/m55WAAAA");
  Kept<ServedRequest> seen;
  const HttpServer server([&](const ServedRequest& request, Reply& reply) {
    seen.set(request);
    reply.send(200, kStream, packed, {{"Content-Encoding", "gzip"}});
  });
  const auto response = ask(engine_at(server));
  ASSERT_TRUE(response.has_value()) << response.error().message();
  EXPECT_EQ(response->text(), "zip");
  EXPECT_NE(seen.get().header("accept-encoding").find("gzip"), std::string::npos);
}

TEST(HttpTransport, AProxyIsUsedIfItIsSet) {
  Kept<ServedRequest> seen;
  const HttpServer proxy(
      [&](const ServedRequest& request, Reply& reply) {
        seen.set(request);
        reply.send(502, "text/plain", "no");
      },
      {.tls = false});
  const HttpServer server([](const ServedRequest&, Reply& reply) { say_hello(reply); });
  const Error error = error_of(ask(engine_at(server, {.proxy = proxy.url()})));
  EXPECT_EQ(error.reason(), "network_error") << error.message();
  EXPECT_EQ(seen.get().target, "localhost:" + std::to_string(server.port()));
  EXPECT_EQ(seen.get().header("authorization"), "") << "the key is not the proxy's business";
}

TEST(HttpTransport, ServerErrorsAreRetried) {
  std::atomic<int> calls = 0;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    if (++calls < 3) return reply.send(500, "application/json", R"({"error":{"message":"oops"}})");
    say_hello(reply);
  });
  const auto response = ask(engine_at(server, {}, quick_retries()));
  ASSERT_TRUE(response.has_value()) << response.error().message();
  EXPECT_EQ(calls, 3);
}

TEST(HttpTransport, PermanentErrorsAreNotRetried) {
  std::atomic<int> calls = 0;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    ++calls;
    reply.send(429, "application/json", R"({"error":{"message":"pay","code":"insufficient_quota"}})");
  });
  EXPECT_EQ(error_of(ask(engine_at(server, {}, quick_retries()))).reason(), "rate_limited");
  EXPECT_EQ(calls, 1);
}

TEST(HttpTransport, ADroppedStreamEndsTheExchange) {
  Gate gone;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    reply.chunk(std::string_view(hello()).substr(0, hello().size() / 2));
    testing::eventually([&] { return reply.gone(); }, "the client's going");
    gone.open();
  });
  const Engine engine = engine_at(server);
  EventStream events = stream_generate(engine, {.messages = {user("hi")}});
  ASSERT_TRUE(events.next().has_event());
  events.drop();
  gone.wait();
}

TEST(HttpTransport, ASlowConsumerSlowsTheServer) {
  constexpr std::size_t kPieces = 64;
  const std::string piece =
      "data: {\"choices\":[{\"delta\":{\"content\":\"" + std::string(1U << 18U, 'y') + "\"}}]}\n\n";
  std::atomic<std::size_t> written = 0;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    for (std::size_t i = 0; i < kPieces && !reply.gone(); ++i, ++written) reply.chunk(piece);
    reply.chunk(hello());
    reply.end();
  });
  const Engine engine = engine_at(server);
  EventStream events = stream_generate(engine, {.messages = {user("hi")}});
  ASSERT_TRUE(events.next().has_event());
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_LT(written, kPieces) << "sixteen megabytes were taken that nobody asked for";
  std::size_t bytes = 0;
  for (const Event& event : events) {
    if (const auto* delta = event.get_if<TextDelta>()) bytes += delta->delta.size();
  }
  EXPECT_GE(bytes, kPieces << 18U);
}

}  // namespace
}  // namespace allm::http_transport_test
