// The tool calls of one turn: run, denied, or left to the program.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allm/stream.hpp"

#include "engine/run.hpp"
#include "tools/batch.hpp"
#include "tools/gate.hpp"

namespace allm {

// Produces the events of the calls that run. If one of them or a cancellation ends the turn, the pending calls are
// answered, too, so that the thread stays valid. One thread at a time.
class ToolTurn : public EventSource {
 public:
  // `calls` must outlive this; `sorted` is made from them. `span`: the parent of the calls' spans, if that is not the
  // run's own parent.
  ToolTurn(std::shared_ptr<const Run> run, std::span<const ToolCall> calls, SortedCalls sorted, SpanId span = {});
  Poll poll(const Waker& waker) override;

  // After the end: the tool messages in the order of the calls, without those of calls that are still pending.
  std::vector<Message> take_messages() { return std::move(messages_); }
  // Why the turn ended early: a call ended it, the run was cancelled, or calls are pending (Manual); nullopt otherwise.
  const std::optional<StepEnd>& end() const { return end_; }
  // Whether the turn ended with every call answered and no model call may follow.
  bool is_over() const { return is_over_; }

 private:
  void finish();
  void answer_pending(const std::string& why);

  std::shared_ptr<const Run> run_;
  std::span<const ToolCall> calls_;
  std::vector<bool> is_pending_;
  std::vector<PendingToolCall> pending_;
  std::optional<ToolBatchSource> batch_;  // until its end
  std::vector<Message> messages_;
  std::vector<Event> not_run_;  // answers of the pending calls; from next_ on: to be delivered
  std::size_t next_ = 0;
  std::optional<StepEnd> end_;
  bool is_over_ = false;
};

}  // namespace allm
