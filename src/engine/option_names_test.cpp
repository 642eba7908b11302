#include "engine/option_names.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"

namespace allm::option_names_test {
namespace {

TEST(OptionNames, SimilarToOursNameTheOptionThatWasMeant) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"max_turnz", "max_turns"},
      {"max_turn", "max_turns"},
      {"maxTurns", "max_turns"},
      {"max-turns", "max_turns"},
      {"max_trun", ""},
      {"max_tunrs", "max_turns"},
      {"tool_timeout", "tool_timeout_ms"},
      {"toolTimeoutMs", "tool_timeout_ms"},
      {"run_timeout", "run_timeout_ms"},
      {"max_costs", "max_cost"},
      {"structured_finalise", "structured_finalize"},
      {"temprature", "temperature"},
      {"tool_choise", "tool_choice"},
      {"respone_format", "response_format"},
      {"max_token", "max_tokens"},
      {"connect_timeuot", "connect_timeout"},
      {"top_p", ""},
  };
  for (const auto& [name, meant] : cases) {
    const auto message = refuse_near_option(name);
    if (meant.empty()) {
      EXPECT_FALSE(message.has_value()) << name;
    } else {
      EXPECT_EQ(message, "is not an option: did you mean " + meant + "?") << name;
    }
  }
}

// Settings of OpenAI (both endpoints), Anthropic, Gemini, and of servers that speak OpenAI's protocol.
const std::vector<std::string> kProviderSettings = {
    "audio", "background", "conversation", "frequency_penalty", "function_call", "functions", "include", "input",
    "instructions", "logit_bias", "logprobs", "max_completion_tokens", "max_output_tokens", "max_tokens",
    "max_tool_calls", "messages", "metadata", "modalities", "model", "n", "parallel_tool_calls", "prediction",
    "presence_penalty", "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_retention", "reasoning",
    "reasoning_effort", "reasoning_summary", "response_format", "safety_identifier", "seed", "service_tier", "stop",
    "store", "stream", "stream_options", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p",
    "truncation", "user", "verbosity", "web_search_options",
    // Anthropic
    "betas", "cache_control", "container", "context_management", "inference_geo", "mcp_servers", "output_config",
    "output_format", "stop_sequences", "system", "thinking", "top_k",
    // Gemini
    "cachedContent", "candidateCount", "contents", "enableEnhancedCivicAnswers", "frequencyPenalty", "generationConfig",
    "imageConfig", "labels", "logprobs", "maxOutputTokens", "mediaResolution", "presencePenalty", "responseJsonSchema",
    "responseLogprobs", "responseMimeType", "responseModalities", "responseSchema", "safetySettings", "speechConfig",
    "stopSequences", "systemInstruction", "thinkingConfig", "toolConfig", "topK", "topP",
    // vLLM, llama.cpp, Ollama, OpenRouter, Mistral, Groq, DeepSeek, Azure
    "allowed_token_ids", "add_generation_prompt", "bad_words", "beam_search", "best_of", "cache_prompt",
    "chat_template", "chat_template_kwargs", "citation_options", "compound_custom", "continue_final_message",
    "data_sources", "disable_tool_validation", "documents", "dry_base", "dry_multiplier", "dynatemp_range", "echo",
    "exclude_domains", "extra_body", "format", "grammar", "guided_choice", "guided_decoding_backend", "guided_grammar",
    "guided_json", "guided_regex", "id_slot", "ignore_eos", "include_domains", "include_reasoning",
    "include_stop_str_in_output", "keep_alive", "length_penalty", "logits_processors", "min_keep", "min_p",
    "min_tokens", "mirostat", "mirostat_eta", "mirostat_tau", "models", "n_indent", "n_keep", "n_predict", "n_probs",
    "num_ctx", "num_predict", "options", "plugins", "post_sampling_probs", "priority", "prompt_logprobs", "prompt_mode",
    "provider", "random_seed", "raw", "reasoning_format", "repeat_last_n", "repeat_penalty", "repetition_penalty",
    "request_id", "return_tokens", "return_tokens_as_token_ids", "route", "safe_prompt", "samplers", "search_settings",
    "session_id", "skip_special_tokens", "spaces_between_special_tokens", "stop_token_ids", "structured_outputs",
    "suffix", "template", "tfs_z", "think", "timings_per_token", "top_a", "top_n_sigma", "transforms",
    "truncate_prompt_tokens", "typical_p", "usage", "use_beam_search", "verbosity", "xtc_probability", "xtc_threshold",
    "timeout", "max_time", "context", "content", "mode"};

TEST(OptionNames, OfProvidersAreNeverRefused) {
  for (const std::string& name : kProviderSettings) {
    EXPECT_FALSE(refuse_near_option(name).has_value()) << name << " " << *refuse_near_option(name);
    EXPECT_FALSE(refuse_option_in_params(name).has_value()) << name << " " << *refuse_option_in_params(name);
  }
}

TEST(OptionNames, OfRunsAreRefusedInTheParamsOfACall) {
  EXPECT_TRUE(refuse_option_in_params("max_turns").has_value());
  EXPECT_TRUE(refuse_option_in_params("max_turnz").has_value());
  EXPECT_FALSE(refuse_near_option("max_turns").has_value()) << "an engine's params may have it";
}

TEST(OptionNames, ThatAreWrongEndTheRunBeforeTheModelCall) {
  const auto adapter = fake({{fake_text("hi"), fake_finish(FinishReason::stop)}});
  const Engine engine({.adapter = adapter});
  const Thread thread = {user("hi")};
  const auto check = [](const Result<ChatResult>& result, const char* path) {
    ASSERT_FALSE(result.has_value());
    EXPECT_TRUE(result.error().is<ValidationError>(ValidationError::Reason::invalid_option));
    const auto& errors = result.error().get_if<ValidationError>()->errors;
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(to_string(errors[0].path), path);
    EXPECT_EQ(errors[0].reason, "unknown_option");
    EXPECT_NE(result.error().message().find("did you mean max_turns?"), std::string::npos) << result.error().message();
  };
  check(chat(engine.with_params({{"max_turnz", 3}}), thread), "max_turnz");
  check(chat(engine, thread, {.params = {{"max_turnz", 3}}}), "params.max_turnz");
  check(chat(engine, {.messages = thread.messages, .options = {{"max_turnz", 3}}}), "params.max_turnz");
  check(chat(Engine({.adapter = adapter, .defaults = {.params = {{"max_turnz", 3}}}}), thread), "params.max_turnz");
  EXPECT_EQ(adapter->calls(), 0U);
}

}  // namespace
}  // namespace allm::option_names_test
