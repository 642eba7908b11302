// The transport: every HTTP exchange of a runtime, on its loop. Connections are kept and shared.
#pragma once

#include <memory>

#include "http/transfer.hpp"

namespace allm {

class Loop;

// Safe from any thread. Owned by the runtime (Runtime::Impl::service), destroyed after its loop has stopped.
class HttpClient {
 public:
  explicit HttpClient(std::shared_ptr<Loop> loop);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  // An exchange, which begins with its first poll; whatever goes wrong is what that gives.
  std::unique_ptr<HttpTransfer> start(HttpRequest request, const HttpTimeouts& timeouts, const HttpLimits& limits,
                                      const HttpRoute& route);

 private:
  class Multi;
  std::shared_ptr<Multi> multi_;
};

}  // namespace allm
