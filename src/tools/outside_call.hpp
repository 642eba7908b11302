// Interface to tool calls that run in another process; src/lanes implements it.
#pragma once

#include <expected>
#include <memory>
#include <optional>
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

  // Starts the call if that does not block, and returns whether it did. If not, start() must be called.
  virtual bool start_now() = 0;
  // Starts the call. May block while a process is started. Errors become the answer.
  virtual void start() = 0;
  // Called before a consumer waits for the answer; `waiter_drives` says whether its thread drives the loop meanwhile.
  virtual void await(bool waiter_drives) = 0;
  // Ends the call, because its answer is not needed any more.
  virtual void abandon() = 0;
};

// Makes such calls. Stateless: its state belongs to the runtime. Safe to call from any thread.
class OutsideCalls {
 public:
  virtual ~OutsideCalls() = default;

  // Whether processes can be started; if not, the reason.
  virtual std::expected<void, std::string> check(const Runtime& runtime) const = 0;
  // What is wrong with the command of a tool, as a message for its author; nullopt if it is valid.
  virtual std::optional<std::string> command_error(const Tool& tool) const = 0;
  // A call of a tool for which runs_outside() holds, ready to be started; null if it was answered at once. Shared: the
  // runner, the process and its timers each keep the call as long as they need it.
  virtual std::shared_ptr<OutsideCall> prepare(Runtime& runtime, const Tool& tool, const Json& arguments,
                                               const ToolContext& context, ToolCompletion done) const = 0;
};

}  // namespace allm
