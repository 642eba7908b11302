// What the name of one of OpenAI's models says about it. Pure; any thread.
#pragma once

#include <string_view>

namespace allm::openai_wire {

struct ModelFamily {
  bool on_responses = false;       // at its best on the Responses endpoint: gpt-5 and later, the o series
  bool reasons = false;            // takes an effort; refuses temperature and its like
  bool has_verbosity = false;      // gpt-5 and later
  bool completion_tokens = false;  // wants max_completion_tokens
};

// Names are compared whatever their case; one that is not OpenAI's has none of the above.
ModelFamily family_of(std::string_view model);

}  // namespace allm::openai_wire
