#include "stores/postgres/address.hpp"

#include <charconv>
#include <libpq-fe.h>
#include <memory>
#include <optional>

#include "stores/store_errors.hpp"

namespace allm::postgres {
namespace {

constexpr std::size_t kMostConnections = 1'000;
constexpr std::size_t kLongestRetry = 3'600'000;

Error unusable_url(const std::string& why) {
  return store_error(StoreError::Reason::invalid_url, "the PostgreSQL URL of the store cannot be used: " + why);
}

std::optional<std::size_t> number_up_to(std::string_view text, std::size_t most) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > most) return std::nullopt;
  return number;
}

// Where the host starts, after user name and password. As libpq sees it: a '?' before the first '@' is a part of the
// password.
std::size_t begin_of_host(std::string_view url) {
  const std::size_t begin = url.find("//") + 2;
  const std::size_t end = url.find_first_of("@/", begin);
  return end != std::string_view::npos && url[end] == '@' ? end + 1 : begin;
}

// With an '@' or '/' in a password, libpq takes a part of the password for the host or the port, and its messages would
// name it.
bool has_ambiguous_password(std::string_view url) {
  const std::string_view rest = url.substr(begin_of_host(url));
  return rest.substr(0, rest.find('?')).find('@') != std::string_view::npos;
}

// Reads one parameter of allm's own. Returns whether it is one.
Result<bool> read_own_parameter(std::string_view parameter, Address& address) {
  const std::string_view name = parameter.substr(0, parameter.find('='));
  const std::string_view value = parameter.substr(std::min(name.size() + 1, parameter.size()));
  if (name == "allm_connections") {
    const auto number = number_up_to(value, kMostConnections);
    if (!number || *number == 0) return std::unexpected(unusable_url("allm_connections must be from 1 to 1000"));
    address.max_connections = *number;
    return true;
  }
  if (name != "allm_retry_ms") return false;
  const auto number = number_up_to(value, kLongestRetry);
  if (!number) return std::unexpected(unusable_url("allm_retry_ms must be from 0 to 3600000"));
  address.retry_time = std::chrono::milliseconds(*number);
  return true;
}

// Reads allm's own parameters and returns the URL without them.
Result<std::string> take_own_parameters(const std::string& url, Address& address) {
  const std::size_t question = url.find('?', begin_of_host(url));
  std::string kept = url.substr(0, question);
  if (question == std::string::npos) return kept;
  char separator = '?';
  std::string_view query = std::string_view(url).substr(question + 1);
  while (!query.empty()) {
    const std::string_view parameter = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(parameter.size() + 1, query.size()));
    const Result<bool> own = read_own_parameter(parameter, address);
    if (!own) return std::unexpected(own.error());
    if (*own) continue;
    kept += separator;
    kept += parameter;
    separator = '&';
  }
  return kept;
}

void add_default(Address& address, const char* name, const char* value) {
  for (const auto& parameter : address.parameters) {
    if (parameter.first == name) return;
  }
  address.parameters.emplace_back(name, value);
}

// A server that disappears without closing its connections must not block a call for ever.
void add_defaults(Address& address) {
  add_default(address, "connect_timeout", "10");
  add_default(address, "keepalives_idle", "20");
  add_default(address, "keepalives_interval", "5");
  add_default(address, "keepalives_count", "3");
  add_default(address, "tcp_user_timeout", "30000");
  add_default(address, "fallback_application_name", "allm");
}

}  // namespace

Result<Address> parse_address(const std::string& url) {
  if (has_ambiguous_password(url)) {
    return std::unexpected(unusable_url("write %40 instead of @ and %2F instead of / in user names and passwords"));
  }
  Address address;
  const Result<std::string> kept = take_own_parameters(url, address);
  if (!kept) return std::unexpected(kept.error());
  const std::unique_ptr<PQconninfoOption, decltype(&::PQconninfoFree)> options(
      ::PQconninfoParse(kept->c_str(), nullptr), &::PQconninfoFree);
  if (options == nullptr) return std::unexpected(unusable_url("libpq cannot read it"));
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    address.parameters.emplace_back(option->keyword, option->val);
    if (*option->dispchar == '*' && *option->val != '\0') address.secrets.emplace_back(option->val);
  }
  std::erase_if(address.parameters, [](const auto& parameter) { return parameter.first == "client_encoding"; });
  address.parameters.emplace_back("client_encoding", "UTF8");
  add_defaults(address);
  return address;
}

std::string without_secrets(std::string text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 3)) {
      text.replace(at, secret.size(), "***");
    }
  }
  return text;
}

}  // namespace allm::postgres
