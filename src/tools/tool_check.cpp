#include "tools/tool_check.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/validate.hpp"
#include "engine/engine_impl.hpp"

namespace allm {
namespace {

Status check_schemas(const Run& run) {
  if (!EngineAccess::impl(run.engine).options.validate_arguments) return {};
  std::vector<FieldError> errors;
  std::string messages;
  const std::vector<Tool>& tools = run.tools->tools();
  for (std::size_t i = 0; i < tools.size(); ++i) {
    if (!tools[i].validate_arguments) continue;
    const Result<Schema>* schema = run.tools->schema(tools[i]);
    if (schema == nullptr || *schema) continue;
    errors.push_back({{std::string("tools"), static_cast<std::int64_t>(i), std::string("schema")}, "invalid_schema"});
    messages += (messages.empty() ? "" : "; ") + ("tool '" + tools[i].name + "': ") + schema->error().message();
  }
  if (errors.empty()) return {};
  return std::unexpected(
      Error(ValidationError{ValidationError::Reason::invalid_request, std::move(errors)},
            "invalid request: " + messages + "; mend the schema, or set validate_arguments = false on the tool"));
}

Status check_commands(const Run& run, const OutsideCalls& outside) {
  if (run.mode == Mode::manual || run.executor) return {};
  const std::vector<Tool>& tools = run.tools->tools();
  for (std::size_t i = 0; i < tools.size(); ++i) {
    if (tools[i].manual) continue;
    const std::optional<std::string> error = outside.command_error(tools[i]);
    if (!error) continue;
    FieldError field{{std::string("tools"), static_cast<std::int64_t>(i), std::string("command")}, "invalid_command"};
    return std::unexpected(Error(ValidationError{ValidationError::Reason::invalid_request, {std::move(field)}},
                                 "invalid request: the command of tool '" + tools[i].name + "' " + *error));
  }
  return {};
}

Status check_lanes(const Run& run, const OutsideCalls& outside) {
  if (run.mode == Mode::manual || run.executor) return {};
  const auto leaves = [](const Tool& tool) { return runs_outside(tool) && !tool.manual; };
  const auto tool = std::ranges::find_if(run.tools->tools(), leaves);
  if (tool == run.tools->tools().end()) return {};
  const auto possible = outside.check(*run.engine.runtime());
  if (possible) return {};
  return std::unexpected(Error(EngineError{.reason = EngineError::Reason::invalid_engine},
                               "tool '" + tool->name + "' cannot run in another process: " + possible.error(),
                               {{"tool_name", tool->name}}));
}

}  // namespace

Status check_tools(const Run& run, const OutsideCalls& outside) {
  if (Status unique = check_tool_names(run.tools->tools()); !unique) return unique;
  if (Status valid = check_schemas(run); !valid) return valid;
  if (Status valid = check_commands(run, outside); !valid) return valid;
  return check_lanes(run, outside);
}

}  // namespace allm
