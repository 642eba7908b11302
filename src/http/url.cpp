#include "http/url.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdint>
#include <netinet/in.h>
#include <sys/socket.h>

#include "data/ascii.hpp"

namespace allm {
namespace {

bool starts_with_scheme(std::string_view url, std::string_view scheme) {
  return url.size() >= scheme.size() &&
         std::equal(scheme.begin(), scheme.end(), url.begin(), [](char a, char b) { return a == to_lower(b); });
}

// 127.0.0.0/8 and 0.0.0.0, which is the same machine, in each form that curl accepts: 127.1, 0x7f000001.
bool is_loopback_v4(const std::string& host) {
  in_addr address{};
  if (host.find_first_not_of("0123456789abcdefx.") != std::string::npos) return false;
  if (inet_aton(host.c_str(), &address) == 0) return false;
  const std::uint32_t number = ntohl(address.s_addr);
  return number == INADDR_ANY || number >> 24U == 127U;
}

bool is_loopback_v6(const std::string& host) {
  in6_addr address{};
  if (inet_pton(AF_INET6, host.c_str(), &address) != 1) return false;
  if (IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_UNSPECIFIED(&address)) return true;
  return IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127;
}

}  // namespace

std::string url_host(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view rest = url.substr(scheme + 3);
  rest = rest.substr(0, rest.find_first_of("/?#\\"));
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) rest.remove_prefix(at + 1);
  if (rest.starts_with('[')) {
    rest = rest.substr(1, rest.find(']') == std::string_view::npos ? std::string_view::npos : rest.find(']') - 1);
  } else {
    rest = rest.substr(0, rest.find(':'));
  }
  std::string host(rest);
  std::ranges::transform(host, host.begin(), to_lower);
  return host;
}

bool has_credentials(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::string_view rest = scheme == std::string_view::npos ? url : url.substr(scheme + 3);
  return rest.substr(0, rest.find_first_of("/?#\\")).find('@') != std::string_view::npos;
}

std::string shown_url(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  const std::size_t scheme = url.find("://");
  const std::size_t host = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::size_t at = url.substr(0, url.find_first_of("/\\", host)).rfind('@');
  if (at == std::string_view::npos || at < host) return std::string(url);
  return std::string(url.substr(0, host)) + std::string(url.substr(at + 1));
}

bool is_https_url(std::string_view url) { return starts_with_scheme(url, "https://"); }

bool is_loopback_host(const std::string& host) {
  return host == "localhost" || host.ends_with(".localhost") || is_loopback_v4(host) || is_loopback_v6(host);
}

bool is_private_url(std::string_view url) {
  return is_https_url(url) || (starts_with_scheme(url, "http://") && is_loopback_host(url_host(url)));
}

}  // namespace allm
