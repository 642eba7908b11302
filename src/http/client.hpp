// The transport: every HTTP exchange of a runtime, on its loop. Connections are kept and shared.
#pragma once

#include <memory>

#include "http/transfer.hpp"

namespace allm {

class Loop;

// Safe to call from any thread. A service of the runtime (Runtime::Impl::service).
class HttpClient {
 public:
  explicit HttpClient(std::shared_ptr<Loop> loop);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  // Makes an exchange, which begins with its first poll. All failures are results of poll().
  std::unique_ptr<HttpTransfer> start(HttpRequest request, const HttpTimeouts& timeouts, const HttpLimits& limits,
                                      const HttpRoute& route);

 private:
  class Multi;
  std::shared_ptr<Multi> multi_;  // shared: transfers and tasks of the loop hold it and may outlive the client
};

}  // namespace allm
