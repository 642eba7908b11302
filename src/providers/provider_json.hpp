// Reads JSON that providers write. Less strict than for stored data, because a provider cannot be asked to correct its
// response. Pure functions; safe to call from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "allm/json.hpp"
#include "allm/message.hpp"

namespace allm {

// The value of a text, or nullopt if it is not JSON within the usual limits of depth and count. The caller limits its
// size. If an object repeats a key, the last value is used; integers beyond 64 bits become doubles.
std::optional<Json> parse_provider_json(std::string_view text);

// The member of an object. Null if it is absent or JSON's null, or if `value` is not an object.
const Json* find_member(const Json& value, std::string_view key);
// The text of a member that is a string, "" otherwise.
std::string_view text_member(const Json& value, std::string_view key);
// The value of a member that is an integer or a double without a fraction; nullopt otherwise.
std::optional<std::int64_t> integer_member(const Json& value, std::string_view key);

// A tool call from the text of its arguments. `raw_arguments` is the unchanged text; `arguments` is its value, or {} if
// it is not a JSON object.
ToolCall tool_call_from_text(std::string id, std::string name, std::string raw_arguments);

// A token count of a provider: absent, or not negative.
using TokenCount = std::optional<std::int64_t>;
TokenCount count_member(const Json& counts, std::string_view key);
// The sum of two counts. An absent count adds nothing, nor does one that would overflow.
TokenCount sum_of_counts(TokenCount a, TokenCount b);

}  // namespace allm
