// One tool call in another process, seen from here.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "allm/tool.hpp"

#include "process/job.hpp"
#include "runtime/loop.hpp"

namespace allm {

// Answers its call once. Safe from any thread.
class LaneCall {
 public:
  LaneCall(std::shared_ptr<Loop> loop, const ToolContext& context, ToolCompletion done, const ToolLimits& tool_limits);
  LaneCall(const LaneCall&) = delete;
  LaneCall& operator=(const LaneCall&) = delete;
  virtual ~LaneCall() = default;

  // Has it run, if that takes no time; whether it does. If not, start() has to.
  virtual bool start_now() = 0;
  // Has it run. May block while a process is started. What goes wrong is the answer.
  virtual void start() = 0;
  // A consumer waits for the answer; `waiter_drives` tells whether its thread drives the loop meanwhile.
  void await(bool waiter_drives);
  // Nobody wants its answer.
  void abandon();
  // Whether this was the answer.
  bool answer(ToolOutcome outcome);
  void progress(Json report);
  // It failed for a reason of ours.
  void fail(ToolError::Reason reason, std::string message, Json metadata = empty_object());
  // What it means that the process died without an answer. `what` is "worker" or "command".
  ToolOutcome end_failure(const char* what, const JobEnd& end) const;

  const ToolLimits limits;
  const std::string tool_name;
  const std::string tool_call_id;
  const std::stop_token stop_token;

 private:
  const ToolContext context_;           // valid until it is over
  std::optional<ToolCompletion> done_;  // until it is over: it keeps the call alive, and that this one
  const std::shared_ptr<Loop> loop_;
  std::mutex mutex_;
  bool over_ = false;
  std::optional<Loop::Awaited> awaited_;  // from await() until it is over
};

}  // namespace allm
