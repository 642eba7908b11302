#include "tools/arguments.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "data/call_meter.hpp"
#include "data/tool_errors.hpp"

namespace allm {
namespace {

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

}  // namespace

Result<Json> call_arguments(const ToolCall& call, const AnswerLimits& limits) {
  if (call.raw_arguments && call.raw_arguments->size() > limits.max_argument_bytes) {
    return std::unexpected(invalid_arguments_error(call, too_long_arguments(call.raw_arguments->size(), limits)));
  }
  if (call.arguments.is_object() && !call.arguments.empty()) return call.arguments;
  if (call.raw_arguments && !is_blank(*call.raw_arguments) && *call.raw_arguments != "{}") {
    // The text was never parsed, or it could not be.
    CallMeter meter(limits);
    Result<Json> parsed = meter.parse(*call.raw_arguments);
    if (meter.is_exceeded()) return std::unexpected(invalid_arguments_error(call, meter.error()));
    if (!parsed) {
      return std::unexpected(
          invalid_arguments_error(call, "they are not valid JSON (" + parsed.error().message() + ")"));
    }
    if (parsed->is_object()) return parsed;
    if (!parsed->is_null()) {
      return std::unexpected(
          invalid_arguments_error(call, std::string("they must be a JSON object, got ") + parsed->type_name()));
    }
    return Json::object();
  }
  if (call.arguments.is_object() || call.arguments.is_null()) return Json::object();
  if (call.arguments.is_string() && is_blank(call.arguments.get_ref<const std::string&>())) return Json::object();
  return std::unexpected(
      invalid_arguments_error(call, std::string("they must be a JSON object, got ") + call.arguments.type_name()));
}

Status check_arguments(const ToolSet& tools, const Tool& tool, const ToolCall& call, const Json& arguments) {
  const Result<Schema>* schema = tools.schema(tool);
  if (schema == nullptr) return {};
  if (!*schema) {
    return std::unexpected(
        invalid_arguments_error(call, "the tool's schema cannot check them: " + schema->error().message()));
  }
  const std::vector<SchemaError> errors = (*schema)->validate(arguments);
  if (errors.empty()) return {};
  std::string message;
  Json details = Json::array();
  for (const SchemaError& error : errors) {
    if (!message.empty()) message += "; ";
    message += error.message;
    details.push_back({{"path", to_string(error.instance_path)}, {"rule", error.keyword}, {"message", error.message}});
  }
  return std::unexpected(invalid_arguments_error(call, message, {{"errors", std::move(details)}}));
}

}  // namespace allm
