// The first part of a run that was approved: checks the decisions on pending calls and runs the allowed ones.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "allm/approve.hpp"
#include "allm/stream.hpp"

#include "chat/tool_turn.hpp"
#include "engine/run.hpp"

namespace allm {

// Produces the events of the calls, or an ErrorEvent if a decision is invalid; no call runs then. One thread at a time.
class ApproveSource : public EventSource {
 public:
  ApproveSource(std::shared_ptr<const Run> run, Thread thread, std::vector<PendingToolCall> pending,
                std::vector<CallDecision> decisions);
  Poll poll(const Waker& waker) override;

  // The error, if no call was run. Only after the end.
  const std::optional<Error>& failure() const { return failure_; }
  // The thread with the answers.
  const Thread& thread() const { return thread_; }
  // Why no model call follows; nullopt if one does.
  const std::optional<RunEnd>& end() const { return end_; }

 private:
  enum class State : std::uint8_t { begin, tools, done };

  using Ids = std::unordered_set<std::string_view>;

  Status check() const;
  // `unanswered`: the ids of the calls that have no result in the thread.
  Status check_decision(std::size_t index, const Ids& unanswered) const;
  // Checks the decisions and starts the calls.
  Status begin();
  void finish();
  const PendingToolCall* find_pending(const std::string& id) const;
  const CallDecision* find_decision(const std::string& id) const;

  std::shared_ptr<const Run> run_;
  Thread thread_;
  std::vector<PendingToolCall> pending_;
  std::vector<CallDecision> decisions_;
  std::unordered_map<std::string_view, const PendingToolCall*> pending_by_id_;
  std::unordered_map<std::string_view, const CallDecision*> decisions_by_id_;
  std::vector<ToolCall> calls_;  // the pending ones, for `tools_`
  std::optional<ToolTurn> tools_;
  State state_ = State::begin;
  std::optional<Error> failure_;
  std::optional<RunEnd> end_;
};

}  // namespace allm
