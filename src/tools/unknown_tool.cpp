#include "tools/unknown_tool.hpp"

#include "data/utf8_repair.hpp"
#include "tools/compact.hpp"

namespace allm {

std::string unknown_tool_message(const std::string& name, const ToolSet& tools) {
  constexpr std::size_t kMaxListed = 20;
  std::string message = "there is no tool '" + repair_utf8(name) + "'; ";
  if (tools.tools().empty()) return message + "no tools are available";
  message += "the tools are: ";
  std::size_t listed = 0;
  for (const Tool& tool : tools.tools()) {
    if (listed == kMaxListed) {
      message += ", …";
      break;
    }
    message += (listed++ == 0 ? "" : ", ") + tool.name;
  }
  return message;
}

std::optional<Error> find_unknown_tool(std::span<const ToolCall> calls, const ToolSet& tools) {
  for (const ToolCall& call : calls) {
    if (tools.find(call.name) != nullptr) continue;
    if (calls_tool_help(call, tools)) continue;
    return Error(EngineError{.reason = EngineError::Reason::unknown_tool}, unknown_tool_message(call.name, tools),
                 {{"tool_name", call.name}});
  }
  return std::nullopt;
}

}  // namespace allm
