// The transport and the adapters over it, against a real server on loopback TLS that behaves and misbehaves.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/providers.hpp"

#include "runtime/test_waits.hpp"
#include "tests/http_server.hpp"

namespace allm {
namespace {

using std::chrono::milliseconds;
using testing::Gate;
using testing::HttpServer;
using testing::Reply;
using testing::ServedRequest;

constexpr const char* kKey = "sk-test-0123456789abcdefghij";
constexpr const char* kStream = "text/event-stream";

const std::string& body() {
  static const auto* const text = new std::string(
      "data: "
      "{\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
      "\"finish_reason\":null}]}\n\n"
      "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello \"},"
      "\"finish_reason\":null}]}\n\n"
      "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"w\\u00f6rld\"},"
      "\"finish_reason\":null}]}\n\n"
      "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
      "data: [DONE]\n\n");
  return *text;
}

void answer(Reply& reply) {
  reply.begin(200, kStream);
  reply.chunk(body());
  reply.end();
}

Engine engine_at(const HttpServer& server, HttpOptions http = {}, RetryPolicy retry = RetryPolicy::off()) {
  http.ca_file = server.ca_file();
  return Engine({.adapter = openai({.base_url = server.url() + "/v1",
                                    .endpoint = OpenAiOptions::Endpoint::chat,
                                    .api_key = kKey,
                                    .http = http}),
                 .model = "gpt-4.1",
                 .retry = retry});
}

Result<Response> ask(const Engine& engine) { return generate(engine, {.messages = {user("hi")}}); }

// The error of a call, wherever it is.
Error error_of(const Result<Response>& response) {
  if (!response) return response.error();
  EXPECT_TRUE(response->error.has_value());
  return response->error.value_or(Error(StreamError{}, "there is no error"));
}

void expect_no_key(const Error& error) {
  const std::string all = error.message() + error.metadata().dump() + error.cause().dump();
  EXPECT_EQ(all.find("0123456789"), std::string::npos) << all;
}

TEST(HttpTransport, StreamsAnAnswer) {
  std::string seen;
  const HttpServer server([&](const ServedRequest& request, Reply& reply) {
    seen = request.target + " " + request.header("authorization");
    answer(reply);
  });
  const auto response = ask(engine_at(server));
  ASSERT_TRUE(response.has_value()) << response.error().message();
  EXPECT_EQ(response->text(), "Hello wörld");
  EXPECT_EQ(response->finish_reason, FinishReason::stop);
  EXPECT_EQ(seen, std::string("/v1/chat/completions Bearer ") + kKey);
}

TEST(HttpTransport, UsesItsConnectionAgain) {
  const HttpServer server([](const ServedRequest&, Reply& reply) { answer(reply); });
  const Engine engine = engine_at(server);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(ask(engine).has_value());
  EXPECT_EQ(server.connections(), 1U);
}

TEST(HttpTransport, TakesBytesOneAtATime) {
  const HttpServer server([](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    for (const char& byte : body()) reply.chunk({&byte, 1});
    reply.end();
  });
  const auto response = ask(engine_at(server));
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->text(), "Hello wörld");
}

TEST(HttpTransport, ACutAtAnyByteIsAnErrorOrTheAnswer) {
  std::size_t cut = 0;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    reply.chunk(std::string_view(body()).substr(0, cut));
    reply.cut();
  });
  const Engine engine = engine_at(server);
  std::size_t answers = 0;
  for (cut = 0; cut <= body().size(); ++cut) {
    const auto response = ask(engine);
    if (response && !response->error) {
      ++answers;
      EXPECT_EQ(response->text(), "Hello wörld") << cut;
      EXPECT_EQ(response->finish_reason, FinishReason::stop) << cut;
    } else {
      EXPECT_EQ(error_of(response).reason(), "network_error") << cut << ": " << error_of(response).message();
    }
  }
  EXPECT_GT(answers, 0U) << "what follows the last event does not matter";
}

TEST(HttpTransport, SilenceBeforeTheAnswerIsATimeout) {
  Gate over;
  const HttpServer server([&](const ServedRequest&, Reply&) { over.wait(); });
  const auto response = ask(engine_at(server, {.first_byte_timeout = milliseconds(50)}));
  over.open();
  EXPECT_EQ(error_of(response).reason(), "timeout");
  EXPECT_EQ(error_of(response).message(), "the server did not answer within 0.05 s");
}

TEST(HttpTransport, SilenceWithinTheAnswerIsATimeout) {
  Gate over;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    reply.chunk(std::string_view(body()).substr(0, body().size() / 2));
    over.wait();
  });
  const auto response = ask(engine_at(server, {.stream_timeout = milliseconds(50)}));
  over.open();
  EXPECT_EQ(error_of(response).reason(), "timeout");
  EXPECT_EQ(error_of(response).message(), "the server sent nothing for 0.05 s");
}

TEST(HttpTransport, TheWholeRequestHasALimitToo) {
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

TEST(HttpTransport, ServerErrorsAreTriedAgain) {
  int calls = 0;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    if (++calls < 3) return reply.send(500, "application/json", R"({"error":{"message":"oops"}})");
    answer(reply);
  });
  RetryPolicy quick{.base_delay = milliseconds(1), .jitter = milliseconds(0)};
  const auto response = ask(engine_at(server, {}, quick));
  ASSERT_TRUE(response.has_value()) << response.error().message();
  EXPECT_EQ(calls, 3);
}

TEST(HttpTransport, HopelessErrorsAreNotTriedAgain) {
  int calls = 0;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    ++calls;
    reply.send(429, "application/json", R"({"error":{"message":"pay","code":"insufficient_quota"}})");
  });
  RetryPolicy quick{.base_delay = milliseconds(1), .jitter = milliseconds(0)};
  EXPECT_EQ(error_of(ask(engine_at(server, {}, quick))).reason(), "rate_limited");
  EXPECT_EQ(calls, 1);
}

