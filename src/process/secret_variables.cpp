#include "process/secret_variables.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "data/ascii.hpp"
#include "process/exec_texts.hpp"

namespace allm {
namespace {

// A word of the name, which underscores separate, is one of these or ends with one: APIKEY, PGPASSWORD.
constexpr std::array<std::string_view, 11> kSecretWords = {
    "key", "keys", "token", "tokens", "secret", "secrets", "password", "passwd", "pass", "passphrase", "credentials"};
// The last word of a longer name: PWD alone is the working directory.
constexpr std::array<std::string_view, 3> kSecretEnds = {"_pwd", "_auth", "_pat"};
// Keys of providers begin so.
constexpr std::array<std::string_view, 7> kKeyBeginnings = {"sk-", "rk-", "gsk_", "xai-", "AIza", "ya29.", "Bearer "};

bool ends_with_one(std::string_view text, const auto& endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return text.ends_with(ending); });
}

bool names_a_secret(std::string_view name) {
  const std::string lower = lower_case(name);
  std::string_view rest = lower;
  if (ends_with_one(rest, kSecretEnds)) return true;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('_'), rest.size());
    if (ends_with_one(rest.substr(0, end), kSecretWords)) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

// A URL with a password, as of a database or a proxy: scheme://user:password@host.
bool has_password(std::string_view value) {
  const std::size_t scheme = value.find("://");
  if (scheme == std::string_view::npos) return false;
  const std::string_view rest = value.substr(scheme + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  const std::size_t at = authority.rfind('@');
  return at != std::string_view::npos && authority.substr(0, at).find(':') != std::string_view::npos;
}

}  // namespace

bool is_secret_variable(std::string_view name, std::string_view value) {
  return names_a_secret(name) || has_password(value) ||
         std::ranges::any_of(kKeyBeginnings, [&](std::string_view beginning) { return value.starts_with(beginning); });
}

std::vector<std::string> environment_without_secrets() {
  std::vector<std::string> environment = own_environment();
  std::erase_if(environment, [](std::string_view variable) {
    const std::size_t equals = std::min(variable.find('='), variable.size());
    return is_secret_variable(variable.substr(0, equals), variable.substr(std::min(equals + 1, variable.size())));
  });
  return environment;
}

std::vector<std::string> named_variables(const std::vector<std::string>& names) {
  std::vector<std::string> variables;
  for (const std::string& name : names) {
    if (const char* value = std::getenv(name.c_str())) variables.push_back(name + "=" + value);
  }
  return variables;
}

}  // namespace allm
