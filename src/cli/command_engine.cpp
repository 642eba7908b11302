#include "cli/command_engine.hpp"

#include <iterator>
#include <utility>

#include "allm/providers.hpp"
#include "allm/tools_file.hpp"

#include "cli/user_models.hpp"

namespace allm::cli {
namespace {

Result<std::string> model_at(const std::string& model, const std::optional<std::string>& base_url) {
  if (!base_url) return model;
  Result<ModelName> name = parse_model_name(model);
  if (!name) return std::unexpected(name.error());
  return name->provider + "@" + *base_url + ":" + name->model;
}

Result<std::vector<Tool>> tools_of(const std::vector<std::string>& files) {
  std::vector<Tool> tools;
  for (const std::string& file : files) {
    Result<std::vector<Tool>> read = read_tools_file(file);
    if (!read) return std::unexpected(read.error());
    tools.insert(tools.end(), std::make_move_iterator(read->begin()), std::make_move_iterator(read->end()));
  }
  return tools;
}

}  // namespace

Result<Engine> command_engine(const std::string& model, const std::optional<std::string>& base_url,
                              const std::vector<std::string>& tools_files) {
  const Result<std::string> located = model_at(model, base_url);
  if (!located) return std::unexpected(located.error());
  const Result<std::shared_ptr<const Catalogue>> models = user_catalogue();
  if (!models) return std::unexpected(models.error());
  const Result<ModelName> name = parse_model_name(*located);
  if (!name) return std::unexpected(name.error());
  Result<std::vector<Tool>> tools = tools_of(tools_files);
  if (!tools) return std::unexpected(tools.error());
  // A server at another URL has models of its own, even under names that the catalogue knows.
  return engine_for(*located, {.tools = *std::move(tools), .catalogue = name->base_url.empty() ? *models : nullptr});
}

std::vector<OptionSpec> engine_options(std::string& model, std::optional<std::string>& base_url,
                                       std::vector<std::string>& tools_files) {
  return {{.names = "-m,--model",
           .value = "MODEL",
           .help = "The model: provider:model, or provider@base_url:model.",
           .target = &model,
           .required = true,
           .completion = Completion::models},
          {.names = "--base-url", .value = "URL", .help = "Base URL of the provider's API.", .target = &base_url},
          {.names = "-t,--tools",
           .value = "FILE",
           .help = "A tools file, in TOML: programs that the model may run.",
           .target = &tools_files,
           .completion = Completion::files}};
}

CommandSection models_section() {
  return {.title = "Models",
          .entries = {{"provider:model",
                       "A model of a provider, such as openai:gpt-4.1-mini or ollama:qwen3:8b. "
                       "Providers are openai, anthropic, gemini, ollama, vllm, llamacpp, lmstudio, groq, "
                       "mistral, deepseek, openrouter, together, xai and azure."},
                      {"provider@base_url:model",
                       "A model of a server at another URL. Any other name of a provider "
                       "means a server that speaks OpenAI's protocol."},
                      {"keys",
                       "They are taken from the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY, "
                       "GEMINI_API_KEY, ..."}}};
}

}  // namespace allm::cli
