#include "data/pairing.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "allm/json.hpp"

#include "data/unanswered.hpp"

namespace allm {
namespace {

// The calls of the last message with calls, as long as only results follow it.
class OpenCalls {
 public:
  // Returns an id that occurs twice, or null.
  const std::string* open(const Message& message) {
    calls_.clear();
    open_ = 0;
    if (message.role != Role::assistant) return nullptr;
    for (const ToolCall& call : message.tool_calls) calls_.push_back({&call});
    open_ = calls_.size();
    by_id_.clear();
    for (Call& call : calls_) by_id_.push_back(&call);
    std::ranges::sort(by_id_, {}, &OpenCalls::id_of);
    const auto twice = std::ranges::adjacent_find(by_id_, {}, &OpenCalls::id_of);
    return twice == by_id_.end() ? nullptr : &id_of(*twice);
  }
  enum class Answer : std::uint8_t { first, second, unknown };
  Answer answer(const std::string& id) {
    if (calls_.empty()) return Answer::unknown;
    const auto found = std::ranges::lower_bound(by_id_, id, {}, &OpenCalls::id_of);
    if (found == by_id_.end() || id_of(*found) != id) return Answer::unknown;
    if (std::exchange((*found)->answered, true)) return Answer::second;
    --open_;
    return Answer::first;
  }
  bool empty() const { return open_ == 0; }
  // Calls `visit` with each call that has no result, in the order of the calls.
  void for_each(auto visit) const {
    for (const Call& call : calls_) {
      if (!call.answered) visit(*call.call);
    }
  }

 private:
  struct Call {
    const ToolCall* call = nullptr;
    bool answered = false;
  };
  static const std::string& id_of(const Call* call) { return call->call->id; }

  std::vector<Call> calls_;
  std::vector<Call*> by_id_;  // of calls_
  std::size_t open_ = 0;
};

bool is_result(const Message& message) { return message.role == Role::tool && message.tool_call_id.has_value(); }

Status pairing_error(ValidationError::Reason reason, std::size_t index, const char* word, const std::string& problem) {
  const auto number = static_cast<std::int64_t>(index);
  return std::unexpected(
      validation_error(reason, {std::string("messages"), number, std::string("tool_call_id")}, word,
                       "the conversation cannot be sent: message " + std::to_string(number) + " " + problem));
}

// Appends a result for each open call, in the order of the calls.
void append_missing(const OpenCalls& calls, MessageList& messages) {
  calls.for_each([&](const ToolCall& call) { messages.push_back(unknown_result(call.id)); });
}

}  // namespace

Status check_pairs(const MessageList& messages, std::size_t from, ValidationError::Reason reason) {
  OpenCalls calls;
  for (std::size_t i = from; i < messages.size(); ++i) {
    const Message& message = messages[i];
    if (!is_result(message)) {
      if (const std::string* id = calls.open(message)) {
        return pairing_error(reason, i, "duplicate_tool_call_id", "has two calls with the id '" + *id + "'");
      }
      continue;
    }
    const std::string& id = *message.tool_call_id;
    const OpenCalls::Answer answer = calls.answer(id);
    if (answer == OpenCalls::Answer::first) continue;
    if (answer == OpenCalls::Answer::second) {
      return pairing_error(reason, i, "duplicate_tool_message", "is a second result of the call '" + id + "'");
    }
    return pairing_error(reason, i, "orphan_tool_message",
                         "is a result of the call '" + id + "', but the message before the results has no such call");
  }
  return {};
}

bool lacks_results(const MessageList& messages, std::size_t from) {
  OpenCalls calls;
  for (std::size_t i = from; i < messages.size(); ++i) {
    const Message& message = messages[i];
    if (is_result(message)) {
      calls.answer(*message.tool_call_id);
      continue;
    }
    if (!calls.empty()) return true;
    calls.open(message);
  }
  return !calls.empty();
}

MessageList with_missing_results(const MessageList& messages) {
  MessageList complete;
  OpenCalls calls;
  for (const Message& message : messages) {
    if (is_result(message)) {
      calls.answer(*message.tool_call_id);
    } else {
      append_missing(calls, complete);
      calls.open(message);
    }
    complete.push_back(message);
  }
  append_missing(calls, complete);
  return complete;
}

std::unordered_set<std::string_view> unanswered_calls(const MessageList& messages) {
  std::unordered_set<std::string_view> answered;
  std::unordered_set<std::string_view> unanswered;
  for (std::size_t i = messages.size(); i > 0; --i) {
    const Message& message = messages[i - 1];
    if (message.role == Role::tool && message.tool_call_id) answered.insert(*message.tool_call_id);
    if (message.role != Role::assistant || message.tool_calls.empty()) continue;
    for (const ToolCall& call : message.tool_calls) {
      if (!answered.contains(call.id)) unanswered.insert(call.id);
    }
    break;
  }
  return unanswered;
}

}  // namespace allm
