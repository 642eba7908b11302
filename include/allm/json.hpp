// JSON values. `Json` is nlohmann::ordered_json, the only third-party type in allm's public interface.
//
// `Json` keeps the order of object keys, because providers' prompt caches depend on the exact bytes of a request. The
// reader has limits on depth, size and lengths. If a text exceeds one, an error is returned; the program never crashes
// or hangs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "allm/error.hpp"

namespace allm {

// Return {} and null. They are functions so that files which include this header do not instantiate the constructors of
// `Json`.
Json empty_object();
Json null_json();

// Limits on what a reader accepts, so that a hostile document causes an error and does not exhaust the memory of the
// process. Raise one only for input you trust.
struct ReadLimits {
  // Nesting of arrays and objects. Readers recurse once per level, so this limit also limits the stack that they use.
  std::size_t max_depth = 128;
  // Bytes of the whole text.
  std::size_t max_bytes = 256U << 20U;
  // Bytes of one string or key, after unescaping.
  std::size_t max_string_bytes = 64U << 20U;
  // Elements of one array, or members of one object.
  std::size_t max_items = 1'000'000;
};

// Parses one JSON text. The text must be valid UTF-8 and contain exactly one value. A key may occur only once in an
// object. Integers beyond 64 bits become doubles, as in most JSON readers.
// Fails with ValidationError `invalid_request` and one field error. Its reason is `malformed` (the message says what is
// wrong and at which byte), `too_deep`, `too_large` or `duplicate_key`. Its path is that of the wrong value, or `json`
// if the error concerns the whole text, as `malformed` and `too_deep` always do.
// Safe to call from any thread.
Result<Json> parse_json(std::string_view text, const ReadLimits& limits = {});

// Writes compact JSON: no white space, no escapes for `/` and for characters outside ASCII, and the shortest form of a
// number that is read back as the same number. Fails with ValidationError `invalid_request` and the path of a value
// that JSON cannot represent: text that is not valid UTF-8, NaN, an infinity or binary data.
// Safe to call from any thread.
Result<std::string> write_json(const Json& value);

// Whether two values are equal as JSON. The order of keys does not matter, and numbers are compared by value (1 equals
// 1.0). `Json::operator==` compares the order of keys, too. Safe to call from any thread.
bool json_equal(const Json& a, const Json& b);

}  // namespace allm
