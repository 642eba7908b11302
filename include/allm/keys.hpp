// API keys of providers. No value of allm that can be serialised, printed or logged contains a key.
#pragma once

#include <memory>
#include <string>

namespace allm {

// A key. Copies share its memory, which is overwritten when the last copy is destroyed. A key does not convert to a
// string and has no operator<<, so that it is not printed by accident. Safe to copy and read from any thread.
class ApiKey {
 public:
  ApiKey() = default;  // no key; empty() is true, as for an empty string
  ApiKey(std::string key);
  ApiKey(const char* key);

  bool empty() const;
  // The key itself, for the code that sends it.
  const std::string& reveal() const;
  // A form that may be shown: "…" and the last four characters; "…" if the key has fewer than 16 characters; "none" if
  // there is no key.
  std::string hint() const;

 private:
  std::shared_ptr<const std::string> key_;
};

// Set and remove the key of a provider (Adapter::provider(), for example "openai") for the whole process. It is used
// instead of the adapter's own key and the environment. Safe to call from any thread.
void set_key(const std::string& provider, ApiKey key);
void forget_key(const std::string& provider);

}  // namespace allm
