// nghttpx in front of a test server: TLS and HTTP/2 towards the client, plain HTTP/1.1 towards the server.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>

#include "tests/http_server.hpp"

namespace allm::testing {

class Http2Front {
 public:
  // `server` must not use TLS; nghttpx uses its certificate. Throws if nghttpx is not installed or does not start.
  explicit Http2Front(const HttpServer& server);
  ~Http2Front();  // ends the process and waits for it
  Http2Front(const Http2Front&) = delete;
  Http2Front& operator=(const Http2Front&) = delete;

  std::string url() const { return "https://localhost:" + std::to_string(port_); }

 private:
  std::uint16_t port_ = 0;
  pid_t process_ = -1;
};

}  // namespace allm::testing
