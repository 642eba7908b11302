// A real HTTP/1.1 server on loopback for tests, with TLS and an authority of its own. A thread a connection.
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
  std::string header(std::string_view name) const;  // "" if there is none
};

// What a handler answers with. Writing to a client that has gone is no error.
class Reply {
 public:
  virtual ~Reply() = default;
  virtual void write(std::string_view bytes) = 0;
  // Whether the client has closed its end.
  virtual bool gone() = 0;
  // Ends the connection at once, without the end that the protocol wants.
  virtual void cut() = 0;

  // A whole response with its length, after which the connection may be used again.
  void send(int status, std::string_view content_type, std::string_view body,
            const std::vector<std::pair<std::string, std::string>>& headers = {});
  // The head of a chunked response, its pieces and its end.
  void begin(int status, std::string_view content_type);
  void chunk(std::string_view bytes);
  void end();
};

class HttpServer {
 public:
  using Handler = std::function<void(const ServedRequest&, Reply&)>;
  struct Options {
    bool tls = true;
    // For a certificate that no client should accept: one of another host.
    std::string host = "localhost";
  };

  explicit HttpServer(Handler handler) : HttpServer(std::move(handler), Options{}) {}
  HttpServer(Handler handler, Options options);
  ~HttpServer();  // cuts all connections and waits for their threads
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
