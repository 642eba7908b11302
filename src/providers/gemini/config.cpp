#include "providers/gemini/config.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "providers/call_settings.hpp"
#include "providers/gemini/schema.hpp"
#include "providers/provider_json.hpp"

namespace allm {
namespace {

using Renames = std::pair<std::string_view, std::string_view>;
// Names of other providers and names in snake_case, with Gemini's names.
constexpr std::array<Renames, 14> kRenamed = {{
    {"top_p", "topP"},
    {"top_k", "topK"},
    {"max_tokens", "maxOutputTokens"},
    {"max_output_tokens", "maxOutputTokens"},
    {"response_mime_type", "responseMimeType"},
    {"response_schema", "responseSchema"},
    {"response_json_schema", "responseJsonSchema"},
    {"response_modalities", "responseModalities"},
    {"response_logprobs", "responseLogprobs"},
    {"stop_sequences", "stopSequences"},
    {"candidate_count", "candidateCount"},
    {"presence_penalty", "presencePenalty"},
    {"frequency_penalty", "frequencyPenalty"},
    {"thinking_config", "thinkingConfig"},
}};
constexpr std::array<Renames, 7> kBesideConfig = {{
    {"safetySettings", "safetySettings"},
    {"safety_settings", "safetySettings"},
    {"cachedContent", "cachedContent"},
    {"cached_content", "cachedContent"},
    {"toolConfig", "toolConfig"},
    {"tool_config", "toolConfig"},
    {"labels", "labels"},
}};

const std::string_view* renamed(const auto& names, std::string_view name) {
  const auto found = std::ranges::find(names, name, &Renames::first);
  return found == names.end() ? nullptr : &found->second;
}

Status write_format(Json& config, const GeminiCodecOptions& options, const ResponseFormat& format) {
  using Kind = ResponseFormat::Kind;
  if (format.kind() == Kind::provider) config.update(format.json());
  if (format.kind() != Kind::json_object && format.kind() != Kind::json_schema) return {};
  config["responseMimeType"] = "application/json";
  if (format.kind() == Kind::json_object) return {};
  const Json& schema = format.json()["schema"];
  if (options.json_schemas) {
    config["responseJsonSchema"] = schema;
    return {};
  }
  Result<Json> cleaned = gemini_schema(schema);
  if (!cleaned) return std::unexpected(std::move(cleaned).error());
  config["responseSchema"] = *std::move(cleaned);
  return {};
}

// Gemini 2.5 has a budget of tokens, later models have levels.
Json thinking_for_effort(std::string_view effort, std::string_view model) {
  if (model.find("gemini-2.5") != std::string_view::npos) {
    if (effort == "none") return {{"thinkingBudget", 0}};
    if (effort == "minimal" || effort == "low") return {{"thinkingBudget", 1024}};
    return {{"thinkingBudget", effort == "medium" ? 8192 : 24576}};
  }
  if (effort == "none") effort = "minimal";
  if (effort == "xhigh" || effort == "max") effort = "high";
  return {{"thinkingLevel", effort}};
}

void write_thinking(Json& config, const Json& effort, std::string_view model) {
  if (!effort.is_string()) return;
  Json& thinking = config["thinkingConfig"];
  if (!thinking.is_object()) thinking = Json::object();
  // Gemini refuses both at once; the caller's own setting takes precedence.
  if (thinking.contains("thinkingBudget") || thinking.contains("thinkingLevel")) return;
  thinking.update(thinking_for_effort(effort.get_ref<const std::string&>(), model));
}

Status refuse_one_call_at_a_time(Json& settings) {
  if (take_setting(settings, "parallel_tool_calls") != false) return {};
  return std::unexpected(unsupported_feature(
      kGemini, "Gemini cannot be kept from making several calls at once: leave out parallel_tool_calls"));
}

void overlay(Json& target, std::string_view name, const Json& value) {
  if (value.is_null()) {
    target.erase(std::string(name));
  } else {
    target[name] = value;
  }
}

}  // namespace

Status write_gemini_config(Json& body, const GeminiCodecOptions& options, const AdapterCall& call) {
  const Request& request = call.request;
  Json settings = provider_settings(call);
  if (Status fits = refuse_one_call_at_a_time(settings); !fits) return fits;
  for (const char* name : {"user", "reasoning_summary", "verbosity"}) take_setting(settings, name);
  const Json effort = take_setting(settings, "reasoning_effort");

  Json config = Json::object();
  if (request.max_tokens) config["maxOutputTokens"] = *request.max_tokens;
  if (request.temperature) config["temperature"] = *request.temperature;
  if (Json stop = take_setting(settings, "stop"); !stop.is_null()) config["stopSequences"] = as_list(std::move(stop));
  if (request.response_format) {
    if (Status written = write_format(config, options, *request.response_format); !written) return written;
  }
  for (const char* name : {"generation_config", "generationConfig"}) {
    if (const Json own = take_setting(settings, name); own.is_object()) overlay_settings(config, own);
  }
  if (const Json tools = take_setting(settings, "tools"); tools.is_array()) {
    for (const Json& tool : tools) body["tools"].push_back(tool);
  }
  for (const auto& [name, value] : settings.items()) {
    if (const std::string_view* place = renamed(kBesideConfig, name)) {
      overlay(body, *place, value);
    } else {
      const std::string_view* known = renamed(kRenamed, name);
      overlay(config, known != nullptr ? *known : std::string_view(name), value);
    }
  }
  write_thinking(config, effort, called_model(call, kGemini).value_or(""));
  if (!config.empty()) body["generationConfig"] = std::move(config);
  return {};
}

}  // namespace allm
