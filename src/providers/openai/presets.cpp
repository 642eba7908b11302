#include "providers/openai/presets.hpp"

#include <algorithm>
#include <array>

namespace allm {
namespace {

using Quirks = OpenAiQuirks;

// Most servers: only Chat Completions, other model names, and OpenAI's own fields are refused or ignored.
constexpr Quirks kCompatible = {.max_tokens = Quirks::MaxTokens::max_tokens,
                                .models_of_openai = false,
                                .reasoning_options = Quirks::ReasoningOptions::always,
                                .prompt_cache = false,
                                .files = Quirks::Files::none,
                                .audio = Quirks::Audio::none,
                                .tool_names = true,
                                .tool_ids = Quirks::ToolIds::by_model,
                                .json_arguments = true};

constexpr Quirks ollama() {
  Quirks quirks = kCompatible;
  quirks.null_content = false;  // older versions refuse null
  quirks.parallel_flag = false;
  return quirks;
}

constexpr Quirks vllm() {
  Quirks quirks = kCompatible;
  quirks.audio = Quirks::Audio::input_audio;
  return quirks;
}

constexpr Quirks openrouter() {
  Quirks quirks = kCompatible;
  quirks.files = Quirks::Files::file_part;
  quirks.audio = Quirks::Audio::input_audio;
  return quirks;
}

constexpr Quirks llamacpp() {
  Quirks quirks = kCompatible;
  quirks.audio = Quirks::Audio::input_audio;
  quirks.model_optional = true;  // one model per process
  return quirks;
}

constexpr Quirks lmstudio() {
  Quirks quirks = kCompatible;
  quirks.null_content = false;  // content must be a text
  quirks.parallel_flag = false;
  return quirks;
}

constexpr Quirks groq() {
  Quirks quirks = kCompatible;
  quirks.null_content = false;  // content must be a text on text models
  return quirks;
}

constexpr Quirks mistral() {
  Quirks quirks = kCompatible;
  quirks.tool_ids = Quirks::ToolIds::nine_alphanumerics;
  quirks.required_choice = "any";
  quirks.files = Quirks::Files::document_url;
  quirks.message_names = false;  // unknown fields are refused with 422
  quirks.stream_usage = false;   // sent without being asked for
  return quirks;
}

constexpr Quirks deepseek() {
  Quirks quirks = kCompatible;
  quirks.echo_reasoning = Quirks::EchoReasoning::always;  // refused without it in thinking mode, the default
  quirks.parallel_flag = false;
  return quirks;
}

constexpr Quirks azure() {
  Quirks quirks;  // OpenAI's own models
  quirks.api_key_header = true;
  quirks.model_optional = true;  // the deployment's URL names it
  return quirks;
}

constexpr std::array<OpenAiPreset, 11> kPresets = {{
    {"ollama", "http://localhost:11434/v1", false, "OLLAMA_API_KEY", ollama()},
    {"vllm", "http://localhost:8000/v1", false, "VLLM_API_KEY", vllm()},
    {"llamacpp", "http://localhost:8080/v1", false, "LLAMACPP_API_KEY", llamacpp()},
    {"lmstudio", "http://localhost:1234/v1", false, "LMSTUDIO_API_KEY", lmstudio()},
    {"groq", "https://api.groq.com/openai/v1", true, "GROQ_API_KEY", groq()},
    {"mistral", "https://api.mistral.ai/v1", true, "MISTRAL_API_KEY", mistral()},
    {"deepseek", "https://api.deepseek.com", true, "DEEPSEEK_API_KEY", deepseek()},
    {"openrouter", "https://openrouter.ai/api/v1", true, "OPENROUTER_API_KEY", openrouter()},
    {"together", "https://api.together.xyz/v1", true, "TOGETHER_API_KEY", kCompatible},
    {"xai", "https://api.x.ai/v1", true, "XAI_API_KEY", kCompatible},
    {"azure", "", true, "AZURE_OPENAI_API_KEY", azure()},
}};

}  // namespace

std::span<const OpenAiPreset> openai_presets() { return kPresets; }

const OpenAiPreset* find_openai_preset(std::string_view name) {
  const auto found = std::ranges::find(kPresets, name, &OpenAiPreset::name);
  return found == kPresets.end() ? nullptr : &*found;
}

OpenAiCodecOptions options_of(const OpenAiPreset& preset) {
  return {.provider = std::string(preset.name), .base_url = std::string(preset.base_url), .quirks = preset.quirks};
}

}  // namespace allm
