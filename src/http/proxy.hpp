// Which proxy an exchange uses. Safe to call from any thread, as far as getenv() is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/transfer.hpp"

namespace allm {

// The value for curl: a proxy; "" for a direct connection; nothing if curl decides by the environment.
std::optional<std::string> curl_proxy(std::string_view url, const HttpRoute& route);

// Whether the exchange may reach its server through a proxy that can read it: every proxy can, unless the URL is https,
// which makes curl use an encrypted tunnel. The answer is no only if curl_proxy() rules a proxy out.
bool may_be_read_by_proxy(std::string_view url, const HttpRoute& route);

// Whether the exchange may use TLS, to the server or to a proxy.
bool may_use_tls(std::string_view url, const HttpRoute& route);

}  // namespace allm
