// A tool call that runs in another process: the program's side.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "allm/tool.hpp"

#include "engine/run_journal.hpp"
#include "process/job.hpp"
#include "runtime/loop.hpp"
#include "tools/outside_call.hpp"

namespace allm {

// Answers its call at most once. Safe to call from any thread.
class LaneCall : public OutsideCall {
 public:
  LaneCall(std::shared_ptr<Loop> loop, const ToolContext& context, ToolCompletion done, const ToolLimits& tool_limits);
  LaneCall(const LaneCall&) = delete;
  LaneCall& operator=(const LaneCall&) = delete;

  void await(bool waiter_drives) override;
  void abandon() override;
  // False if the call was answered or abandoned before.
  bool answer(ToolOutcome outcome);
  void progress(Json report);
  // Whether it may be started now; see RunJournal. It may not be for a short while, or any more.
  bool may_start() const;
  // Answers with a ToolError.
  void fail(ToolError::Reason reason, std::string message, Json metadata = empty_object());
  // The outcome of a call whose process ended without an answer. `what` is "worker" or "command".
  ToolOutcome end_failure(const char* what, const JobEnd& end) const;

  const ToolLimits limits;
  const std::string tool_name;
  const std::string tool_call_id;
  const std::string idempotency_key;
  const std::stop_token stop_token;

 private:
  struct Caller {
    ToolContext context;
    ToolCompletion done;
  };
  // Deliberate reference cycle with the runner's call, which owns this one; broken by answer() and abandon().
  std::optional<Caller> caller_;
  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<RunJournal> journal_;  // of the run, or null
  std::mutex mutex_;
  bool over_ = false;
  std::optional<Loop::Awaited> awaited_;  // from await() until it is over
};

}  // namespace allm
