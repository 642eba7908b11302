#include "http/url.hpp"

#include <algorithm>

#include "data/ascii.hpp"

namespace allm {
namespace {

bool starts_with_scheme(std::string_view url, std::string_view scheme) {
  return url.size() >= scheme.size() &&
         std::equal(scheme.begin(), scheme.end(), url.begin(), [](char a, char b) { return a == to_lower(b); });
}

// 127.0.0.0/8, with all four numbers; a shorter form needs https.
bool is_loopback_v4(std::string_view host) {
  if (!host.starts_with("127.")) return false;
  return std::count(host.begin(), host.end(), '.') == 3 &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
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

std::string shown_url(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  const std::size_t scheme = url.find("://");
  const std::size_t host = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::size_t at = url.substr(0, url.find_first_of("/\\", host)).rfind('@');
  if (at == std::string_view::npos || at < host) return std::string(url);
  return std::string(url.substr(0, host)) + std::string(url.substr(at + 1));
}

bool is_private_url(std::string_view url) {
  if (starts_with_scheme(url, "https://")) return true;
  if (!starts_with_scheme(url, "http://")) return false;
  const std::string host = url_host(url);
  return host == "localhost" || host == "::1" || is_loopback_v4(host);
}

}  // namespace allm
