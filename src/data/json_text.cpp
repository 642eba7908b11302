#include "data/json_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <simdjson.h>

#include "data/immortal.hpp"
#include "data/lasting_simdjson.hpp"
#include "data/text_sink.hpp"

namespace allm::codec {

namespace {

// A parser keeps about 14 bytes for each byte of the longest text it has read. Above this size the
// memory is freed, so that one large document does not occupy memory on every thread that read one.
constexpr std::size_t kKeptTextBytes = 256U << 10U;

[[maybe_unused]] const bool kKeptSimdjson = keep_simdjson();

simdjson::error_code parse(std::string_view text, std::size_t max_depth, Tape& tape) {
  auto& parser = thread_instance<simdjson::dom::parser>();
  const std::size_t depth = max_depth + 1;  // simdjson counts the document as a level
  if (parser.max_depth() != depth) {
    const simdjson::error_code code = parser.allocate(std::max<std::size_t>(text.size(), 64), depth);
    if (code != simdjson::SUCCESS) return code;
  }
  const simdjson::error_code code = parser.parse(text.data(), text.size()).error();
  tape = {parser.doc.tape.get(), parser.doc.string_buf.get()};
  return code;
}

}  // namespace

ReadLimits effective(const ReadLimits& limits) {
  ReadLimits result = limits;
  result.max_depth = std::min(result.max_depth, kMaxNesting);
  return result;
}

Document::Document(std::string_view text, const ReadLimits& limits, std::size_t& values_left, Failure& failure) {
  if (text.size() > limits.max_bytes) {
    failure.fail("too_large", fmt::format("a text of {} bytes exceeds the limit of {} (ReadLimits::max_bytes)",
                                          text.size(), limits.max_bytes));
    return;
  }
  if (text.empty()) {
    failure.fail("malformed", "malformed JSON at byte 0: the text is empty");
    return;
  }
  const simdjson::error_code code = parse(text, limits.max_depth, tape_);
  switch (code) {
    case simdjson::SUCCESS:
      form_ = Form::text;
      return;
    case simdjson::DEPTH_ERROR:
      failure.fail("too_deep", fmt::format("the text nests deeper than {} levels of arrays and objects "
                                           "(ReadLimits::max_depth)",
                                           limits.max_depth));
      return;
    case simdjson::CAPACITY:
    case simdjson::MEMALLOC:
      failure.fail("too_large", fmt::format("there is not enough memory to read a text of {} bytes", text.size()));
      return;
    default:
      break;
  }
  if (!read_slowly(text, limits, RepeatedKeys::refused, values_left, failure, value_)) return;
  if (code == simdjson::NUMBER_ERROR) {
    form_ = Form::value;
    return;
  }
  failure.fail("malformed", fmt::format("malformed JSON: {}", simdjson::error_message(code)));
}

Document::~Document() {
  auto& parser = thread_instance<simdjson::dom::parser>();
  if (parser.capacity() > kKeptTextBytes) parser = simdjson::dom::parser();
}

}  // namespace allm::codec
