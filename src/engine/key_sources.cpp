#include "engine/key_sources.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string_view>
#include <utility>

#include "data/ascii.hpp"

namespace allm {
namespace {

struct Store {
  std::mutex mutex;
  std::map<std::string, ApiKey> keys;
};
Store& store() {
  static auto* const shared = new Store;
  return *shared;
}

std::string upper_case(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c >= 'a' && c <= 'z') {
      result += static_cast<char>(c - 'a' + 'A');
    } else if ((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) {
      result += c;
    } else {
      result += '_';
    }
  }
  return result;
}

std::string unquoted(std::string_view value) {
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front()) {
    return std::string(value.substr(1, value.size() - 2));
  }
  if (const std::size_t comment = value.find(" #"); comment != std::string_view::npos) value = value.substr(0, comment);
  return std::string(trimmed(value));
}

}  // namespace

ApiKey::ApiKey(std::string key) {
  if (key.empty()) return;
  key_ = std::shared_ptr<const std::string>(new std::string(key), [](const std::string* secret) {
    explicit_bzero(const_cast<char*>(secret->data()), secret->size());
    delete secret;
  });
  explicit_bzero(key.data(), key.size());
}
ApiKey::ApiKey(const char* key) : ApiKey(std::string(key == nullptr ? "" : key)) {}

bool ApiKey::empty() const { return key_ == nullptr; }

const std::string& ApiKey::reveal() const {
  static const auto* const none = new std::string;
  return key_ ? *key_ : *none;
}

std::string ApiKey::hint() const {
  constexpr std::size_t kLongEnough = 16;
  if (!key_) return "none";
  return key_->size() < kLongEnough ? "…" : "…" + key_->substr(key_->size() - 4);
}

void set_key(const std::string& provider, ApiKey key) {
  const std::lock_guard lock(store().mutex);
  store().keys[provider] = std::move(key);
}

void forget_key(const std::string& provider) {
  const std::lock_guard lock(store().mutex);
  store().keys.erase(provider);
}

std::optional<std::string> env_file_value(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with("export ")) line = trimmed(line.substr(7));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || trimmed(line.substr(0, equals)) != name) continue;
    return unquoted(trimmed(line.substr(equals + 1)));
  }
  return std::nullopt;
}

Result<ApiKey> find_key(const KeySources& sources, const ApiKey& of_call) {
  if (!of_call.empty()) return of_call;
  {
    const std::lock_guard lock(store().mutex);
    const auto found = store().keys.find(sources.provider);
    if (found != store().keys.end() && !found->second.empty()) return found->second;
  }
  if (!sources.configured.empty()) return sources.configured;
  std::vector<std::string> names = sources.environment;
  if (names.empty()) names.push_back(upper_case(sources.provider) + "_API_KEY");
  std::string tried;
  Json places = Json::array({{{"source", "call_option"}, {"name", "api_key"}},
                             {{"source", "key_store"}, {"name", sources.provider}},
                             {{"source", "adapter_option"}, {"name", "api_key"}}});
  for (const std::string& name : names) {
    places.push_back({{"source", "environment"}, {"name", name}});
    const char* value = std::getenv(name.c_str());
    if (value != nullptr && *value != '\0') return ApiKey(value);
    tried += (tried.empty() ? "" : ", ") + name;
  }
  if (sources.env_file) {
    std::ifstream file(*sources.env_file);
    std::ostringstream text;
    text << file.rdbuf();
    for (const std::string& name : names) {
      places.push_back({{"source", "env_file"}, {"name", name}, {"path", *sources.env_file}});
      if (auto value = env_file_value(text.str(), name); value && !value->empty()) return ApiKey(*std::move(value));
    }
    tried += " (also in " + *sources.env_file + ")";
  }
  if (sources.optional) return ApiKey();
  return std::unexpected(Error(EngineError{.reason = EngineError::Reason::missing_key, .provider = sources.provider},
                               "no key for " + sources.provider +
                                   ": neither the call nor allm::set_key nor the adapter's options have one, " +
                                   "and the environment does not set " + tried + "; set one of them",
                               {{"tried", std::move(places)}}));
}

}  // namespace allm
