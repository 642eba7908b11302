// The little that has to be known about a URL without asking curl.
#pragma once

#include <string>
#include <string_view>

namespace allm {

// The host, in lower case, without port, credentials and brackets; "" if there is none.
std::string url_host(std::string_view url);
// Whether what is sent there can be read by nobody on the way: https, or a loopback address.
bool is_private_url(std::string_view url);

}  // namespace allm
