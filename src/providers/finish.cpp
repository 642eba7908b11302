#include "providers/finish.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "data/call_meter.hpp"

namespace allm {
namespace {

using Keep = FinishWord::Keep;

// Whether the arguments are an object, or empty, and not cut off.
bool is_complete(const ToolCall& call) {
  if (call.name.empty()) return false;
  if (!call.arguments.empty() || !call.raw_arguments) return true;
  if (call.raw_arguments->find_first_not_of(" \t\r\n") == std::string::npos) return true;
  const Result<Json> value = CallMeter().parse(*call.raw_arguments);
  return value && value->is_object();
}

bool runs_calls(std::optional<FinishReason> reason, const std::vector<ToolCall>& calls) {
  switch (reason.value_or(FinishReason::stop)) {
    case FinishReason::stop:
    case FinishReason::tool_calls:
      return true;
    case FinishReason::other:
      return std::ranges::all_of(calls, is_complete);
    case FinishReason::length:
    case FinishReason::content_filter:
    case FinishReason::error:
      break;
  }
  return false;
}

}  // namespace

void set_finish(MessageCompleted& completed, std::string_view word, std::span<const FinishWord> words) {
  const auto found = std::ranges::find(words, word, &FinishWord::word);
  const FinishWord unknown{.word = word, .reason = FinishReason::other, .keep = Keep::always};
  const FinishWord& known = found == words.end() ? unknown : *found;
  std::optional<FinishReason> reason;
  if (!word.empty()) reason = known.reason;

  const std::vector<ToolCall>& calls = completed.message.tool_calls;
  completed.finish_reason = reason;
  if (!calls.empty() && runs_calls(reason, calls)) {
    completed.finish_reason = FinishReason::tool_calls;
  } else if (calls.empty() && reason == FinishReason::tool_calls) {
    completed.finish_reason = FinishReason::stop;
  }
  const bool is_changed = completed.finish_reason != reason;
  const bool is_kept = known.keep == Keep::always || (known.keep == Keep::if_changed && is_changed);
  if (!word.empty() && is_kept) completed.raw_finish_reason = std::string(word);
}

void set_refused(MessageCompleted& completed, std::string_view word) {
  if (completed.finish_reason == FinishReason::content_filter) return;
  completed.finish_reason = FinishReason::content_filter;
  if (!word.empty()) completed.raw_finish_reason = std::string(word);
}

}  // namespace allm
