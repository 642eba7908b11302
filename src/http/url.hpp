// Facts about URLs that are needed without curl.
#pragma once

#include <string>
#include <string_view>

namespace allm {

// The host, in lower case, without port, credentials and brackets; "" if there is none.
std::string url_host(std::string_view url);
// Whether the URL contains a user name or a password.
bool has_credentials(std::string_view url);
// The URL without credentials, query and fragment, for messages.
std::string shown_url(std::string_view url);
bool is_https_url(std::string_view url);
// Whether the host, as url_host() returns it, is this machine: localhost, names below it, or a loopback address.
bool is_loopback_host(const std::string& host);
// Whether nobody can read the traffic on its way to the server: https, or a loopback address.
bool is_private_url(std::string_view url);

}  // namespace allm
