#include "providers/anthropic/request.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "providers/anthropic/cache_marks.hpp"
#include "providers/anthropic/messages.hpp"
#include "providers/anthropic/structured.hpp"
#include "providers/call_ids.hpp"
#include "providers/call_settings.hpp"
#include "providers/provider_json.hpp"
#include "providers/refused_settings.hpp"

namespace allm {
namespace {

constexpr std::string_view kAnswerToolDescription = "Return the final answer through this tool.";

// The provider requires the schema of an object.
Json input_schema(const Json& schema) {
  if (find_member(schema, "type") != nullptr) return schema;
  Json result = {{"type", "object"}};
  if (!schema.contains("properties")) result["properties"] = Json::object();
  if (schema.is_object()) result.update(schema);
  return result;
}

Json tool_list(const Request& request, const AnthropicStructure& structure) {
  Json tools = Json::array();
  for (const Tool& tool : request.tools) {
    Json declared = {{"name", tool.name}};
    if (!tool.description.empty()) declared["description"] = tool.description;
    declared["input_schema"] = input_schema(tool.schema);
    if (const Json* own = find_member(tool.metadata, "anthropic"); own != nullptr && own->is_object()) {
      declared.update(*own);
    }
    tools.push_back(std::move(declared));
  }
  if (structure.way == AnthropicStructure::Way::tool) {
    tools.push_back({{"name", structure.tool_name},
                     {"description", kAnswerToolDescription},
                     {"input_schema", input_schema(structure.schema)}});
  }
  return tools;
}

// Declares the tools that earlier messages call, for a request without tools: the provider refuses calls in the
// messages of such a request.
Json called_tools(const Request& request) {
  std::set<std::string> names;
  for (const Message& message : request.messages) {
    for (const ToolCall& call : message.tool_calls) names.insert(sendable_tool_name(call.name, request.tools));
  }
  Json tools = Json::array();
  for (const std::string& name : names)
    tools.push_back({{"name", name}, {"input_schema", input_schema(Json::object())}});
  return tools;
}

// The value of `tool_choice`, or null if it need not be sent.
Json neutral_choice(const Request& request, const AnthropicStructure& structure) {
  using Kind = ToolChoice::Kind;
  const Kind kind = request.tool_choice ? request.tool_choice->kind() : Kind::automatic;
  if (kind == Kind::provider) return request.tool_choice->json();
  if (structure.way == AnthropicStructure::Way::tool) {
    // With other tools, the model may call them first and gives the answer later.
    if (request.tools.empty() || kind == Kind::none) return {{"type", "tool"}, {"name", structure.tool_name}};
    return {{"type", "any"}};
  }
  switch (kind) {
    case Kind::none:
      return {{"type", "none"}};
    case Kind::required:
      return {{"type", "any"}};
    case Kind::tool:
      return {{"type", "tool"}, {"name", request.tool_choice->json()}};
    case Kind::automatic:
    case Kind::provider:
      break;
  }
  return nullptr;
}

bool forces_tools(const Json& choice) {
  const std::string_view type = text_member(choice, "type");
  return type == "any" || type == "tool";
}

Status write_tools(Json& body, const AdapterCall& call, const AnthropicStructure& structure, Json& settings) {
  const Request& request = call.request;
  const Json parallel = take_setting(settings, "parallel_tool_calls");
  Json tools = tool_list(request, structure);
  Json choice = neutral_choice(request, structure);
  if (tools.empty()) {
    if (!forces_tools(choice)) {
      tools = called_tools(request);
      if (tools.empty()) return {};
      body["tools"] = std::move(tools);
      body["tool_choice"] = {{"type", "none"}};
      return {};
    }
    return std::unexpected(validation_error(ValidationError::Reason::invalid_request, {std::string("tool_choice")},
                                            "no_tools", "tool_choice demands a call, but there is no tool to call"));
  }
  if (forces_tools(choice) && anthropic_thinks(settings)) {
    return std::unexpected(unsupported_feature(
        kAnthropic, "Anthropic cannot be made to call a tool while it thinks: leave out tool_choice or thinking"));
  }
  if (forces_tools(choice) && !anthropic_forces_tools(call)) {
    return std::unexpected(unsupported_feature(
        kAnthropic, "this model cannot be made to call a tool, because it always thinks: leave out tool_choice"));
  }
  if (parallel == false && choice.is_null()) choice = {{"type", "auto"}};
  const bool takes_parallel = choice.is_object() && text_member(choice, "type") != "none";
  if (parallel.is_boolean() && takes_parallel) choice["disable_parallel_tool_use"] = !parallel.get<bool>();
  body["tools"] = std::move(tools);
  if (!choice.is_null()) body["tool_choice"] = std::move(choice);
  return {};
}

void write_effort(Json& output_config, Json& settings) {
  const Json effort = take_setting(settings, "reasoning_effort");
  if (!effort.is_string()) return;
  if (effort == "none") {
    if (!settings.contains("thinking")) settings["thinking"] = {{"type", "disabled"}};
  } else {
    output_config["effort"] = effort == "minimal" ? Json("low") : effort;
  }
}

void write_settings(Json& body, const AnthropicStructure& structure, Json settings) {
  if (Json stop = take_setting(settings, "stop"); !stop.is_null()) body["stop_sequences"] = as_list(std::move(stop));
  if (const Json user = take_setting(settings, "user"); !user.is_null()) body["metadata"] = {{"user_id", user}};
  take_setting(settings, "reasoning_summary");
  take_setting(settings, "verbosity");

  Json output_config = Json::object();
  write_effort(output_config, settings);
  if (structure.way == AnthropicStructure::Way::native) output_config["format"] = structure.format;
  // A caller's `output_config` is merged, not replaced, so that an effort does not remove the format.
  if (const Json own = take_setting(settings, "output_config"); own.is_object()) output_config.update(own);
  if (!output_config.empty()) body["output_config"] = std::move(output_config);
  overlay_settings(body, settings);
}

std::int64_t max_tokens(const AnthropicCodecOptions& options, const Request& request, const Json& settings) {
  if (request.max_tokens) return *request.max_tokens;
  const Json* thinking = find_member(settings, "thinking");
  const std::int64_t budget = thinking == nullptr ? 0 : integer_member(*thinking, "budget_tokens").value_or(0);
  return options.default_max_tokens + std::clamp<std::int64_t>(budget, 0, 1'000'000'000);
}

}  // namespace

Result<Json> anthropic_body(const AnthropicCodecOptions& options, const AdapterCall& call, AnswerForm form) {
  const Request& request = call.request;
  Json settings = provider_settings(call);
  Result<std::string> model = called_model(call, kAnthropic);
  if (!model) return std::unexpected(std::move(model).error());
  const Result<AnthropicStructure> structure = anthropic_structure(options, call, settings);
  if (!structure) return std::unexpected(structure.error());
  Result<Json> messages = anthropic_messages(request.messages, request.tools);
  if (!messages) return messages;

  Json body = {{"model", *std::move(model)}, {"max_tokens", max_tokens(options, request, settings)}};
  if (std::string system = system_text(request.messages); !system.empty()) body["system"] = std::move(system);
  if (Status written = write_tools(body, call, *structure, settings); !written) {
    return std::unexpected(written.error());
  }
  body["messages"] = *std::move(messages);
  if (request.temperature) body["temperature"] = *request.temperature;
  write_settings(body, *structure, std::move(settings));
  leave_out_refused(call, kAnthropic, body);
  if (request.prompt_cache) add_cache_marks(*request.prompt_cache, body);
  if (form == AnswerForm::stream) body["stream"] = true;
  return body;
}

}  // namespace allm
