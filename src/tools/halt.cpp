#include "tools/halt.hpp"

#include "allm/serialize.hpp"

namespace allm {

Json halt_metadata(const AskUserRequested& question) {
  return {{"halted_reason", halted::ask_user},
          {"pending_question", question.question},
          {"pending_tool_call_id", question.tool_call_id},
          {"ask_user_opts", question.options}};
}

Json halt_metadata(const ToolHalt& halt) {
  Json metadata = {{"halted_reason", halt.reason}, {"halt_tool_call_id", halt.tool_call_id}};
  if (halt.reason != halted::tool_error) metadata["halt_result"] = halt.result;
  if (halt.policy_error) metadata["on_tool_error_exception"] = to_json_value(*halt.policy_error);
  return metadata;
}

}  // namespace allm
