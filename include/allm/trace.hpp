// Ids that connect the work of several programs to one trace, as W3C Trace Context defines them.
// Values and pure functions, safe to use from any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "allm/result.hpp"

namespace allm {

// Identifies a trace: everything that one request causes, in all programs that take part. All zeros: none.
struct TraceId {
  std::array<std::uint8_t, 16> bytes = {};

  bool is_set() const {
    return std::ranges::any_of(bytes, [](std::uint8_t byte) { return byte != 0; });
  }
  bool operator==(const TraceId&) const = default;
  auto operator<=>(const TraceId&) const = default;
};

// Identifies a span: one piece of work inside a trace. All zeros: none.
struct SpanId {
  std::array<std::uint8_t, 8> bytes = {};

  bool is_set() const {
    return std::ranges::any_of(bytes, [](std::uint8_t byte) { return byte != 0; });
  }
  bool operator==(const SpanId&) const = default;
  auto operator<=>(const SpanId&) const = default;
};

// The id in lower-case hexadecimal digits: 32 for a trace id, 16 for a span id.
std::string to_hex(const TraceId& id);
std::string to_hex(const SpanId& id);

// A reference to a span, for another program: the content of a `traceparent` header.
struct TraceParent {
  TraceId trace_id = {};
  SpanId span_id = {};
  bool sampled = true;  // whether the span is recorded

  bool operator==(const TraceParent&) const = default;
};

// Reads "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01". Fails with ValidationError `invalid_option` and the
// path `traceparent` if W3C Trace Context forbids the text: other lengths, upper-case digits, ids of zeros, version ff.
// If the version is above 00, text after the flags is ignored.
Result<TraceParent> parse_traceparent(std::string_view text);
// The text form, version 00.
std::string to_string(const TraceParent& parent);

}  // namespace allm
