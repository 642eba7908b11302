// Keys of providers. They live here and nowhere else: no value that can be written out, printed or logged holds one.
#pragma once

#include <memory>
#include <string>

namespace allm {

// A secret text. Copies share it; it is overwritten when the last one goes. Nothing prints it by accident: there is no
// conversion and no operator<<.
class ApiKey {
 public:
  ApiKey() = default;  // none
  ApiKey(std::string key);
  ApiKey(const char* key);

  bool empty() const;
  // The key itself, for the one place that sends it.
  const std::string& reveal() const;
  // What may be shown: "…" and the last four characters of a key long enough for that to tell nothing.
  std::string hint() const;

 private:
  std::shared_ptr<const std::string> key_;
};

// The process's store: asked before configuration and environment. Safe from any thread.
void set_key(const std::string& provider, ApiKey key);
void forget_key(const std::string& provider);

}  // namespace allm
