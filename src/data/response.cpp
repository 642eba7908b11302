#include "allm/response.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "data/names.hpp"

namespace allm {

namespace {

// Counts come from providers: a nonsensical one must not be undefined behaviour.
std::int64_t add_saturating(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

void add(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& value) {
  if (value.has_value()) sum = add_saturating(sum.value_or(0), *value);
}

void add(std::optional<double>& sum, const std::optional<double>& value) {
  if (value.has_value()) sum = sum.value_or(0.0) + *value;
}

bool fits_int64(const Json& number) {
  return number.is_number_integer() &&
         (!number.is_number_unsigned() ||
          number.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
}

void add_members(Json& sum, const Json& values) {
  if (values.is_null()) return;
  if (!sum.is_object() || !values.is_object()) {
    sum = values;
    return;
  }
  for (const auto& [key, value] : values.items()) {
    const auto old = sum.find(key);
    if (old == sum.end()) {
      sum[key] = value;
    } else if (fits_int64(*old) && fits_int64(value)) {
      *old = add_saturating(old->get<std::int64_t>(), value.get<std::int64_t>());
    } else if (old->is_number() && value.is_number()) {
      *old = old->get<double>() + value.get<double>();
    } else {
      *old = value;
    }
  }
}

std::string describe_end(const Response& response) {
  if (!response.finish_reason.has_value()) return "without a finish reason";
  if (response.raw_finish_reason.has_value()) {
    return fmt::format("with finish reason {} (the provider's word: {})", to_string(*response.finish_reason),
                       *response.raw_finish_reason);
  }
  return fmt::format("with finish reason {}", to_string(*response.finish_reason));
}

std::string_view advice(const Response& response) {
  switch (response.finish_reason.value_or(FinishReason::other)) {
    case FinishReason::stop:
      return "it has no text";
    case FinishReason::length:
      return "raise max_tokens, or use text() to take what there is";
    case FinishReason::tool_calls:
      return "it asks for tools: run them with chat() or run_tool_calls()";
    case FinishReason::content_filter:
      return "the provider's filter stopped it: change the prompt";
    case FinishReason::error:
    case FinishReason::other:
      break;
  }
  return "use text() to take what there is";
}

}  // namespace

std::string_view to_string(FinishReason reason) { return enum_name(reason); }
std::optional<FinishReason> finish_reason_from_string(std::string_view name) {
  return enum_from_name<FinishReason>(name);
}

std::optional<std::int64_t> Usage::total() const {
  if (total_tokens.has_value()) return total_tokens;
  if (!input_tokens.has_value() || !output_tokens.has_value()) return std::nullopt;
  return add_saturating(*input_tokens, *output_tokens);
}

Usage& Usage::operator+=(const Usage& other) {
  add(input_tokens, other.input_tokens);
  add(output_tokens, other.output_tokens);
  add(cached_input_tokens, other.cached_input_tokens);
  add(cache_write_input_tokens, other.cache_write_input_tokens);
  add(reasoning_tokens, other.reasoning_tokens);
  add(total_tokens, other.total_tokens);
  add(input_cost, other.input_cost);
  add(output_cost, other.output_cost);
  add(total_cost, other.total_cost);
  add_members(tool_usage, other.tool_usage);
  add_members(extra, other.extra);
  return *this;
}

std::optional<std::string> Response::text() const {
  if (output_text.has_value()) return output_text;
  if (!message.has_value()) return std::nullopt;
  if (const auto* parts = std::get_if<std::vector<Part>>(&message->content)) {
    const bool has_text =
        std::ranges::any_of(*parts, [](const Part& part) { return std::holds_alternative<TextPart>(part); });
    if (!has_text) return std::nullopt;
  }
  return message->text();
}

Result<std::string> unwrap(const Response& response) {
  if (response.error.has_value()) return std::unexpected(*response.error);
  if (response.finish_reason == FinishReason::stop) {
    if (std::optional<std::string> text = response.text()) return *std::move(text);
  }
  std::string message =
      fmt::format("the response ended {}, not with a text: {}", describe_end(response), advice(response));
  Json metadata = {
      {"finish_reason", response.finish_reason.has_value() ? Json(to_string(*response.finish_reason)) : Json(nullptr)}};
  if (response.finish_reason == FinishReason::content_filter) {
    return std::unexpected(
        Error(AdapterError{.reason = AdapterError::Reason::content_filter}, std::move(message), std::move(metadata)));
  }
  return std::unexpected(
      Error(StreamError{.reason = StreamError::Reason::adapter_error}, std::move(message), std::move(metadata)));
}

}  // namespace allm
