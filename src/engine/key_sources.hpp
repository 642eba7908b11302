// Finds a provider's key. Sources in order: call option, key store of the process, adapter option, environment and,
// only on request, an .env file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "allm/error.hpp"
#include "allm/keys.hpp"

namespace allm {

struct KeySources {
  std::string provider = {};  // "openai"
  // Names in the environment and in .env; by default the provider's name in capitals and _API_KEY.
  std::vector<std::string> environment = {};
  // From the program's own configuration.
  ApiKey configured = {};
  // Path of an .env file. No file by default, because files in a working directory cannot be trusted.
  std::optional<std::string> env_file = std::nullopt;
  // True for a server that needs no key.
  bool optional = false;
};

// The key, or an empty one if none was found and none is needed. An empty text counts as missing. Fails with
// EngineError `missing_key`, which says where it was looked for: metadata `tried` is a list of {source, name, path?},
// where source is call_option, key_store, adapter_option, environment or env_file. It never contains a key. Safe to
// call from any thread.
Result<ApiKey> find_key(const KeySources& sources, const ApiKey& of_call);

// The value of a name in the text of an .env file: NAME=value lines, # comments, `export`, single and double quotes.
std::optional<std::string> env_file_value(std::string_view text, std::string_view name);

}  // namespace allm
