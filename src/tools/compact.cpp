#include "tools/compact.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "data/ascii.hpp"

namespace allm {

namespace {

constexpr std::string_view kMarker = "[compact]";
constexpr std::string_view kBuiltinKey = "allm_builtin";
constexpr std::size_t kMaxSummary = 160;
constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

// The text, or its first characters and an ellipsis if it is too long.
std::string cut(std::string_view text, std::size_t max_characters) {
  constexpr std::string_view kEllipsis = "...";
  if (static_cast<std::size_t>(std::ranges::count_if(text, starts_character)) <= max_characters) {
    return std::string(text);
  }
  std::size_t kept = max_characters - kEllipsis.size();
  std::size_t end = 0;
  while (end < text.size() && (!starts_character(text[end]) || kept-- > 0)) ++end;
  return std::string(text.substr(0, end)).append(kEllipsis);
}

std::string_view first_sentence(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool closes = text[i] == '.' || text[i] == '!' || text[i] == '?';
    const bool ends = i + 1 == text.size() || kWhiteSpace.contains(text[i + 1]);
    if (closes && ends) return text.substr(0, i + 1);
  }
  return text;
}

std::string summary_of(const Tool& tool) {
  if (tool.summary.has_value() && !tool.summary->empty()) return *tool.summary;
  const std::string_view description = trimmed(tool.description, kWhiteSpace);
  const std::string_view line = trimmed(description.substr(0, description.find_first_of("\r\n")), kWhiteSpace);
  return cut(first_sentence(line), kMaxSummary);
}

const Json* member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

// The member if it is text, else "".
std::string_view text_member(const Json& object, std::string_view key) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_ref<const std::string&>()) : "";
}

std::vector<std::string> required_names(const Json& schema) {
  std::vector<std::string> names;
  const Json* required = member(schema, "required");
  if (required == nullptr || !required->is_array()) return names;
  for (const Json& name : *required) {
    if (name.is_string()) names.push_back(name.get<std::string>());
  }
  return names;
}

// "Args: city, country, [days], [unit]", or "" for a schema without properties.
std::string argument_hint(const Json& schema) {
  const Json* properties = member(schema, "properties");
  if (properties == nullptr || !properties->is_object()) return {};
  if (properties->empty()) return "Args: none";
  std::vector<std::string> names = required_names(schema);
  std::vector<std::string> optional;
  for (const auto& [name, property] : properties->items()) {
    if (std::ranges::find(names, name) == names.end()) optional.push_back(name);
  }
  std::ranges::sort(optional);
  for (const std::string& name : optional) names.push_back("[" + name + "]");
  return fmt::format("Args: {}", fmt::join(names, ", "));
}

std::string short_description(const Tool& tool) {
  std::string text;
  for (const std::string& part : {summary_of(tool), argument_hint(tool.schema), std::string(kMarker)}) {
    if (part.empty()) continue;
    if (!text.empty()) text += ' ';
    text += part;
  }
  return text;
}

// The tool that the tool choice forces, or "". Reads the forms of all providers.
std::string_view forced_tool(const std::optional<ToolChoice>& choice) {
  if (!choice.has_value()) return "";
  const Json& json = choice->json();
  switch (choice->kind()) {
    case ToolChoice::Kind::automatic:
    case ToolChoice::Kind::none:
    case ToolChoice::Kind::required:
      return "";
    case ToolChoice::Kind::tool:
      return json.is_string() ? std::string_view(json.get_ref<const std::string&>()) : text_member(json, "name");
    case ToolChoice::Kind::provider:
      break;
  }
  if (json.is_array()) {  // the pair ["tool", name]
    const bool pair = json.size() == 2 && json[0] == "tool" && json[1].is_string();
    return pair ? std::string_view(json[1].get_ref<const std::string&>()) : "";
  }
  const std::string_view type = text_member(json, "type");
  if (type == "tool") return text_member(json, "name");
  if (type == "function") {
    const Json* function = member(json, "function");
    return text_member(function != nullptr ? *function : json, "name");
  }
  const Json* allowed = member(json, "allowedFunctionNames");
  if (text_member(json, "mode") == "ANY" && allowed != nullptr && allowed->is_array() && allowed->size() == 1 &&
      allowed->front().is_string()) {
    return allowed->front().get_ref<const std::string&>();
  }
  return "";
}

