// Answers of models in the formats of the providers, for tests without a network.
#pragma once

#include <string>
#include <vector>

namespace allm::testing {

struct AnsweredCall {
  std::string id = {};
  std::string name = {};
  std::string arguments = {};  // the text that the model wrote
};

struct Answer {
  std::string reasoning = {};
  std::string signature = {};  // of the reasoning, which only its provider can read
  std::string text = {};
  std::vector<AnsweredCall> calls = {};
  bool is_cut = false;  // by the limit of tokens
};

// The bodies of streamed answers.
std::string chat_answer(const Answer& answer);
std::string responses_answer(const Answer& answer);
std::string anthropic_answer(const Answer& answer);
// Ids that begin with "gemini-" are left out, as the provider does in most cases.
std::string gemini_answer(const Answer& answer);

}  // namespace allm::testing
