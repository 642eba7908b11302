#include "providers/anthropic/structured.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "providers/anthropic/schema.hpp"
#include "providers/call_settings.hpp"
#include "providers/provider_json.hpp"
#include "providers/refused_settings.hpp"

namespace allm {
namespace {

constexpr std::string_view kToolPrefix = "respond_with_json_";
constexpr std::size_t kMaxToolName = 64;

std::string tool_name_for(std::string_view format_name) {
  std::string name(kToolPrefix);
  for (const char c : format_name) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    name += allowed ? c : '_';
  }
  name.resize(std::min(name.size(), kMaxToolName));
  return name;
}

bool forces_one_tool(const AdapterCall& call) {
  return call.request.tool_choice && call.request.tool_choice->kind() == ToolChoice::Kind::tool &&
         !call.request.tools.empty();
}

}  // namespace

bool anthropic_thinks(const Json& settings) {
  const Json* thinking = find_member(settings, "thinking");
  return thinking != nullptr && text_member(*thinking, "type") != "disabled";
}

bool anthropic_forces_tools(const AdapterCall& call) {
  return model_capability(call, kAnthropic, "forced_tools").value_or(true);
}

Result<AnthropicStructure> anthropic_structure(const AnthropicCodecOptions& options, const AdapterCall& call,
                                               const Json& settings) {
  using Way = AnthropicStructure::Way;
  using Kind = ResponseFormat::Kind;
  if (!call.request.response_format) return AnthropicStructure{};
  const ResponseFormat& format = *call.request.response_format;
  const bool native = options.native_structured_output || anthropic_thinks(settings) || !anthropic_forces_tools(call);
  switch (format.kind()) {
    case Kind::text:
    case Kind::invalid:
      return AnthropicStructure{};
    case Kind::provider:
      return AnthropicStructure{.way = Way::native, .format = format.json()};
    case Kind::json_object:
      if (native) {
        return std::unexpected(unsupported_feature(
            kAnthropic,
            "Anthropic gives JSON without a schema only while it does not think and native_structured_output "
            "is off: use a json_schema format"));
      }
      if (forces_one_tool(call)) return AnthropicStructure{};
      return AnthropicStructure{.way = Way::tool, .tool_name = tool_name_for("object"), .schema = {{"type", "object"}}};
    case Kind::json_schema:
      break;
  }
  const Json& schema = format.json()["schema"];
  if (native) {
    return AnthropicStructure{.way = Way::native,
                              .format = {{"type", "json_schema"}, {"schema", anthropic_schema(schema)}}};
  }
  // The caller forces the call of another tool, so this turn is not the answer.
  if (forces_one_tool(call)) return AnthropicStructure{};
  return AnthropicStructure{
      .way = Way::tool, .tool_name = tool_name_for(text_member(format.json(), "name")), .schema = schema};
}

}  // namespace allm
