// The answers of the benchmark server, by the path of the request.
#pragma once

#include "tests/http_server.hpp"

namespace allm::bench {

inline constexpr const char* kPaced = "/paced";      // 50 deltas, a millisecond apart
inline constexpr const char* kBurst = "/burst";      // 50 deltas, as fast as they can be written
inline constexpr const char* kTools = "/tools";      // a tool call, a second one, then text
inline constexpr const char* kWaiting = "/waiting";  // the first delta; the stream stays open

inline constexpr int kDeltas = 50;

// Sends a whole answer: paced, burst or tools.
void answer(const testing::ServedRequest& request, testing::Reply& reply);
// Sends the beginning of an answer, with its first delta.
void begin_answer(testing::Reply& reply);

}  // namespace allm::bench
