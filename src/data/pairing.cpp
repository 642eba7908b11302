#include "data/pairing.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "allm/json.hpp"

#include "data/tool_errors.hpp"

namespace allm {
namespace {

// The calls of the last message with calls, as long as only results follow it.
class OpenCalls {
 public:
  // Returns an id that occurs twice, or null.
  const std::string* open(const Message& message) {
    calls_.clear();
    turn_ = message.role == Role::assistant ? &message : nullptr;
    if (turn_ == nullptr) return nullptr;
    for (const ToolCall& call : message.tool_calls) calls_.push_back(&call);
    std::ranges::sort(calls_, {}, &ToolCall::id);
    const auto twice = std::ranges::adjacent_find(calls_, {}, &ToolCall::id);
    return twice == calls_.end() ? nullptr : &(*twice)->id;
  }
  // Returns whether the result's call was open.
  bool answer(const std::string& id) {
    const auto found = std::ranges::lower_bound(calls_, id, {}, &ToolCall::id);
    if (found == calls_.end() || (*found)->id != id) return false;
    calls_.erase(found);
    return true;
  }
  bool has(const std::string& id) const {
    return turn_ != nullptr && std::ranges::find(turn_->tool_calls, id, &ToolCall::id) != turn_->tool_calls.end();
  }
  bool empty() const { return calls_.empty(); }
  bool is_open(const ToolCall& call) const { return std::ranges::find(calls_, &call) != calls_.end(); }
  const Message* turn() const { return turn_; }

 private:
  const Message* turn_ = nullptr;
  std::vector<const ToolCall*> calls_;  // without a result, ordered by id
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
  if (calls.empty()) return;
  for (const ToolCall& call : calls.turn()->tool_calls) {
    if (!calls.is_open(call)) continue;
    const Json content = {{"error", "no result of this call is known"}, {"reason", "not_run"}};
    messages.push_back(failed_result(call.id, content.dump()));
  }
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
    if (calls.answer(id)) continue;
    if (calls.has(id)) {
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

bool is_unanswered(const MessageList& messages, const std::string& id) {
  for (std::size_t i = messages.size(); i > 0; --i) {
    const Message& message = messages[i - 1];
    if (message.role == Role::tool && message.tool_call_id == id) return false;
    if (message.role == Role::assistant && !message.tool_calls.empty()) {
      return std::ranges::any_of(message.tool_calls, [&](const ToolCall& call) { return call.id == id; });
    }
  }
  return false;
}

}  // namespace allm
