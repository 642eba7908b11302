// A real HTTP/1.1 server on loopback for tests, with TLS and its own certificate authority. One thread per connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allm::testing {

struct ServedRequest {
  std::string target;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  std::uint32_t stream = 0;                         // HTTP/2 only; the members above are then empty
  std::string header(std::string_view name) const;  // "" if there is none
};

// A handler writes its response here. Writing to a closed connection is not an error.
class Reply {
 public:
  virtual ~Reply() = default;
  virtual void write(std::string_view bytes) = 0;
  // Whether the client has closed the connection.
  virtual bool gone() = 0;
  // Closes the connection at once, without ending the response.
  virtual void cut() = 0;
  // Throws away what the client has sent meanwhile. Does not wait.
  virtual void discard_input() = 0;

  // A whole response with its length. The connection can be used again.
  void send(int status, std::string_view content_type, std::string_view body,
            const std::vector<std::pair<std::string, std::string>>& headers = {});
  // The head, the chunks and the end of a chunked response.
  void begin(int status, std::string_view content_type);
  void chunk(std::string_view bytes);
  void end();
};

class HttpServer {
 public:
  using Handler = std::function<void(const ServedRequest&, Reply&)>;
  struct Options {
    bool tls = true;
    // Another host makes a certificate that clients must refuse.
    std::string host = "localhost";
    // Offers HTTP/2 only. The handler is called for each stream and writes frames: tests/http2_frames.hpp.
    bool http2 = false;
  };

  explicit HttpServer(Handler handler) : HttpServer(std::move(handler), Options{}) {}
  HttpServer(Handler handler, Options options);
  ~HttpServer();  // closes all connections and joins their threads
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url() const;  // https://localhost:1234
  std::uint16_t port() const;
  // PEM files.
  std::string ca_file() const;
  std::string certificate_file() const;
  std::string key_file() const;
  std::size_t connections() const;  // accepted so far
  std::size_t requests() const;     // served so far

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace allm::testing
