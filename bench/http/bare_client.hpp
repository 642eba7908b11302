// The baseline: a client with libcurl alone. It keeps one handle, sends a POST and passes the bytes to a callback.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <curl/curl.h>

namespace allm::bench {

struct BareRequest {
  std::string url = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
};

// One thread at a time.
class BareClient {
 public:
  using OnBytes = std::function<void(std::string_view)>;

  explicit BareClient(const std::string& ca_file);
  ~BareClient();
  BareClient(const BareClient&) = delete;
  BareClient& operator=(const BareClient&) = delete;

  // Returns whether a complete answer with status 200 was received.
  bool post(const BareRequest& request, const OnBytes& on_bytes);

 private:
  CURL* easy_;
};

}  // namespace allm::bench
