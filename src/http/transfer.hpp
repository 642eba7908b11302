// One HTTP exchange under way, as its consumer sees it.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <variant>

#include "allm/stream.hpp"

#include "http/exchange.hpp"

namespace allm {

// How long an exchange may take; see HttpOptions in allm/providers.hpp. The error of an exchange that took too long
// names the timeout.
struct HttpTimeouts {
  // Name lookup, TCP and TLS together.
  std::chrono::milliseconds connect{15'000};
  // From the start of the exchange until the final head is complete: a reasoning model may think for minutes.
  std::chrono::milliseconds receive{300'000};
  // Between two pieces of the body. Providers send something more often than that, at least a comment.
  std::chrono::milliseconds stream{60'000};
  // The whole exchange. 0: no limit, because a long answer is not a failure.
  std::chrono::milliseconds request{0};
};

// Limits on the memory that a server's answer may take. An exchange that exceeds one fails.
struct HttpLimits {
  std::size_t max_header_bytes = 256U << 10U;
  // Of the whole body, after decompression. HttpHandle also limits how much larger it may become by decompression.
  std::size_t max_body_bytes = 1U << 30U;
  // Of one event of a stream. An image may come as one line of base64, so this is generous.
  std::size_t max_event_bytes = 64U << 20U;
  // Received and not yet taken: beyond it the transfer is paused until the consumer catches up.
  std::size_t max_buffered_bytes = 1U << 20U;
};

// How to reach and to trust a server. Empty fields: the environment's (SSL_CERT_FILE, SSL_CERT_DIR, CURL_CA_BUNDLE,
// https_proxy, no_proxy, …), else the system's.
struct HttpRoute {
  std::string ca_file = {};
  std::string proxy = {};  // URL; if empty, see curl_proxy() in http/proxy.hpp
};

// Why an exchange failed before it was complete.
struct HttpError {
  enum class Kind : std::uint8_t { timeout, network, too_large };
  Kind kind = Kind::network;
  std::string message = {};
  bool is_permanent = false;  // another try cannot help: the URL or the certificate is wrong
};

class HttpTransfer {
 public:
  struct Pending {};
  struct Ended {};  // the body is complete
  // The result of a poll: first the head, then pieces of the body, then Ended or HttpError at every poll.
  using Progress = std::variant<Pending, HttpResponseHead, std::string, Ended, HttpError>;

  virtual ~HttpTransfer() = default;  // cancels the exchange, unless it drains in the background; never waits
  // Never blocks. Only the waker of the latest poll is called. `spare` is a buffer that the transfer may use again.
  virtual Progress poll(const Waker& waker, std::string spare = {}) = 0;
  // The request, with everything that was added to it.
  virtual const HttpRequest& sent() const = 0;
  // The rest of the body is of no interest. Its end is awaited in the background, for a moment, so that the connection
  // can be used again. The transfer may then only be destroyed.
  virtual void drain_in_background() = 0;
};

}  // namespace allm
