// JSON as providers write it: less strict than what users may store, because what was sent cannot be sent back for
// correction. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "allm/json.hpp"
#include "allm/message.hpp"

namespace allm {

// The value of a text, or nothing if it is not JSON within the usual limits of depth and count. Its size is limited by
// whoever received it. Of a key that an object repeats the last
// value counts; integers beyond 64 bits become doubles.
std::optional<Json> parse_provider_json(std::string_view text);

// The member of an object, or null: also if `value` is no object, or the member is JSON's null.
const Json* find_member(const Json& value, std::string_view key);
// The text of a member that is a string, "" otherwise.
std::string_view text_member(const Json& value, std::string_view key);
// The value of a member that is an integer, nothing otherwise. A double without a fraction counts as one.
std::optional<std::int64_t> integer_member(const Json& value, std::string_view key);

// The call that a model made, from the text of its arguments: kept as it is in `raw_arguments`, and `arguments` are its
// value, or {} if it is no JSON object.
ToolCall tool_call_from_text(std::string id, std::string name, std::string raw_arguments);

// Tokens as a provider reports them: absent, or not negative.
using TokenCount = std::optional<std::int64_t>;
TokenCount count_member(const Json& counts, std::string_view key);
// Absent counts add nothing; what cannot be added is left out.
TokenCount sum_of_counts(TokenCount a, TokenCount b);

}  // namespace allm
