// A thousand streams at once: all have the right result, and no stream needs a thread.
#include <cstddef>
#include <dirent.h>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/chat_server.hpp"
#include "tests/http2_front.hpp"

namespace allm::http_many_test {
namespace {

using testing::engine_at;
using testing::Gate;
using testing::hello;
using testing::HttpServer;
using testing::Reply;
using testing::ServedRequest;

constexpr std::size_t kStreams = 1'000;

std::size_t threads_of_process() {
  std::size_t count = 0;
  DIR* const folder = opendir("/proc/self/task");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count - 2;  // "." and ".."
}

void expect_all_right(const Engine& engine, const HttpServer& server, Gate& go, testing::Counter& waiting) {
  std::vector<EventStream> streams;
  for (std::size_t i = 0; i < kStreams; ++i) {
    streams.push_back(stream_generate(engine, {.messages = {user("hi")}}));
    (void)streams.back().try_next();
  }
  waiting.wait_for(kStreams);
  // The server has one thread per connection; a few more belong to gtest and the runtime.
  EXPECT_LT(threads_of_process(), server.connections() + 16);
  for (std::size_t i = 0; i < kStreams; i += 2) streams[i].drop();
  go.open();
  for (std::size_t i = 1; i < kStreams; i += 2) {
    StreamCollector collector;
    for (const Event& event : streams[i]) collector.apply(event);
    testing::expect_hello(collector.response());
  }
  EXPECT_EQ(engine.runtime()->stats().threads, 0U);
}

TEST(ManyStreams, OverHttp1) {
  Gate go;
  testing::Counter waiting;
  const HttpServer server([&](const ServedRequest&, Reply& reply) {
    reply.begin(200, testing::kStream);
    waiting.add();
    go.wait();
    reply.chunk(hello());
    reply.end();
  });
  expect_all_right(engine_at(server, {}, RetryPolicy::off(), Runtime::create()), server, go, waiting);
}

TEST(ManyStreams, OverHttp2) {
  Gate go;
  testing::Counter waiting;
  const HttpServer server(
      [&](const ServedRequest&, Reply& reply) {
        reply.begin(200, testing::kStream);
        waiting.add();
        go.wait();
        reply.chunk(hello());
        reply.end();
      },
      {.tls = false});
  const testing::Http2Front front(server);
  HttpOptions http;
  http.ca_file = server.ca_file();
  const Engine engine({.adapter = openai({.base_url = front.url() + "/v1",
                                          .endpoint = OpenAiOptions::Endpoint::chat,
                                          .api_key = testing::chat_key(),
                                          .http = http}),
                       .model = "gpt-4.1",
                       .retry = RetryPolicy::off(),
                       .runtime = Runtime::create()});
  expect_all_right(engine, server, go, waiting);
}

}  // namespace
}  // namespace allm::http_many_test
