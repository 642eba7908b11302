// JSON values: the only third-party type in allm's public interface.
//
// `Json` keeps the order of object keys, because providers' prompt caches depend on the exact
// bytes of a request. Reading is bounded: depth, size and lengths have limits, and exceeding one is
// a returned error, never a crash or a hang.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "allm/error.hpp"

namespace allm {

// Returns {}. A function, so that files which include this header do not instantiate `Json::object()`.
Json empty_object();
// Returns null. A function for the same reason.
Json null_json();

// Limits on what a reader accepts, so that a hostile document causes an error and does not exhaust the memory of the
// process. Raise one only for input you trust.
struct ReadLimits {
  // Nesting of arrays and objects. Readers recurse once per level, so this bounds the stack.
  std::size_t max_depth = 128;
  // Bytes of the whole text.
  std::size_t max_bytes = 256U << 20U;
  // Bytes of one string or key, after unescaping.
  std::size_t max_string_bytes = 64U << 20U;
  // Elements of one array, or members of one object.
  std::size_t max_items = 1'000'000;
};

// Parses one JSON text. The text must be valid UTF-8, hold exactly one value and repeat no key
// within an object. Integers beyond 64 bits become doubles, as in most JSON readers.
// Fails with ValidationError `invalid_request` whose field error is `json → malformed` (broken
// text; the message says what and at which byte), `json → too_deep`, `too_large` or
// `duplicate_key` with the path of the offending value.
// Safe to call from any thread.
Result<Json> parse_json(std::string_view text, const ReadLimits& limits = {});

// Writes compact JSON: no white space, `/` and non-ASCII not escaped, numbers in their shortest
// form that reads back equal. Fails with ValidationError `invalid_request` naming the path of a
// value that JSON cannot represent: text that is not valid UTF-8, NaN, an infinity, binary data.
// Safe to call from any thread.
Result<std::string> write_json(const Json& value);

// Whether two values are equal as JSON: objects regardless of the order of their keys, numbers by
// value (1 equals 1.0). `Json::operator==` also compares key order.
bool json_equal(const Json& a, const Json& b);

}  // namespace allm
