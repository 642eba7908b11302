// The real providers as tests use them: how each is reached, what it answers, where its key travels.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "allm/chat.hpp"
#include "allm/providers.hpp"

#include "tests/http_server.hpp"

namespace allm::testing {

struct ProviderCase {
  const char* name;
  const char* model;
  // The path of a streamed request, from the base URL on.
  const char* target;
  const char* key;
  const char* key_header;  // in lower case
  const char* key_prefix;  // of its value
  const char* tools_file;  // a transcript in which it calls tools
  std::shared_ptr<Adapter> (*make)(std::string base_url, ApiKey key, HttpOptions http);
  // A streamed answer of that text, as this provider writes it.
  std::string (*answer)(const std::string& text);
};

// openai-chat, openai-responses, anthropic, gemini and ollama (for all the compatible ones).
const std::vector<ProviderCase>& provider_cases();

// An engine of that provider at `url`, with telemetry that notes everything.
Engine engine_of(const ProviderCase& provider, const std::string& url, const std::string& ca_file);

void send_stream(Reply& reply, const std::string& body);

}  // namespace allm::testing
