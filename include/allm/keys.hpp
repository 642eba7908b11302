// Keys of providers. Keys are redacted everywhere: no value that can be serialised, printed or logged contains one.
#pragma once

#include <memory>
#include <string>

namespace allm {

// A secret text. Copies share it; its memory is overwritten when the last copy is destroyed. There is no conversion and
// no operator<<, so that it is not printed by accident. Safe to copy and read from any thread.
class ApiKey {
 public:
  ApiKey() = default;  // none
  ApiKey(std::string key);
  ApiKey(const char* key);

  bool empty() const;
  // The key itself, for the code that sends it.
  const std::string& reveal() const;
  // A form that may be shown: "…" and the last four characters if the key is long enough for that, else "…".
  std::string hint() const;

 private:
  std::shared_ptr<const std::string> key_;
};

// The key of a provider for the whole process. It is used before the adapter's own key and the environment. Safe to
// call from any thread.
void set_key(const std::string& provider, ApiKey key);
void forget_key(const std::string& provider);

}  // namespace allm
