// A JSON text, checked as a whole: well-formed UTF-8 JSON within the limits on size and depth.
//
// The hot path is simdjson. It refuses integers beyond 64 bits, so such texts are read again by a slow
// reader that turns them into doubles. Malformed texts are read again too, to find the byte of the error.
#pragma once

#include <cstdint>
#include <string_view>

#include "allm/json.hpp"

#include "data/failure.hpp"
#include "data/json_node.hpp"

namespace allm::codec {

// What the slow reader does with a key that comes twice in an object.
enum class RepeatedKeys : std::uint8_t { refused, last_wins };
// The slow reader. Iterative; enforces all limits. `values_left` is the number of values that it may make; it is
// reduced by those that it made.
bool read_slowly(std::string_view text, const ReadLimits& limits, RepeatedKeys repeated, std::size_t& values_left,
                 Failure& failure, Json& out);

// parse_json() with a limit on the number of values, which is reduced by those of the text, also of one that cannot be
// read. Beyond it the field error is `too_large`.
Result<Json> parse_counted(std::string_view text, const ReadLimits& limits, std::size_t& values_left);

// The limits in force: nesting is limited to kMaxNesting, because each level needs stack.
ReadLimits effective(const ReadLimits& limits);

// A parsed text. It uses the parser of the calling thread: a thread may have only one at a time, and it
// must not be used on another thread.
class Document {
 public:
  enum class Form : std::uint8_t { broken, text, value };

  // `values_left` limits the values of a text that has to be read slowly.
  Document(std::string_view text, const ReadLimits& limits, std::size_t& values_left, Failure& failure);
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
  ~Document();

  Form form() const { return form_; }
  TextNode root() const { return {tape_, tape_.words + 1}; }  // of a text
  Json& value() { return value_; }                            // of a text that had to be read slowly

 private:
  Form form_ = Form::broken;
  Tape tape_;
  Json value_;
};

}  // namespace allm::codec
