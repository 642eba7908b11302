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
  // Does not run it yet: the call becomes pending, as that of a manual tool, and the run ends for the program (or a
  // person) to answer it. In the tool runner, where nothing can be pending, it is answered as `not_run`.
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

// Sees every call of a turn before any of them runs, manual ones included, and returns one decision each, in their
// order. Called on the consumer's thread, which waits for it. It fails closed: if it throws, or returns another number
// of decisions, no call of the turn runs and the model is told that they were denied. `tool_help` runs nothing and is
// answered whatever the gate says; where the whole loop is manual, nothing runs and the gate is not asked.
using ApprovalGate = std::function<std::vector<Approval>(std::span<const ToolCall>)>;

}  // namespace allm
