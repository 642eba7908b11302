#include "allm/end.hpp"

#include "data/names.hpp"
#include "data/overloaded.hpp"

namespace allm {
namespace {

struct ReasonOf {
  std::string_view operator()(const ended::Completed&) const { return halted::completed; }
  std::string_view operator()(const ended::AskUser&) const { return halted::ask_user; }
  std::string_view operator()(const ended::Halted& end) const { return end.reason; }
  std::string_view operator()(const ended::ToolError&) const { return halted::tool_error; }
  std::string_view operator()(const ended::Manual&) const { return halted::manual_tool_calls; }
  std::string_view operator()(const ended::Cancelled&) const { return halted::cancelled; }
  std::string_view operator()(const ended::Failed&) const { return halted::error; }
  std::string_view operator()(const ended::Limit& end) const { return enum_name(end.which); }
  std::string_view operator()(const ended::MaxTurns&) const { return halted::max_turns; }
  std::string_view operator()(const ended::HaltWhen&) const { return halted::halt_when; }
};

}  // namespace

std::string_view to_string(PendingKind kind) { return enum_name(kind); }

std::string halted_reason(const StepEnd& end) { return std::string(std::visit(ReasonOf{}, end)); }
std::string halted_reason(const RunEnd& end) { return std::string(std::visit(ReasonOf{}, end)); }

}  // namespace allm
