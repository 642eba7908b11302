#include "bench/http/answers.hpp"

#include <ctime>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "bench/http/figures.hpp"
#include "bench/streams.hpp"

namespace allm::bench {
namespace {

using testing::Reply;
using testing::ServedRequest;

constexpr const char* kStream = "text/event-stream";

std::string first_chunk() { return chat_chunk(R"({"role":"assistant","content":"","refusal":null})"); }
std::string delta_chunk() { return chat_chunk(fmt::format(R"({{"content":"{}"}})", stamp())); }
std::string last_chunks(std::string_view finish_reason) { return chat_chunk("{}", finish_reason) + "data: [DONE]\n\n"; }

void answer_deltas(Reply& reply, bool paced) {
  constexpr long kPause = 1'000'000;
  reply.begin(200, kStream);
  reply.chunk(first_chunk());
  timespec next{};
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (int i = 0; i < kDeltas; ++i) {
    next.tv_nsec += kPause;
    if (next.tv_nsec >= 1'000'000'000) {
      next.tv_nsec -= 1'000'000'000;
      ++next.tv_sec;
    }
    if (paced) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr);
    reply.chunk(delta_chunk());
  }
  reply.chunk(last_chunks(R"("stop")"));
  reply.end();
}

// The number of tool results in the request decides the next answer.
void answer_tools(const ServedRequest& request, Reply& reply) {
  int results = 0;
  constexpr std::string_view kResult = R"("role":"tool")";
  for (std::size_t at = request.body.find(kResult); at != std::string::npos; at = request.body.find(kResult, at + 1)) {
    ++results;
  }
  std::string body = first_chunk();
  if (results < 2) {
    body += chat_chunk(fmt::format(R"({{"tool_calls":[{{"index":0,"id":"call_{}","type":"function",)"
                                   R"("function":{{"name":"lookup","arguments":""}}}}]}})",
                                   results));
    body += chat_chunk(R"({"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]})");
    body += chat_chunk(R"({"tool_calls":[{"index":0,"function":{"arguments":"\"Oslo\"}"}}]})");
    body += last_chunks(R"("tool_calls")");
  } else {
    for (const char* text : {"It", " is", " warm", "."}) body += chat_chunk(fmt::format(R"({{"content":"{}"}})", text));
    body += last_chunks(R"("stop")");
  }
  reply.begin(200, kStream);
  reply.chunk(body);
  reply.end();
}

}  // namespace

void begin_answer(Reply& reply) {
  reply.begin(200, kStream);
  reply.chunk(first_chunk() + delta_chunk());
}

void answer(const ServedRequest& request, Reply& reply) {
  if (request.target.starts_with(kTools)) return answer_tools(request, reply);
  answer_deltas(reply, request.target.starts_with(kPaced));
}

}  // namespace allm::bench