struct Misbehaviour {
  const char* name;
  HttpServer::Handler handler;
  const char* reason;
};

TEST(HttpTransport, EveryMisbehaviourHasItsError) {
  const std::vector<Misbehaviour> cases = {
      {"bad key, repeated",
       [](const ServedRequest&, Reply& reply) {
         reply.send(401, "application/json",
                    std::string(R"({"error":{"message":"Incorrect API key provided: )") + kKey + R"("}})");
       },
       "authentication_failed"},
      {"HTML", [](const ServedRequest&, Reply& reply) { reply.send(200, "text/html", "<html>hello</html>"); },
       "malformed_response"},
      {"redirect",
       [](const ServedRequest&, Reply& reply) {
         reply.send(302, "text/plain", "", {{"Location", "https://elsewhere.test/"}});
       },
       "invalid_request"},
      {"endless headers",
       [](const ServedRequest&, Reply& reply) {
         reply.write("HTTP/1.1 200 OK\r\n");
         while (!reply.gone()) reply.write("X-More: " + std::string(1000, 'x') + "\r\n");
       },
       "malformed_response"},
      {"no HTTP", [](const ServedRequest&, Reply& reply) { reply.write("hello\r\n\r\n"), reply.cut(); },
       "network_error"},
      {"garbled UTF-8",
       [](const ServedRequest&, Reply& reply) {
         reply.begin(200, kStream);
         reply.chunk("data: {\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\"}}]}\n\n");
         reply.end();
       },
       "malformed_event"},
      {"empty answer", [](const ServedRequest&, Reply& reply) { reply.send(200, kStream, ""); }, "network_error"},
  };
  for (const Misbehaviour& one : cases) {
    SCOPED_TRACE(one.name);
    const HttpServer server(one.handler);
    const auto response = ask(engine_at(server));
    const Error error = error_of(response);
    EXPECT_EQ(error.reason(), one.reason) << error.message();
    EXPECT_FALSE(error.message().empty());
    expect_no_key(error);
  }
}

TEST(HttpTransport, AnEventWithoutEndIsCutOff) {
  const HttpServer server([](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    const std::string piece(1U << 20U, 'x');
    reply.chunk("data: ");
    while (!reply.gone()) reply.chunk(piece);
  });
  EXPECT_EQ(error_of(ask(engine_at(server))).reason(), "malformed_event");
}

TEST(HttpTransport, ACertificateOfAnotherHostIsRefused) {
  const HttpServer server([](const ServedRequest&, Reply& reply) { answer(reply); }, {.host = "other.test"});
  const Error error = error_of(ask(engine_at(server)));
  EXPECT_EQ(error.reason(), "network_error");
  EXPECT_NE(error.message().find("certificate"), std::string::npos) << error.message();
  EXPECT_EQ(server.requests(), 0U);
}

TEST(HttpTransport, AKeyIsNotSentWithoutTls) {
  const Engine engine({.adapter = openai({.base_url = "http://192.0.2.1/v1", .api_key = kKey}), .model = "gpt-4.1"});
  const Error error = error_of(ask(engine));
  EXPECT_EQ(error.reason(), "invalid_engine");
  EXPECT_NE(error.message().find("192.0.2.1"), std::string::npos);
}

TEST(HttpTransport, ADroppedStreamEndsTheExchange) {
  Gate gone;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    reply.chunk(std::string_view(body()).substr(0, body().size() / 2));
    testing::eventually([&] { return reply.gone(); }, "the client's going");
    gone.open();
  });
  const Engine engine = engine_at(server);
  EventStream events = stream_generate(engine, {.messages = {user("hi")}});
  ASSERT_TRUE(events.next().has_value());
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
    reply.chunk(body());
    reply.end();
  });
  const Engine engine = engine_at(server);
  EventStream events = stream_generate(engine, {.messages = {user("hi")}});
  ASSERT_TRUE(events.next().has_value());
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_LT(written, kPieces) << "sixteen megabytes were taken that nobody asked for";
  std::size_t bytes = 0;
  for (const Event& event : events) {
    if (const auto* delta = event.get_if<TextDelta>()) bytes += delta->delta.size();
  }
  EXPECT_GE(bytes, kPieces << 18U);
}

TEST(HttpTransport, ManyStreamsAtOnceNeedNoThreads) {
  constexpr std::size_t kStreams = 100;
  Gate go;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    go.wait();
    reply.chunk(body());
    reply.end();
  });
  const auto runtime = Runtime::create();
  Engine engine = engine_at(server);
  EngineOptions options = engine.options();
  options.runtime = runtime;
  engine = Engine(std::move(options));
  std::vector<EventStream> streams;
  for (std::size_t i = 0; i < kStreams; ++i) {
    streams.push_back(stream_generate(engine, {.messages = {user("hi")}}));
    (void)streams.back().try_next();
  }
  testing::eventually([&] { return server.connections() == kStreams; }, "all connections");
  for (std::size_t i = 0; i < kStreams; i += 2) streams[i].drop();
  go.open();
  for (std::size_t i = 1; i < kStreams; i += 2) {
    StreamCollector collector;
    for (const Event& event : streams[i]) collector.apply(event);
    const auto response = collector.response();
    ASSERT_TRUE(response.has_value()) << response.error().message();
    EXPECT_EQ(response->text(), "Hello wörld");
  }
  EXPECT_EQ(runtime->stats().threads, 0U);
}

}  // namespace
}  // namespace allm
