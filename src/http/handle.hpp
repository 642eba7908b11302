// A curl easy handle set up for one exchange. Nothing outside src/http sees curl.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <curl/curl.h>

#include "http/read_budget.hpp"
#include "http/receive_buffer.hpp"
#include "http/spare_handles.hpp"

namespace allm {

// Made on any thread, then used only by the thread that drives the loop, except for received() and request(). Shared:
// the transfer holds it, and the client holds it until the exchange has ended.
class HttpHandle {
 public:
  HttpHandle(HttpRequest request, const HttpTimeouts& timeouts, const HttpLimits& limits, const HttpRoute& route,
             std::shared_ptr<SpareHandles> spares);
  HttpHandle(const HttpHandle&) = delete;
  HttpHandle& operator=(const HttpHandle&) = delete;
  ~HttpHandle();

  CURL* easy() const { return handle_.easy.get(); }  // null if curl had no memory for one
  ReceiveBuffer& received() { return received_; }
  const HttpRequest& request() const { return request_; }

  // When the exchange times out if nothing more arrives.
  std::chrono::steady_clock::time_point deadline() const;
  // When to look at the deadline again: it may become earlier once the response has begun.
  std::chrono::steady_clock::time_point next_check() const;
  // The error of an exchange that is past its deadline. It names the timeout.
  HttpError timeout() const;
  // Called when the exchange begins. `budget` and `heard` outlive it. The handle is added to `heard` when something
  // arrives for its consumer; end_turn() must follow.
  void start(ReadBudget& budget, std::vector<CURL*>& heard);
  // What to do with the transfer after a turn: its consumer does not keep up, and it must be paused; or it was paused
  // because the budget of the turn was used up, and must be resumed in another one.
  enum class AfterTurn : std::uint8_t { go_on, pause, resume };
  // Wakes the consumer, once for all that arrived in a turn of the loop.
  AfterTurn end_turn();
  // The consumer has emptied its full buffer: silence counts from now.
  void touch();
  // From now on the body is thrown away, and the exchange ends soon.
  void discard();
  // Whether this exchange discards its body on a connection that `other` could use afterwards.
  bool blocks(const HttpHandle& other) const;
  // Ends the exchange with curl's result. `flooded`: because its connection was closed for flooding.
  void finish(CURLcode result, bool flooded);

 private:
  struct Trust;
  static Trust trust_of(const HttpRoute& route);
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  void hear();
  void pause_if_turn_is_over();
  std::size_t header_line(std::string_view line);
  std::size_t body(std::string_view bytes);
  // Fails if the body is too large.
  bool count_body(std::size_t bytes);
  // Sets what all exchanges by the same route have in common.
  void set_route(const Trust& trust, const std::optional<std::string>& proxy);
  void set_url();
  void set_exchange();
  // Removes the handle's pointers into this object.
  void clear_exchange();
  std::string network_error_text(CURLcode result) const;

  HttpRequest request_;
  const HttpTimeouts timeouts_;
  const HttpLimits limits_;
  ReadBudget* budget_ = nullptr;
  std::vector<CURL*>* heard_in_turn_ = nullptr;
  ReceiveBuffer received_;
  std::shared_ptr<SpareHandles> spares_;  // shared: used in the destructor, perhaps after the client's
  std::string settings_;                  // what set_route() and set_url() have set, as the key for spares_
  EasyHandle handle_;
  curl_slist* header_list_ = nullptr;
  char error_text_[CURL_ERROR_SIZE] = {};
  HttpResponseHead head_;
  bool head_given_ = false;
  bool discarding_ = false;
  bool is_heard_ = false;  // in this turn
  bool is_full_ = false;
  bool is_turn_over_ = false;  // the transfer is paused until another turn
  bool ended_well_ = false;    // so that the curl handle can be reused
  std::size_t header_bytes_ = 0;
  std::size_t body_bytes_ = 0;     // after decompression
  std::size_t drained_bytes_ = 0;  // since discard()
  std::string too_large_;          // which limit the server exceeded
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point heard_;  // when the server last sent a part of the body
  std::chrono::steady_clock::time_point discarded_;
};

}  // namespace allm
