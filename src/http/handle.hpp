// A curl easy handle set up for one exchange. Nothing outside src/http sees curl.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <curl/curl.h>

#include "http/mailbox.hpp"
#include "http/spare_handles.hpp"

namespace allm {

// Made on any thread, then used by who drives the loop only, but for `mailbox` and `request`.
class HttpHandle {
 public:
  HttpHandle(HttpRequest request, const HttpTimeouts& timeouts, const HttpLimits& limits, const HttpRoute& route,
             std::shared_ptr<SpareHandles> spares);
  HttpHandle(const HttpHandle&) = delete;
  HttpHandle& operator=(const HttpHandle&) = delete;
  ~HttpHandle();

  CURL* easy() const { return handle_.easy.get(); }  // null if curl had no memory for one
  Mailbox& mailbox() { return mailbox_; }
  const HttpRequest& request() const { return request_; }

  // The moment at which the exchange has been silent for too long, as far as is known now.
  std::chrono::steady_clock::time_point deadline() const;
  // When to look at the deadline again: it may come nearer once the answer has begun.
  std::chrono::steady_clock::time_point next_check() const;
  // Why it is over if it is over now; which of the limits it was.
  HttpFailure timeout() const;
  void start_clock();
  // The consumer took what had filled its buffer: silence counts from now.
  void touch();
  // From now on the body is thrown away, and the exchange ends soon.
  void discard();
  // Whether it does so on a connection that the other one could use next.
  bool blocks(const HttpHandle& other) const;
  // What curl's verdict means for the consumer.
  void finish(CURLcode result);

 private:
  struct Trust;
  static Trust trust_of(const HttpRoute& route);
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  std::size_t header_line(std::string_view line);
  std::size_t body(std::string_view bytes);
  // What all exchanges by the same route have in common.
  void set_route(const Trust& trust, const std::string& proxy);
  void set_url();
  void set_exchange();
  // Takes from the handle what points into this object.
  void clear_exchange();
  std::string network_problem(CURLcode result) const;

  HttpRequest request_;
  const HttpTimeouts timeouts_;
  const HttpLimits limits_;
  Mailbox mailbox_;
  std::shared_ptr<SpareHandles> spares_;
  std::string settings_;  // what set_route and set_url have set
  EasyHandle handle_;
  curl_slist* header_list_ = nullptr;
  char error_text_[CURL_ERROR_SIZE] = {};
  HttpResponseHead head_;
  bool head_given_ = false;
  bool discarding_ = false;
  bool ended_well_ = false;  // so that the handle can serve again
  std::size_t header_bytes_ = 0;
  std::size_t body_bytes_ = 0;
  std::string too_large_;  // which limit the server exceeded
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point heard_;  // of the server last
  std::chrono::steady_clock::time_point discarded_;
};

}  // namespace allm
