// The outcome of a tool call: a value, a failure, a question for the user, or the end of the run. Plain values.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "allm/message.hpp"

namespace allm {

struct ToolOk {
  Json value = null_json();
  // The answer as text, images, documents and audio. If `parts` is not empty, `value` is ignored.
  std::vector<Part> parts = {};
  bool operator==(const ToolOk&) const;
};
// A failure: a value that the handler reported, or an Error of kind ToolError that allm made.
struct ToolFailure {
  std::variant<Json, Error> reason;
  bool reported() const;  // whether the handler reported it
  bool operator==(const ToolFailure&) const;
};
// Ends the run with a question for the user. `options` is an object of the program's own design.
struct AskUser {
  std::string question = {};
  Json options = empty_object();
  bool operator==(const AskUser&) const;
};
// Ends the run with a reason of the handler's own. If the reason is empty or reserved (is_reserved_halt_reason), the
// call fails with ToolError `invalid_return`.
struct Halt {
  std::string reason = {};
  Json result = null_json();
  bool operator==(const Halt&) const;
};
using ToolOutcome = std::variant<ToolOk, ToolFailure, AskUser, Halt>;

namespace detail {
template <class P>
concept ContentPart = std::same_as<P, TextPart> || std::same_as<P, ImagePart> || std::same_as<P, FilePart> ||
                      std::same_as<P, AudioPart> || std::same_as<P, Part>;
}  // namespace detail

ToolOutcome ok(Json value);
// An answer in parts: ok(TextPart{"The chart:"}, ImagePart{image}). If a part is an image, a document or audio, the
// parts are the content of the tool message. If all parts are texts, the content is these texts joined by newlines. The
// ToolResultEncoder is not called.
template <detail::ContentPart First, detail::ContentPart... Rest>
ToolOutcome ok(First first, Rest... rest) {
  ToolOk outcome;
  outcome.parts.emplace_back(std::move(first));
  (outcome.parts.emplace_back(std::move(rest)), ...);
  return outcome;
}
template <std::same_as<std::vector<Part>> Parts>
ToolOutcome ok(Parts parts) {
  ToolOk outcome;
  outcome.parts = std::move(parts);
  return outcome;
}
ToolOutcome failure(Json reason);
ToolOutcome ask_user(std::string question, Json options = empty_object());
ToolOutcome halt(std::string reason, Json result = null_json());

// Whether the reason is one that only allm may give: ask_user, max_turns, halt_when, tool_error, cancelled, completed,
// error, manual_tool_calls, run_timeout, max_total_tokens, max_cost, max_tool_calls, max_repeated_failures.
bool is_reserved_halt_reason(std::string_view reason);

}  // namespace allm
