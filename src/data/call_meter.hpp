// Counts the tool calls of one answer against AnswerLimits. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "allm/json.hpp"
#include "allm/limits.hpp"

namespace allm {

class CallMeter {
 public:
  CallMeter() = default;
  explicit CallMeter(const AnswerLimits& limits) : limits_(limits) {}

  // To be called before anything is counted.
  void set_limits(const AnswerLimits& limits) { *this = CallMeter(limits); }
  const AnswerLimits& limits() const { return limits_; }

  // Count one call more, bytes of ids, names and argument texts, and the values of arguments. Return false once the
  // answer has exceeded a limit.
  bool add_call() { return ++calls_ <= limits_.max_calls || fail(Exceeded::calls); }
  bool add_bytes(std::size_t bytes) {
    bytes_ += bytes;
    return bytes_ <= limits_.max_call_bytes || fail(Exceeded::bytes);
  }
  bool add_values(const Json& arguments);
  // Parses the text of arguments. Fails without parsing if the text is longer than one call's may be.
  Result<Json> parse(std::string_view text);

  bool is_exceeded() const { return exceeded_ != Exceeded::none; }
  // What the answer has exceeded; "" if nothing.
  std::string error() const;

 private:
  enum class Exceeded : std::uint8_t { none, calls, bytes, values };
  bool fail(Exceeded what) {
    exceeded_ = what;
    return false;
  }

  AnswerLimits limits_ = {};
  Exceeded exceeded_ = Exceeded::none;
  std::size_t calls_ = 0;
  std::size_t bytes_ = 0;
  std::size_t values_ = 0;
};

// Says that the text of one call's arguments is too long to be parsed.
std::string too_long_arguments(std::size_t bytes, const AnswerLimits& limits);

}  // namespace allm
