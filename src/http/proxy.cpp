#include "http/proxy.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "data/ascii.hpp"
#include "http/url.hpp"

namespace allm {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// The proxies that curl may use for http URLs. curl does not read HTTP_PROXY, because a web server may have set it from
// a header of a request.
bool environment_has_http_proxy() {
  return std::ranges::any_of(std::array{"http_proxy", "all_proxy", "ALL_PROXY"},
                             [](const char* name) { return !variable(name).empty(); });
}

bool matches(std::string_view host, std::string_view pattern) {
  if (pattern == "*") return true;
  while (pattern.starts_with('.')) pattern.remove_prefix(1);
  while (pattern.ends_with('.')) pattern.remove_suffix(1);
  if (pattern.empty() || !host.ends_with(pattern)) return false;
  return host.size() == pattern.size() || host[host.size() - pattern.size() - 1] == '.';
}

// Whether no_proxy names the host. Address ranges (10.0.0.0/8) are left to curl.
bool is_excepted(std::string_view host) {
  std::string list = variable("no_proxy");
  if (list.empty()) list = variable("NO_PROXY");
  std::ranges::transform(list, list.begin(), to_lower);
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(", \t"), rest.size());
    if (matches(host, rest.substr(0, end))) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace

std::optional<std::string> curl_proxy(std::string_view url, const HttpRoute& route) {
  if (!route.proxy.empty()) return route.proxy;
  std::string host = url_host(url);
  if (host.ends_with('.')) host.pop_back();
  // A proxy would look for a loopback address on its own machine.
  if (is_loopback_host(host) || is_excepted(host)) return "";
  return std::nullopt;
}

bool may_be_read_by_proxy(std::string_view url, const HttpRoute& route) {
  if (is_https_url(url)) return false;
  const std::optional<std::string> proxy = curl_proxy(url, route);
  return proxy ? !proxy->empty() : environment_has_http_proxy();
}

bool may_use_tls(std::string_view url, const HttpRoute& route) {
  return !url.starts_with("http://") || !route.proxy.empty() || environment_has_http_proxy();
}

}  // namespace allm
