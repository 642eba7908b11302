// Ids that correlate everything one run does.
#pragma once

#include <string>

#include "allm/trace.hpp"

namespace allm {

// 16 random bytes from the system, as 22 characters of URL-safe base64. Safe from any thread.
std::string make_request_id();

// Ids of spans and traces, from the same random bytes; never all zeros. Safe from any thread, without a lock.
TraceId make_trace_id();
SpanId make_span_id();

}  // namespace allm
