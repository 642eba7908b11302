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
  // Runs the call with other arguments: a JSON object that matches the tool's schema. The model's message keeps the
  // model's arguments; the metadata of the tool message has the new ones as `rewritten_arguments`. If the tool is
  // manual, the pending call has the new arguments.
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

// The gate gets all calls of a step, including those of manual tools, before any of them runs. It returns one decision
// for each call, in the order of the calls. It is called on the consumer's thread, which waits for it; runs on several
// threads may call one gate at the same time. If the gate throws or returns another number of decisions, all calls of
// the step are denied. Calls of `tool_help` are answered whatever the decision is, because they run no code of the
// program. In manual mode (Mode::manual) no call runs, and the gate is not called.
using ApprovalGate = std::function<std::vector<Approval>(std::span<const ToolCall>)>;

}  // namespace allm
