// Checks the tool calls in the events of one model call against AnswerLimits, for adapters that do not. One thread at a
// time.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>

#include "allm/event.hpp"

#include "data/call_meter.hpp"

namespace allm {

class CallWatch {
 public:
  explicit CallWatch(const AnswerLimits& limits) : streamed_(limits), completed_(limits) {}

  // Counts an event about a tool call, or the completed message; false once the answer exceeds a limit.
  bool add(const Event& event);
  std::string error() const { return streamed_.is_exceeded() ? streamed_.error() : completed_.error(); }

 private:
  bool add_piece(const std::string& id, std::size_t bytes);
  bool add_call(const ToolCall& call);

  CallMeter streamed_;   // counts calls by their ids, and the pieces of their arguments
  CallMeter completed_;  // counts the calls as they are when they are complete
  std::unordered_set<std::string> ids_;
  std::string last_id_;
};

}  // namespace allm
