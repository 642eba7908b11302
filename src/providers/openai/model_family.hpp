// Properties of OpenAI's models that follow from their names. Pure; safe to call from any thread.
#pragma once

#include <string_view>

namespace allm::openai_wire {

struct ModelFamily {
  bool on_responses = false;       // uses the Responses endpoint: gpt-5 and later, the o series
  bool reasons = false;            // accepts reasoning_effort
  bool has_verbosity = false;      // gpt-5 and later
  bool completion_tokens = false;  // requires max_completion_tokens
};

// Names are compared without regard to case. Models of others have none of these properties.
ModelFamily family_of(std::string_view model);

// Whether the name is that of a model of Mistral or Anthropic, as servers with models of many makers write it.
bool is_mistral_model(std::string_view model);
bool is_claude_model(std::string_view model);

}  // namespace allm::openai_wire
