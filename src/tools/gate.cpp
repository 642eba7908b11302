#include "tools/gate.hpp"

#include <exception>
#include <utility>

#include "data/tool_errors.hpp"
#include "data/utf8_repair.hpp"
#include "tools/compact.hpp"

namespace allm {
namespace {

constexpr std::string_view kFailed = "the call was denied, because the approval gate failed: ";

std::vector<Approval> deny_all(std::size_t count, const std::string& why) {
  return std::vector<Approval>(count, Approval::deny(std::string(kFailed) + why));
}

Approval checked(Approval decision) {
  if (decision.kind() == Approval::Kind::none) return Approval::deny(std::string(kFailed) + "it made no decision");
  if (const auto message = arguments_error(decision)) return Approval::deny(std::string(kFailed) + *message);
  return decision;
}

std::vector<Approval> answer_of_gate(const Run& run, std::span<const ToolCall> calls) {
  try {
    return run.approve(calls);
  } catch (const std::exception& exception) {
    return deny_all(calls.size(), std::string("it threw: ") + exception.what());
  } catch (...) {
    return deny_all(calls.size(), "it threw something that is no std::exception");
  }
}

// Whether a person must decide if the call, which an earlier process has started, runs again.
bool asks_after_interruption(const Run& run, const Tool* tool, const ToolCall& call) {
  return run.journal && tool != nullptr && tool->on_interrupted == OnInterrupted::ask &&
         run.journal->was_interrupted(call);
}

}  // namespace

std::optional<std::string> arguments_error(const Approval& decision) {
  if (decision.kind() != Approval::Kind::allow || !decision.arguments()) return std::nullopt;
  if (!decision.arguments()->is_object()) return "the arguments that it gave are not a JSON object";
  if (!write_json(*decision.arguments())) return "JSON cannot carry the arguments that it gave";
  return std::nullopt;
}

std::vector<Approval> ask_gate(const Run& run, std::span<const ToolCall> calls) {
  // The calls of a cancelled run are not run in any case.
  if (!run.approve || calls.empty() || run.cancel_level() >= CancelSignal::Level::after_tools) return {};
  if (run.journal) {
    if (std::optional<std::vector<Approval>> recorded = run.journal->recorded_decisions()) return *std::move(recorded);
    // A gate may wait for a person; the response is not to be lost meanwhile.
    run.journal->flush();
  }
  std::vector<Approval> decisions = answer_of_gate(run, calls);
  if (decisions.size() != calls.size()) {
    decisions = deny_all(calls.size(), "it made " + std::to_string(decisions.size()) + " decisions on " +
                                           std::to_string(calls.size()) + " calls");
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const bool is_help = calls_tool_help(calls[i], *run.tools);
    decisions[i] = is_help ? Approval::allow() : checked(std::move(decisions[i]));
  }
  if (run.journal) run.journal->record_decisions(decisions);
  return decisions;
}

SortedCalls sort_calls(const Run& run, std::span<const ToolCall> calls, std::span<const Approval> decisions) {
  SortedCalls sorted;
  sorted.is_pending.reserve(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const ToolCall& call = calls[i];
    const Approval decision = decisions.empty() ? Approval::allow() : decisions[i];
    const Tool* tool = run.tools->find(call.name);
    const bool is_manual = tool != nullptr && tool->manual && decision.kind() == Approval::Kind::allow;
    const bool is_pending =
        is_manual || decision.kind() == Approval::Kind::suspend || asks_after_interruption(run, tool, call);
    sorted.is_pending.push_back(is_pending);
    if (is_pending) {
      const PendingKind kind = is_manual ? PendingKind::manual : PendingKind::suspended;
      sorted.pending.push_back({approved_call(call, decision), kind});
      continue;
    }
    sorted.runnable.push_back(call);
    if (!decisions.empty()) sorted.decisions.push_back(decision);
  }
  return sorted;
}

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
