// The finish reason of a message: each provider has a table of its words, and one rule for messages with calls applies
// to all of them. Pure functions; safe to call from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "allm/event.hpp"

namespace allm {

struct FinishWord {
  // When the word is kept as raw_finish_reason.
  enum class Keep : std::uint8_t {
    never,
    if_changed,  // the rule for calls gave another reason than `reason`
    always,      // FinishReason is less precise
  };
  std::string_view word;
  FinishReason reason;
  Keep keep;
};

// Sets finish_reason and raw_finish_reason from the provider's word, which is "" if none arrived. Needs the message's
// calls. A word that is not in the table is `other`. Calls make `tool_calls` of every reason but length, content_filter
// and error; of an unknown reason only if all of them are complete. `tool_calls` without a call is `stop`.
void set_finish(MessageCompleted& completed, std::string_view word, std::span<const FinishWord> words);

// Makes `content_filter` of any reason, because the message is a refusal.
void set_refused(MessageCompleted& completed, std::string_view word);

}  // namespace allm
