// The rules of the providers for requests, as far as their documents and their error messages tell them. Each function
// returns the rules that a body breaks, as sentences; none if the provider would accept the body.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "allm/json.hpp"

namespace allm::testing {

using Problems = std::vector<std::string>;

// How the servers that speak Chat Completions differ from each other.
struct ChatRules {
  std::size_t max_id_bytes = 40;         // api.openai.com: "string too long. Expected a string with maximum length 40"
  bool nine_letter_ids = false;          // Mistral: ^[a-zA-Z0-9]{9}$
  bool word_ids = false;                 // Claude behind a gateway: ^[a-zA-Z0-9_-]+$
  bool answer_follows_tools = false;     // Mistral: "Unexpected role 'user' after role 'tool'"
  bool needs_reasoning_content = false;  // DeepSeek, in every assistant message
  bool parses_arguments = false;         // the arguments of a call must be the text of a JSON object
  bool refuses_null_content = false;     // Ollama, LM Studio, Groq
  bool refuses_unknown_fields = false;   // Mistral: 422
  bool needs_model = true;
  std::string_view file_part = {};  // the type of document parts; "" if the provider accepts no documents
  bool audio_parts = false;
};

Problems chat_problems(const Json& body, const ChatRules& rules);
Problems responses_problems(const Json& body);
Problems anthropic_problems(const Json& body);
// `checks_signatures`: whether calls of the current turn need a thought signature, as with Gemini 3.
Problems gemini_problems(const Json& body, bool checks_signatures);

// Collects broken rules.
class RuleCheck {
 public:
  // Adds `rule`, with the place in the body, unless `holds`. Returns `holds`.
  bool require(bool holds, const std::string& place, std::string_view rule) {
    if (!holds) problems_.push_back(place + ": " + std::string(rule));
    return holds;
  }
  Problems take() { return std::move(problems_); }

 private:
  Problems problems_;
};

// The member of an object; null if there is none.
const Json& member(const Json& value, const char* name);
// The text of a member; "" if there is none.
std::string text_of(const Json& value, const char* name);
// Common checks of values.
bool is_text(const Json& value);       // a string that is not empty
bool is_blank(std::string_view text);  // empty or white space
bool is_tool_name(const Json& value);  // ^[a-zA-Z0-9_-]{1,64}$
bool is_word(std::string_view text);   // ^[a-zA-Z0-9_-]+$
bool is_data_uri_or_url(const Json& value);
bool is_json_object_text(const Json& value);
// Whether the object has no other members than these.
bool has_only(const Json& object, const std::vector<std::string_view>& names);
std::string at(const std::string& list, std::size_t index);

}  // namespace allm::testing
