#include "chat/run_end.hpp"

#include <utility>
#include <variant>

#include "data/overloaded.hpp"

namespace allm {

bool runs_more(const StepResult& step) {
  return step.response.finish_reason == FinishReason::tool_calls && !step.response.tool_calls.empty();
}

std::optional<RunEnd> end_after_step(const StepResult& step, std::int64_t index) {
  return std::visit(Overloaded{[&](const ended::Completed& end) -> std::optional<RunEnd> {
                                 if (runs_more(step)) return std::nullopt;
                                 return end;
                               },
                               [&](ended::Manual end) -> std::optional<RunEnd> {
                                 end.turn_index = index;
                                 return end;
                               },
                               [](const auto& end) -> std::optional<RunEnd> { return end; }},
                    step.end);
}

void end_run(ChatResult& result, RunEnd end) {
  if (const auto* asked = std::get_if<ended::AskUser>(&end)) {
    Message question = assistant(asked->question);
    question.metadata = {{"ask_user", true}, {"tool_call_id", asked->tool_call_id}};
    result.thread.messages.push_back(std::move(question));
  }
  result.end = std::move(end);
  if (!result.steps.empty()) result.final_response = result.steps.back().response;
}

}  // namespace allm
