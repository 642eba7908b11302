#include "tools/gate.hpp"

#include <exception>
#include <utility>

#include "data/tool_errors.hpp"
#include "data/utf8_repair.hpp"
#include "tools/compact.hpp"

namespace allm {
namespace {

constexpr std::string_view kFailed = "the call was denied, because the approval gate failed: ";

std::vector<Approval> deny_all(std::size_t count, const std::string& problem) {
  return std::vector<Approval>(count, Approval::deny(std::string(kFailed) + problem));
}

Approval checked(Approval decision) {
  if (decision.kind() == Approval::Kind::none) return Approval::deny(std::string(kFailed) + "it made no decision");
  if (decision.kind() != Approval::Kind::allow || !decision.arguments()) return decision;
  if (!decision.arguments()->is_object()) {
    return Approval::deny(std::string(kFailed) + "the arguments that it gave are no JSON object");
  }
  if (!write_json(*decision.arguments())) {
    return Approval::deny(std::string(kFailed) + "JSON cannot carry the arguments that it gave");
  }
  return decision;
}

}  // namespace

std::vector<Approval> ask_gate(const Run& run, std::span<const ToolCall> calls) {
  if (!run.approve || calls.empty()) return {};
  std::vector<Approval> decisions;
  try {
    decisions = run.approve(calls);
  } catch (const std::exception& exception) {
    return deny_all(calls.size(), std::string("it threw: ") + exception.what());
  } catch (...) {
    return deny_all(calls.size(), "it threw something that is no std::exception");
  }
  if (decisions.size() != calls.size()) {
    return deny_all(calls.size(), "it made " + std::to_string(decisions.size()) + " decisions on " +
                                      std::to_string(calls.size()) + " calls");
  }
  for (Approval& decision : decisions) decision = checked(std::move(decision));
  return decisions;
}

bool needs_no_approval(const Run& run, const ToolCall& call) { return calls_tool_help(call, *run.tools); }

ToolCall approved_call(ToolCall call, const Approval& approval) {
  if (!approval.arguments()) return call;
  call.arguments = *approval.arguments();
  call.raw_arguments.reset();
  return call;
}

ToolFailure denied(const ToolCall& call, const Approval& approval) {
  std::string reason = repair_utf8(approval.reason());
  if (reason.empty()) reason = "the program did not allow this call";
  return ToolFailure{tool_error(call, ToolError::Reason::denied, std::move(reason))};
}

}  // namespace allm
