// Calls of tools that run in another process. The runner knows this interface only; src/lanes implements it.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "allm/runtime.hpp"
#include "allm/tool.hpp"

namespace allm {

// Whether the tool runs in another process.
inline bool runs_outside(const Tool& tool) { return tool.command.has_value() || tool.lane == Lane::worker; }

// One call. It answers through the completion that it was made with. Safe to call from any thread.
class OutsideCall {
 public:
  virtual ~OutsideCall() = default;

  // Starts the call if that does not block; whether it did. If not, start() has to be called.
  virtual bool start_now() = 0;
  // Starts the call. May block while a process is started. What goes wrong is the answer.
  virtual void start() = 0;
  // A consumer waits for the answer; `waiter_drives` tells whether its thread drives the loop meanwhile.
  virtual void await(bool waiter_drives) = 0;
  // The answer is not wanted any more.
  virtual void abandon() = 0;
};

// Makes such calls. Without state of its own: what it needs belongs to the runtime. Safe to call from any thread.
class OutsideCalls {
 public:
  virtual ~OutsideCalls() = default;

  // Whether processes can be started at all; if not, why.
  virtual std::expected<void, std::string> check(const Runtime& runtime) const = 0;
  // A call of a tool for which runs_outside() holds, ready to be started; null if it was answered at once. Shared: the
  // runner, the process and its timers each keep the call as long as they need it.
  virtual std::shared_ptr<OutsideCall> prepare(Runtime& runtime, const Tool& tool, const Json& arguments,
                                               const ToolContext& context, ToolCompletion done) const = 0;
};

}  // namespace allm
