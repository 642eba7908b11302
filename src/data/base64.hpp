// Base64 (RFC 4648). Pure functions, safe to call from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace allm {

// The standard alphabet, padded.
std::string base64_encode(std::string_view bytes);
// The URL-safe alphabet without padding: 22 characters for 16 bytes.
std::string base64url_encode(std::string_view bytes);

// The bytes of padded text in the standard alphabet; nothing if it is anything else, white space
// included.
std::optional<std::string> base64_decode(std::string_view text);
// Whether base64_decode would give bytes.
bool is_base64(std::string_view text);

}  // namespace allm
