// Ids that correlate everything one run does.
#pragma once

#include <string>

namespace allm {

// 16 random bytes from the system, as 22 characters of URL-safe base64. Safe from any thread.
std::string make_request_id();

}  // namespace allm
