#include "providers/gemini/request.hpp"

#include <string>
#include <utility>

#include "providers/call_settings.hpp"
#include "providers/gemini/config.hpp"
#include "providers/gemini/contents.hpp"
#include "providers/gemini/schema.hpp"
#include "providers/provider_json.hpp"
#include "providers/refused_settings.hpp"

namespace allm {
namespace {

// Gemini refuses an object without properties; a tool without arguments has no `parameters` instead.
bool has_parameters(const Json& schema) {
  const Json* properties = find_member(schema, "properties");
  return (properties != nullptr && !properties->empty()) || schema.contains("anyOf");
}

Result<Json> declared(const Tool& tool, const GeminiCodecOptions& options) {
  Json declaration = {{"name", tool.name}};
  if (!tool.description.empty()) declaration["description"] = tool.description;
  if (options.json_schemas) {
    if (!tool.schema.empty()) declaration["parametersJsonSchema"] = tool.schema;
  } else {
    Result<Json> schema = gemini_schema(tool.schema);
    if (!schema) return schema;
    if (has_parameters(*schema)) {
      schema->emplace("type", "object");
      declaration["parameters"] = *std::move(schema);
    }
  }
  if (const Json* own = find_member(tool.metadata, "gemini"); own != nullptr && own->is_object()) {
    declaration.update(*own);
  }
  return declaration;
}

Json calling_config(const ToolChoice& choice) {
  switch (choice.kind()) {
    case ToolChoice::Kind::automatic:
      return {{"mode", "AUTO"}};
    case ToolChoice::Kind::none:
      return {{"mode", "NONE"}};
    case ToolChoice::Kind::required:
      return {{"mode", "ANY"}};
    case ToolChoice::Kind::tool:
      return {{"mode", "ANY"}, {"allowedFunctionNames", Json::array({choice.json()})}};
    case ToolChoice::Kind::provider:
      break;
  }
  return choice.json();
}

Status write_tools(Json& body, const GeminiCodecOptions& options, const Request& request) {
  if (request.tools.empty()) return {};
  Json declarations = Json::array();
  for (const Tool& tool : request.tools) {
    Result<Json> declaration = declared(tool, options);
    if (!declaration) return std::unexpected(std::move(declaration).error());
    declarations.push_back(*std::move(declaration));
  }
  body["tools"] = Json::array({{{"functionDeclarations", std::move(declarations)}}});
  if (!request.tool_choice) return {};
  Json config = calling_config(*request.tool_choice);
  const bool whole = config.is_object() && config.contains("functionCallingConfig");
  body["toolConfig"] = whole ? std::move(config) : Json{{"functionCallingConfig", std::move(config)}};
  return {};
}

}  // namespace

Result<Json> gemini_body(const GeminiCodecOptions& options, const AdapterCall& call) {
  Result<Json> contents =
      gemini_contents(call.request.messages, options, called_model(call, kGemini).value_or(""), call.request.tools);
  if (!contents) return contents;
  Json body = Json::object();
  if (std::string system = system_text(call.request.messages); !system.empty()) {
    body["systemInstruction"] = {{"parts", Json::array({{{"text", std::move(system)}}})}};
  }
  body["contents"] = *std::move(contents);
  if (Status written = write_tools(body, options, call.request); !written) return std::unexpected(written.error());
  if (Status written = write_gemini_config(body, options, call); !written) return std::unexpected(written.error());
  leave_out_refused(call, kGemini, body);
  return body;
}

}  // namespace allm
