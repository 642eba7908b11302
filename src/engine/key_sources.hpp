// Where a provider's key comes from: call option, then the process's store, then configuration, then the environment,
// then an .env file if that was asked for.
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
  // Path of an .env file; none by default, because what lies in a working directory is not to be trusted unasked.
  std::optional<std::string> env_file = std::nullopt;
  // A server without authentication: no key is fine.
  bool optional = false;
};

// The key, or an empty one if none was found and none is needed. An empty text counts as missing. Fails with
// EngineError `missing_key`, which says where it was looked for: metadata `tried` is a list of {source, name, path?},
// where source is call_option, key_store, adapter_option, environment or env_file. No value is ever in it. Any thread.
Result<ApiKey> find_key(const KeySources& sources, const ApiKey& of_call);

// The value of a name in the text of an .env file: NAME=value lines, # comments, `export`, single and double quotes.
std::optional<std::string> env_file_value(std::string_view text, std::string_view name);

}  // namespace allm
