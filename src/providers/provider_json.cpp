#include "providers/provider_json.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace allm {
namespace {

bool is_duplicate_key(const Error& error) {
  const auto* validation = error.get_if<ValidationError>();
  return validation != nullptr && !validation->errors.empty() && validation->errors.front().reason == "duplicate_key";
}

}  // namespace

std::optional<Json> parse_provider_json(std::string_view text) {
  // The caller has limited the size of the text.
  const std::size_t size = std::max<std::size_t>(text.size(), 1);
  Result<Json> value = parse_json(text, {.max_bytes = size, .max_string_bytes = size});
  if (value) return *std::move(value);
  // A repeated key is the only error that the strict reader found.
  if (!is_duplicate_key(value.error())) return std::nullopt;
  Json lenient = Json::parse(text, nullptr, false);
  if (lenient.is_discarded()) return std::nullopt;
  return lenient;
}

const Json* find_member(const Json& value, std::string_view key) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(key);
  return found == value.end() || found->is_null() ? nullptr : &*found;
}

std::string_view text_member(const Json& value, std::string_view key) {
  const Json* member = find_member(value, key);
  return member != nullptr && member->is_string() ? std::string_view(member->get_ref<const std::string&>())
                                                  : std::string_view();
}

std::optional<std::int64_t> integer_member(const Json& value, std::string_view key) {
  const Json* member = find_member(value, key);
  if (member == nullptr) return std::nullopt;
  if (member->is_number_unsigned()) {
    const auto number = member->get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (member->is_number_integer()) return member->get<std::int64_t>();
  if (!member->is_number_float()) return std::nullopt;
  const double number = member->get<double>();
  constexpr double kExact = 9007199254740992.0;
  if (!(std::abs(number) <= kExact) || std::trunc(number) != number) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

ToolCall tool_call_from_text(std::string id, std::string name, std::string raw_arguments) {
  ToolCall call{.id = std::move(id), .name = std::move(name)};
  // Strict, unlike the rest of a response: a tool must not run with ambiguous arguments.
  if (Result<Json> value = parse_json(raw_arguments); value && value->is_object()) call.arguments = *std::move(value);
  call.raw_arguments = std::move(raw_arguments);
  return call;
}

TokenCount count_member(const Json& counts, std::string_view key) {
  const TokenCount value = integer_member(counts, key);
  return value && *value >= 0 ? value : std::nullopt;
}

TokenCount sum_of_counts(TokenCount a, TokenCount b) {
  if (!a || !b) return a ? a : b;
  return *a > std::numeric_limits<std::int64_t>::max() - *b ? a : TokenCount(*a + *b);
}

}  // namespace allm
