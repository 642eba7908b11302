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
  // `handler` answers the next request whose body contains `mark`.
  void misbehave_once(HttpServer::Handler handler, std::string mark = "") {
    const std::lock_guard lock(mutex_);
    next_ = std::move(handler);
    mark_ = std::move(mark);
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

  // One stream stalls, before or after its response has begun, until it times out. Meanwhile the connection serves
  // another stream. Returns false if the timeout passed before the server was silent, as it may on a busy machine.
  bool times_out_beside_sibling(bool begun, milliseconds timeout) {
    const auto silent = std::make_shared<Gate>();  // shared, because the server's thread may outlive this call
    const auto over = std::make_shared<Gate>();
    // A request that timed out early may still reach the server, but it does not have the mark of a later attempt.
    const std::string mark = (begun ? "stalled body, " : "no response, ") + std::to_string(timeout.count()) + " ms";
    misbehave_once(
        [begun, silent, over](const ServedRequest&, Reply& reply) {
          if (begun) {
            reply.begin(200, kStream);
            reply.chunk(std::string_view(hello()).substr(0, 100));
          }
          silent->open();
          over->wait();
          reply.cut();
        },
        mark);
    const Engine short_timeout =
        engine(begun ? HttpOptions{.stream_timeout = timeout} : HttpOptions{.receive_timeout = timeout});
    const Engine default_timeouts = engine();
    EventStream stalled = stream_generate(short_timeout, {.messages = {user(mark)}});
    std::vector<Event> events;
    bool ended = false;
    const auto is_silent_or_ended = [&] {
      Poll polled = stalled.try_next();
      if (polled) events.push_back(polled.take());
      ended = polled.is_end();
      return ended || silent->is_open();
    };
    testing::eventually(is_silent_or_ended, "the silence of the server");
    if (!ended) expect_hello(ask(default_timeouts));
    while (auto event = stalled.next()) events.push_back(*std::move(event));
    over->open();
    const auto* failed = events.empty() ? nullptr : events.back().get_if<ErrorEvent>();
    EXPECT_NE(failed, nullptr) << begun;
    if (failed != nullptr) {
      EXPECT_EQ(failed->error.reason(), "timeout") << failed->error.message();
    }
    expect_hello(ask(default_timeouts));
    return !ended;
  }

  const HttpServer server_{[this](const ServedRequest& request, Reply& reply) {
                             HttpServer::Handler handler;
                             {
                               const std::lock_guard lock(mutex_);
                               if (request.body.contains(mark_)) handler = std::exchange(next_, nullptr);
                             }
                             handler ? handler(request, reply) : say_hello(reply);
                           },
                           {.tls = false}};
  const testing::Http2Front front_{server_};

 private:
  std::mutex mutex_;
  HttpServer::Handler next_;
  std::string mark_;
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
  for (const bool begun : {false, true}) {
    milliseconds timeout{200};
    while (!times_out_beside_sibling(begun, timeout) && !HasFailure()) timeout *= 2;
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
