// Misbehaving servers behind HTTP/2. Streams share a connection, and the error of one must not affect another.
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/chat_server.hpp"
#include "tests/hostile_answers.hpp"
#include "tests/http2_front.hpp"

namespace allm::http2_hostile_test {
namespace {

using std::chrono::milliseconds;
using testing::ask;
using testing::chat_key;
using testing::error_of;
using testing::expect_hello;
using testing::Gate;
using testing::hello;
using testing::HttpServer;
using testing::kStream;
using testing::Reply;
using testing::say_hello;
using testing::ServedRequest;

// The server answers one request with the handler of misbehave_once(), and all others with "Hello wörld".
class Http2Hostile : public ::testing::Test {
 protected:
  void misbehave_once(HttpServer::Handler handler) {
    const std::lock_guard lock(mutex_);
    next_ = std::move(handler);
  }

  Engine engine(HttpOptions http = {}, RetryPolicy retry = RetryPolicy::off()) {
    http.ca_file = server_.ca_file();
    return Engine({.adapter = openai({.base_url = front_.url() + "/v1",
                                      .endpoint = OpenAiOptions::Endpoint::chat,
                                      .api_key = chat_key(),
                                      .http = std::move(http)}),
                   .model = "gpt-4.1",
                   .retry = std::move(retry),
                   .telemetry = testing::noting_telemetry()});
  }

  const HttpServer server_{[this](const ServedRequest& request, Reply& reply) {
                             HttpServer::Handler handler;
                             {
                               const std::lock_guard lock(mutex_);
                               handler = std::exchange(next_, nullptr);
                             }
                             handler ? handler(request, reply) : say_hello(reply);
                           },
                           {.tls = false}};
  const testing::Http2Front front_{server_};

 private:
  std::mutex mutex_;
  HttpServer::Handler next_;
};

TEST_F(Http2Hostile, EveryKindOfMisbehaviourIsReported) {
  struct Case {
    const char* name;
    HttpServer::Handler handler;
    const char* reason;
  };
  const std::vector<Case> cases = {
      {"bad key", testing::repeat_key, "authentication_failed"},
      {"too many requests",
       [](const ServedRequest&, Reply& reply) {
         reply.send(429, "application/json", R"({"error":{"message":"slow down"}})", {{"Retry-After", "1"}});
       },
       "rate_limited"},
      {"HTML", testing::answer_html, "malformed_response"},
      {"redirect", testing::redirect, "invalid_request"},
      {"garbled UTF-8", testing::garble_utf8, "malformed_event"},
      // In these two cases the proxy answers in place of the server.
      {"not HTTP", testing::answer_without_http, "provider_unavailable"},
      {"endless headers", testing::send_headers_without_end, "provider_unavailable"},
      {"empty answer", testing::answer_nothing, "network_error"},
  };
  const Engine asking = engine();
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    misbehave_once(one.handler);
    const Error error = error_of(ask(asking));
    EXPECT_EQ(error.reason(), one.reason) << error.message();
    expect_hello(ask(asking));
  }
}

TEST_F(Http2Hostile, ACutAtAnyByteIsAnErrorOrTheAnswer) {
  const Engine asking = engine();
  for (std::size_t cut = 0; cut <= hello().size(); ++cut) {
    misbehave_once([cut](const ServedRequest&, Reply& reply) {
      reply.begin(200, kStream);
      reply.chunk(std::string_view(hello()).substr(0, cut));
      reply.cut();
    });
    const Result<Response> response = ask(asking);
    if (response && !response->error) {
      EXPECT_EQ(response->text(), "Hello wörld") << cut;
    } else {
      // The proxy answers in place of the server if it has forwarded nothing yet, and it may discard bytes that it has
      // not forwarded.
      const std::string reason(error_of(response).reason());
      EXPECT_TRUE(reason == "network_error" || reason == "provider_unavailable") << cut << ": " << reason;
    }
  }
  expect_hello(ask(asking));
}

TEST_F(Http2Hostile, ASilentStreamTimesOutAndItsSiblingGoesOn) {
  const Engine short_timeouts = engine({.receive_timeout = milliseconds(200), .stream_timeout = milliseconds(200)});
  const Engine default_timeouts = engine();
  for (const bool begun : {false, true}) {
    const auto silent = std::make_shared<Gate>();  // shared, because the server's thread may outlive this iteration
    const auto over = std::make_shared<Gate>();
    misbehave_once([begun, silent, over](const ServedRequest&, Reply& reply) {
      if (begun) {
        reply.begin(200, kStream);
        reply.chunk(std::string_view(hello()).substr(0, 100));
      }
      silent->open();
      over->wait();
      reply.cut();
    });
    EventStream stalled = stream_generate(short_timeouts, {.messages = {user("hi")}});
    EXPECT_TRUE(stalled.try_next().is_pending());
    silent->wait();
    expect_hello(ask(default_timeouts));
    std::vector<Event> events;
    while (auto event = stalled.next()) events.push_back(*std::move(event));
    ASSERT_FALSE(events.empty());
    const auto* failed = events.back().get_if<ErrorEvent>();
    ASSERT_NE(failed, nullptr) << begun;
    EXPECT_EQ(failed->error.reason(), "timeout") << failed->error.message();
    over->open();
    expect_hello(ask(short_timeouts));
  }
}

TEST_F(Http2Hostile, ADroppedStreamDoesNotAffectItsSibling) {
  const Engine asking = engine();
  const auto begun = std::make_shared<Gate>();
  const auto over = std::make_shared<Gate>();
  misbehave_once([begun, over](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    reply.chunk(std::string_view(hello()).substr(0, 250));
    begun->open();
    over->wait();
    reply.cut();
  });
  {
    EventStream dropped = stream_generate(asking, {.messages = {user("hi")}});
    EXPECT_TRUE(dropped.next().has_event());
    begun->wait();
    expect_hello(ask(asking));
  }
  expect_hello(ask(asking));
  over->open();
}

TEST_F(Http2Hostile, AnEndlessEventIsAnError) {
  const Engine asking = engine({.max_event_bytes = std::size_t{1} << 20U});
  misbehave_once([](const ServedRequest&, Reply& reply) {
    reply.begin(200, kStream);
    const std::string piece(std::size_t{1} << 18U, 'x');
    reply.chunk("data: ");
    for (int i = 0; i < 1024 && !reply.gone(); ++i) reply.chunk(piece);
  });
  EXPECT_EQ(error_of(ask(asking)).reason(), "malformed_event");
  expect_hello(ask(asking));
}

TEST_F(Http2Hostile, ServerErrorsAreRetried) {
  misbehave_once([](const ServedRequest&, Reply& reply) { reply.send(500, "text/plain", "no"); });
  expect_hello(ask(engine({}, testing::quick_retries())));
}

}  // namespace
}  // namespace allm::http2_hostile_test
