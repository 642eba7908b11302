// Random ids of runs, traces and spans.
#pragma once

#include <string>

#include "allm/trace.hpp"

namespace allm {

// 16 random bytes from the system, as 22 characters of URL-safe base64. The first character is never '-', so that a
// command does not take the id for an option. Safe to call from any thread.
std::string make_request_id();

// Ids of spans and traces, from the same random source; never all zeros. Safe to call from any thread; takes no lock.
TraceId make_trace_id();
SpanId make_span_id();

}  // namespace allm
