#include "data/call_meter.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "data/json_text.hpp"

namespace allm {
namespace {

// The number of values, or `limit` if there are at least as many.
std::size_t count_values(const Json& value, std::size_t limit) {
  std::size_t count = 1;
  if (!value.is_structured()) return count;
  for (const Json& element : value) {
    if (count >= limit) break;
    count += count_values(element, limit - count);
  }
  return count;
}

}  // namespace

bool CallMeter::add_values(const Json& arguments) {
  const std::size_t left = limits_.max_argument_values - std::min(values_, limits_.max_argument_values);
  values_ += count_values(arguments, left + 1);
  return values_ <= limits_.max_argument_values || fail(Exceeded::values);
}

Result<Json> CallMeter::parse(std::string_view text) {
  const std::size_t bytes = limits_.max_argument_bytes;
  std::size_t left = limits_.max_argument_values - std::min(values_, limits_.max_argument_values);
  Result<Json> value = codec::parse_counted(text, {.max_bytes = bytes, .max_string_bytes = bytes}, left);
  values_ = limits_.max_argument_values - left;
  if (!value && left == 0) fail(Exceeded::values);
  return value;
}

std::string CallMeter::error() const {
  switch (exceeded_) {
    case Exceeded::none:
      break;
    case Exceeded::calls:
      return fmt::format("the answer has more than {} tool calls (EngineOptions::answer_limits.max_calls)",
                         limits_.max_calls);
    case Exceeded::bytes:
      return fmt::format(
          "the tool calls of the answer have more than {} bytes (EngineOptions::answer_limits.max_call_bytes)",
          limits_.max_call_bytes);
    case Exceeded::values:
      return fmt::format(
          "the arguments of the answer's tool calls have more than {} JSON values "
          "(EngineOptions::answer_limits.max_argument_values)",
          limits_.max_argument_values);
  }
  return {};
}

std::string too_long_arguments(std::size_t bytes, const AnswerLimits& limits) {
  return fmt::format(
      "their text has {} bytes, and at most {} are allowed "
      "(EngineOptions::answer_limits.max_argument_bytes)",
      bytes, limits.max_argument_bytes);
}

}  // namespace allm
