// Calls and their results in a thread. Providers refuse a conversation in which they do not fit together. Safe to call
// from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>

#include "allm/error.hpp"
#include "allm/thread.hpp"

namespace allm {

// Checks the messages from index `from` on; the call ids of the message before it must be answered. The rules:
//
// - The results of a message's calls follow it directly, in any order, one for each call.
// - The calls of one message have different ids. Other messages may use these ids again.
//
// A result without such a call, a second result and a second call of one id are ValidationError `reason`, which names
// the index of the message and the id. A call without a result is not an error: see with_missing_results.
Status check_pairs(const MessageList& messages, std::size_t from, ValidationError::Reason reason);

// Whether each call has its result. Only for messages that check_pairs accepts.
bool lacks_results(const MessageList& messages, std::size_t from);

// The messages, with a result for each call that has none: an error which says that no result is known. Only for
// messages that check_pairs accepts.
MessageList with_missing_results(const MessageList& messages);

// The ids of the calls of the thread's last turn that have no result. The views are those of the messages.
std::unordered_set<std::string_view> unanswered_calls(const MessageList& messages);

}  // namespace allm