std::string help_section(const Tool& tool) {
  std::string section = fmt::format("## {}\n", tool.name);
  if (!tool.description.empty()) section += tool.description + "\n";
  return section + tool.schema.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string compact_names(const std::vector<Tool>& tools) {
  std::vector<std::string_view> names;
  for (const Tool& tool : tools) {
    if (tool.compact) names.emplace_back(tool.name);
  }
  return names.empty() ? "(none)" : fmt::format("{}", fmt::join(names, ", "));
}

// The distinct names in the arguments, in order; empty if the arguments are invalid.
std::vector<std::string> asked_names(const Json& arguments) {
  const Json* asked = member(arguments, "names");
  if (asked == nullptr || !asked->is_array()) return {};
  std::vector<std::string> names;
  for (const Json& name : *asked) {
    if (!name.is_string()) return {};
    if (std::ranges::find(names, name.get_ref<const std::string&>()) == names.end()) {
      names.push_back(name.get<std::string>());
    }
  }
  return names;
}

}  // namespace

bool has_compact_tools(const std::vector<Tool>& tools) { return std::ranges::any_of(tools, &Tool::compact); }

bool calls_tool_help(const ToolCall& call, const ToolSet& tools) {
  return call.name == kToolHelpName && tools.find(call.name) == nullptr && has_compact_tools(tools.tools());
}

bool is_tool_help(const Tool& tool) { return text_member(tool.metadata, kBuiltinKey) == kToolHelpName; }

Tool tool_help_tool() {
  return {
      .name = std::string(kToolHelpName),
      .description = fmt::format("Shows the full description and argument schema of tools marked {}. Ask here "
                                 "before calling one whose arguments are not clear; several names at once are fine.",
                                 kMarker),
      .schema = {{"type", "object"},
                 {"properties",
                  {{"names",
                    {{"type", "array"},
                     {"items", {{"type", "string"}}},
                     {"description", "Names of the tools to explain."}}}}},
                 {"required", Json::array({"names"})}},
      .validate_arguments = false,  // answer_tool_help reports invalid arguments
      .metadata = {{kBuiltinKey, kToolHelpName}}};
}

std::vector<Tool> project_tools(const std::vector<Tool>& tools, const std::optional<ToolChoice>& choice) {
  const std::string_view forced = forced_tool(choice);
  std::vector<Tool> sent;
  sent.reserve(tools.size() + 1);
  for (const Tool& tool : tools) {
    Tool& copy = sent.emplace_back(tool);
    copy.handler = nullptr;
    if (!tool.compact) continue;
    copy.compact = false;
    copy.summary.reset();
    if (tool.name == forced) continue;
    copy.description = short_description(tool);
    copy.schema = {{"type", "object"}};
  }
  if (has_compact_tools(tools)) sent.push_back(tool_help_tool());
  return sent;
}

std::string answer_tool_help(const std::vector<Tool>& tools, const Json& arguments) {
  const std::vector<std::string> names = asked_names(arguments);
  if (names.empty()) {
    return fmt::format(
        "Usage: tool_help takes \"names\", a list of at least one tool name: {{\"names\": [\"...\"]}}. "
        "Compact tools: {}",
        compact_names(tools));
  }
  std::vector<std::string> sections;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(tools, name, &Tool::name);
    sections.push_back(found != tools.end() ? help_section(*found)
                                            : fmt::format("## {}\nThere is no tool of this name. Compact tools: {}",
                                                          name, compact_names(tools)));
  }
  return fmt::format("{}", fmt::join(sections, "\n\n"));
}

std::optional<std::string> missing_compact_arguments(const Tool& tool, const Json& arguments) {
  if (!tool.compact) return std::nullopt;
  std::vector<std::string> missing = required_names(tool.schema);
  std::erase_if(missing, [&arguments](const std::string& name) { return member(arguments, name) != nullptr; });
  if (missing.empty()) return std::nullopt;
  return fmt::format("Missing required argument{}: {}\n\n{}", missing.size() == 1 ? "" : "s", fmt::join(missing, ", "),
                     help_section(tool));
}

}  // namespace allm
