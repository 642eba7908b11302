// Reads JSON that providers write. Less strict than for stored data, because a provider cannot be asked to correct its
// response. Pure functions; safe to call from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "allm/json.hpp"
#include "allm/message.hpp"

#include "data/call_meter.hpp"

namespace allm {

// The number of values that a text may have. Real answers have some thousands; with the probabilities of all tokens,
// some hundred thousands. A hostile text of 64 MiB would otherwise become gigabytes of values.
inline constexpr std::size_t kMaxProviderValues = 1'000'000;
// Why a text may be more than "not JSON": says that it may have too many values, if it is long enough for that. Else
// "".
std::string_view too_many_values(std::string_view text);

// The value of a text, or nullopt if it is not JSON within the limit above and the usual ones of depth and count. The
// caller limits its size. If an object repeats a key, the last value is used; integers beyond 64 bits become doubles; a
// lone surrogate becomes U+FFFD.
std::optional<Json> parse_provider_json(std::string_view text);

// Paths of the texts of an event that are pieces of a longer text: keys, joined by dots, without array indexes.
using PiecePaths = std::span<const std::string_view>;
// The value of one event of a stream. As above, but a surrogate at the start or the end of a piece is kept, in the form
// of data/surrogates.hpp: the pieces must be joined by a SurrogateJoiner, which joins its other half.
std::optional<Json> parse_event_json(std::string_view text, PiecePaths pieces);
// The value with U+FFFD instead of the surrogates that parse_event_json keeps.
Json without_halves(Json value);

// The member of an object. Null if it is absent or JSON's null, or if `value` is not an object.
const Json* find_member(const Json& value, std::string_view key);
// The text of a member that is a string, "" otherwise.
std::string_view text_member(const Json& value, std::string_view key);
// The value of a member that is an integer or a double without a fraction; nullopt otherwise.
std::optional<std::int64_t> integer_member(const Json& value, std::string_view key);

// A tool call from the text of its arguments. `raw_arguments` is the text, in which only escapes of lone surrogates are
// replaced by that of U+FFFD; `arguments` is its value, or {} if it is not a JSON object or too long to be parsed.
// Counts the values of the arguments.
ToolCall tool_call_from_text(std::string id, std::string name, std::string raw_arguments, CallMeter& meter);

// How many members of an object of token counts are read. Providers send a dozen.
inline constexpr std::size_t kMaxUsageMembers = 128;

// A token count of a provider: absent, or not negative.
using TokenCount = std::optional<std::int64_t>;
TokenCount count_member(const Json& counts, std::string_view key);
// The sum of two counts. An absent count adds nothing, nor does one that would overflow.
TokenCount sum_of_counts(TokenCount a, TokenCount b);

}  // namespace allm
