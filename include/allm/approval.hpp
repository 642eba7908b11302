// The approval gate: a program's last word on what a model wants to run.
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

// The decision on one call. A default-made one is no decision, and the call is denied.
class Approval {
 public:
  Approval() = default;
  static Approval allow() { return Approval(Kind::allow); }
  // Runs it with other arguments, an object that fits the tool's schema. The conversation keeps what the model asked
  // for; the tool message's metadata has `rewritten_arguments`. A manual call is handed to the program with them.
  static Approval allow_with(Json arguments);
  // Does not run it and tells the model why. This is no failure of the tool: `on_tool_error` is not asked.
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
