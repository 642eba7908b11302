// Misbehaving servers: each kind of misbehaviour is an error, and the next call works.
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/chat_server.hpp"
#include "tests/hostile_answers.hpp"

namespace allm::http_hostile_test {
namespace {

using testing::ask;
using testing::chat_key;
using testing::engine_at;
using testing::error_of;
using testing::expect_hello;
using testing::hello;
using testing::HttpServer;
using testing::kStream;
using testing::Reply;
using testing::say_hello;
using testing::ServedRequest;

struct Misbehaviour {
  const char* name;
  HttpServer::Handler handler;
  const char* reason;
};

TEST(HostileServer, EveryKindOfMisbehaviourIsReported) {
  const std::vector<Misbehaviour> cases = {
      {"bad key, repeated", testing::repeat_key, "authentication_failed"},
      {"bad key, a part of it repeated",
       [](const ServedRequest&, Reply& reply) {
         const std::string_view key = chat_key();
         reply.send(401, "application/json",
                    R"({"error":{"message":"Not )" + std::string(key.substr(8, 9)) + "..." +
                        std::string(key.substr(key.size() - 4)) + R"("}})");
       },
       "authentication_failed"},
      {"HTML", testing::answer_html, "malformed_response"},
      {"redirect", testing::redirect, "invalid_request"},
      {"endless headers", testing::send_headers_without_end, "malformed_response"},
      {"not HTTP", testing::answer_without_http, "network_error"},
      {"garbled UTF-8", testing::garble_utf8, "malformed_event"},
      {"wrong content type", [](const ServedRequest&, Reply& reply) { reply.send(200, "image/png", "\x89PNG\r\n"); },
       "malformed_response"},
      {"an HTML error", [](const ServedRequest&, Reply& reply) { reply.send(502, "text/html", "<html>bad</html>"); },
       "provider_unavailable"},
      {"a list instead of an object",
       [](const ServedRequest&, Reply& reply) { testing::send_stream(reply, "data: [1,2]\n\n"); }, "malformed_event"},
      {"deep nesting",
       [](const ServedRequest&, Reply& reply) {
         testing::send_stream(reply, "data: " + std::string(100'000, '[') + "\n\n");
       },
       "malformed_event"},
      {"an invalid length",
       [](const ServedRequest&, Reply& reply) {
         reply.write("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n");
         reply.cut();
       },
       "network_error"},
      {"empty answer", testing::answer_nothing, "network_error"},
  };
  for (const Misbehaviour& one : cases) {
    SCOPED_TRACE(one.name);
    std::atomic<int> calls = 0;
    const HttpServer server([&](const ServedRequest& request, Reply& reply) {
      if (++calls > 1) return say_hello(reply);
      one.handler(request, reply);
    });
    const Engine engine = engine_at(server);
    const Error error = error_of(ask(engine));
    EXPECT_EQ(error.reason(), one.reason) << error.message();
    EXPECT_FALSE(error.message().empty());
    expect_hello(ask(engine));
  }
}

TEST(HostileServer, ACutAtAnyByteIsAnErrorOrTheAnswer) {
  std::atomic<std::size_t> cut = 0;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    reply.chunk(std::string_view(hello()).substr(0, cut));
    reply.cut();
  });
  const Engine engine = engine_at(server);
  const std::size_t finished = hello().find("data: [DONE]");
  for (cut = 0; cut <= hello().size(); ++cut) {
    const auto response = ask(engine);
    EXPECT_TRUE(cut < finished || (response && !response->error)) << cut << ": the finish reason has arrived";
    if (response && !response->error) {
      EXPECT_EQ(response->text(), "Hello wörld") << cut;
      EXPECT_EQ(response->finish_reason, FinishReason::stop) << cut;
    } else {
      EXPECT_EQ(error_of(response).reason(), "network_error") << cut << ": " << error_of(response).message();
    }
  }
}

TEST(HostileServer, ACutWithinTheHeadIsANetworkError) {
  constexpr std::string_view kHead =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::atomic<std::size_t> cut = 0;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    reply.write(kHead.substr(0, cut));
    reply.cut();
  });
  const Engine engine = engine_at(server);
  for (cut = 0; cut <= kHead.size(); ++cut) {
    EXPECT_EQ(error_of(ask(engine)).reason(), "network_error") << cut;
  }
}

TEST(HostileServer, AnEndlessEventIsAnError) {
  for (const std::size_t limit : {std::size_t{1} << 20U, HttpOptions().max_event_bytes}) {
    const HttpServer server([](const ServedRequest&, Reply& reply) {
      reply.begin(200, kStream);
      const std::string piece(1U << 20U, 'x');
      reply.chunk("data: ");
      for (int i = 0; i < 1024 && !reply.gone(); ++i) reply.chunk(piece);
    });
    const Error error = error_of(ask(engine_at(server, {.max_event_bytes = limit})));
    EXPECT_EQ(error.reason(), "malformed_event");
    EXPECT_NE(error.message().find("more than " + std::to_string(limit) + " bytes"), std::string::npos)
        << error.message();
  }
}

TEST(HostileServer, ACertificateOfAnotherHostIsRefused) {
  const HttpServer server([](const ServedRequest&, Reply& reply) { say_hello(reply); }, {.host = "other.test"});
  const Error error = error_of(ask(engine_at(server)));
  EXPECT_EQ(error.reason(), "network_error");
  EXPECT_NE(error.message().find("certificate"), std::string::npos) << error.message();
  EXPECT_EQ(server.requests(), 0U);
}

TEST(HostileServer, ACertificateOfAnUnknownAuthorityIsRefused) {
  const HttpServer server([](const ServedRequest&, Reply& reply) { say_hello(reply); });
  const HttpServer stranger([](const ServedRequest&, Reply& reply) { say_hello(reply); });
  const Engine engine({.adapter = openai({.base_url = server.url() + "/v1",
                                          .endpoint = OpenAiOptions::Endpoint::chat,
                                          .api_key = chat_key(),
                                          .http = {.ca_file = stranger.ca_file()}}),
                       .model = "gpt-4.1",
                       .retry = RetryPolicy::off()});
  const Error error = error_of(ask(engine));
  EXPECT_EQ(error.reason(), "network_error");
  EXPECT_NE(error.message().find("TLS"), std::string::npos) << error.message();
  EXPECT_EQ(server.requests(), 0U);
}

TEST(HostileServer, AKeyIsNotSentWithoutTls) {
  const Engine engine(
      {.adapter = openai({.base_url = "http://192.0.2.1/v1", .api_key = chat_key()}), .model = "gpt-4.1"});
  const Error error = error_of(ask(engine));
  EXPECT_EQ(error.reason(), "invalid_engine");
  EXPECT_NE(error.message().find("192.0.2.1"), std::string::npos);
}

}  // namespace
}  // namespace allm::http_hostile_test
