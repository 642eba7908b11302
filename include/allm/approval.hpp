// The approval gate: the program decides about each tool call before it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "allm/message.hpp"

namespace allm {

// The decision on one call. A default-constructed Approval denies the call.
class Approval {
 public:
  Approval() = default;
  static Approval allow() { return Approval(Kind::allow); }
  // Runs the call with other arguments, an object that matches the tool's schema. The conversation keeps the model's
  // arguments; the tool message's metadata has `rewritten_arguments`. A pending manual call carries the new arguments.
  static Approval allow_with(Json arguments);
  // Does not run the call and tells the model why. A denial is not a tool failure: `on_tool_error` is not called.
  static Approval deny(std::string reason);
  // Does not run the call yet: the call becomes pending (PendingKind::suspended) and the run ends, so that the program
  // or a person can decide. In the tool runner, which has no pending calls, the call is answered as `not_run`.
  static Approval suspend() { return Approval(Kind::suspend); }

  enum class Kind : std::uint8_t { none, allow, deny, suspend };
  Kind kind() const { return kind_; }
  const std::optional<Json>& arguments() const { return arguments_; }
  const std::string& reason() const { return reason_; }

 private:
  explicit Approval(Kind kind) : kind_(kind) {}
  Kind kind_ = Kind::none;
  std::optional<Json> arguments_;
  std::string reason_;
};

// Gets all calls of a step before any of them runs, including manual ones, and returns one decision for each, in their
// order. Called on the consumer's thread, which waits for it; runs on several threads may call it at the same time. If
// it throws or returns another number of decisions, all calls of the step are denied. Calls of `tool_help` run nothing
// and are answered regardless of the decision. In manual mode no call runs and the gate is not called.
using ApprovalGate = std::function<std::vector<Approval>(std::span<const ToolCall>)>;

}  // namespace allm
