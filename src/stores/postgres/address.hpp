// Where a PostgreSQL store is, read from its URL.
//
// The URL is one of libpq ("postgresql://user:password@host:5432/database?sslmode=verify-full"), with two parameters
// more: `allm_connections` and `allm_retry_ms`.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allm/error.hpp"

namespace allm::postgres {

struct Address {
  std::vector<std::pair<std::string, std::string>> parameters = {};  // of libpq
  // Connections for queries. One more listens for notifications while a thread waits for them.
  std::size_t max_connections = 8;
  // How long a call tries to reach the server again before it fails with `unavailable`. Long enough for a restart.
  std::chrono::milliseconds retry_time = std::chrono::seconds(5);
  std::vector<std::string> secrets = {};  // texts that must not be in messages
};

// Fails with `invalid_url`. The message contains no part of the URL, because a URL that cannot be read may have its
// password anywhere.
Result<Address> parse_address(const std::string& url);

// The text with each of these secrets replaced by ***.
std::string without_secrets(std::string text, const std::vector<std::string>& secrets);

}  // namespace allm::postgres
