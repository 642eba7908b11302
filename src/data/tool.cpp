#include "allm/tool.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "allm/result.hpp"

namespace allm {

ToolOutcome ok(Json value) { return ToolOk{std::move(value)}; }
ToolOutcome failure(Json reason) { return ToolFailure{std::move(reason)}; }
ToolOutcome ask_user(std::string question, Json options) { return AskUser{std::move(question), std::move(options)}; }
ToolOutcome halt(std::string reason, Json result) { return Halt{std::move(reason), std::move(result)}; }

bool is_reserved_halt_reason(std::string_view reason) {
  constexpr std::array kReserved = {
      halted::ask_user,
      halted::max_turns,
      halted::halt_when,
      halted::tool_error,
      halted::cancelled,
      halted::completed,
      halted::error,
      halted::manual_tool_calls,
      halted::run_timeout,
      halted::max_total_tokens,
      halted::max_cost,
      halted::max_tool_calls,
      halted::max_repeated_failures,
  };
  return std::ranges::find(kReserved, reason) != kReserved.end();
}

bool operator==(const Tool& a, const Tool& b) {
  return a.name == b.name && a.description == b.description && a.schema == b.schema && a.manual == b.manual &&
         a.compact == b.compact && a.summary == b.summary && a.validate_arguments == b.validate_arguments &&
         a.timeout == b.timeout && a.metadata == b.metadata && a.unknown_fields == b.unknown_fields;
}

Tool tool(Tool declaration) { return declaration; }

bool ToolFailure::reported() const { return std::holds_alternative<Json>(reason); }

void Handler::operator()(const Json& arguments, const ToolContext& context, ToolCompletion done) const {
  call_->run(arguments, context, std::move(done));
}

namespace {

class FunctionSink : public ToolCompletion::Sink {
 public:
  explicit FunctionSink(std::function<bool(ToolOutcome)> function) : function_(std::move(function)) {}
  bool complete(ToolOutcome outcome) override { return function_(std::move(outcome)); }

 private:
  const std::function<bool(ToolOutcome)> function_;
};

}  // namespace

ToolCompletion::ToolCompletion(std::function<bool(ToolOutcome)> function)
    : sink_(std::make_shared<FunctionSink>(std::move(function))) {}

// A moved-from completion answers nothing.
bool ToolCompletion::operator()(ToolOutcome outcome) const { return sink_ && sink_->complete(std::move(outcome)); }

}  // namespace allm
