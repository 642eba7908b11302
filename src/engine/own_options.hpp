// Options of a call that allm itself uses. They are never sent to a provider.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace allm {

inline constexpr std::array<std::string_view, 7> kOwnOptions = {"connect_timeout", "receive_timeout", "stream_timeout",
                                                                "request_timeout", "pool_timeout",    "retry_policy",
                                                                "api_key"};

constexpr bool is_own_option(std::string_view name) {
  return std::ranges::find(kOwnOptions, name) != kOwnOptions.end();
}

}  // namespace allm
