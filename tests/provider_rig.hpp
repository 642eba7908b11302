// The real providers for tests: how to reach each of them, what it answers, and which header has its key.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/providers.hpp"

#include "tests/http_server.hpp"

namespace allm::testing {

struct ProviderCase {
  const char* name;
  const char* model;
  // The path of a streamed request, after the base URL.
  const char* target;
  const char* key;
  const char* key_header;  // in lower case
  const char* key_prefix;  // before the key in that header
  const char* tools_file;  // a transcript in which it calls tools
  std::shared_ptr<Adapter> (*make)(std::string base_url, ApiKey key, HttpOptions http);
  // A streamed answer with this text, in the provider's format.
  std::string (*answer)(const std::string& text);
  // The same answer as one document; `calls` are tool calls that follow the text: an array of {id, name, arguments}.
  Json (*document)(const std::string& text, const Json& calls);

  // Whether the request asks for a stream.
  static bool asks_for_stream(const ServedRequest& request);
};

// GoogleTest prints the name instead of the bytes.
inline void PrintTo(const ProviderCase& provider, std::ostream* out) { *out << provider.name; }

// openai-chat, openai-responses, anthropic, gemini, and ollama for all OpenAI-compatible servers.
const std::vector<ProviderCase>& provider_cases();

// The name of a case in the names of parameterised tests, which have letters and digits only.
inline std::string case_name(const ::testing::TestParamInfo<ProviderCase>& info) {
  std::string name = info.param.name;
  std::erase(name, '-');
  return name;
}

// An engine for the provider at `url`, with the telemetry sink of tests/produced.hpp.
Engine engine_of(const ProviderCase& provider, const std::string& url, const std::string& ca_file);

void send_stream(Reply& reply, const std::string& body);

}  // namespace allm::testing
