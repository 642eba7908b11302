// Limits what curl reads in one turn, and finds connections that flood. A turn is one call of the client by the loop,
// for a descriptor, a timer or a task, with the calls of curl that follow. All connections share its budget. The loop
// looks at its timers after at most a millisecond of computing and the turn that is under way then.
//
// curl reads an HTTP/2 connection until the socket is empty or a part of an answer has arrived. A server that sends
// control frames faster than curl handles them would keep it in that loop for ever. curl has no limit for this, so the
// limit is below it: in a BIO of OpenSSL between the TLS layer and curl's socket, which says "nothing to read now" when
// the budget of the turn is used up. epoll then reports the socket again in the next turn.
//
// Without TLS there is no such layer, and curl reads up to a hundred buffers at once. HttpHandle pauses such an
// exchange when the budget of the turn is used up.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <openssl/bio.h>
#include <openssl/types.h>

#include <curl/curl.h>

namespace allm {

// For the thread that drives the loop. Must outlive the connections of the exchanges that use it.
class ReadBudget {
 public:
  // Whether curl uses OpenSSL. With another TLS library there is no budget, and the client must not use HTTP/2.
  static bool is_available();

  ReadBudget() = default;
  ReadBudget(const ReadBudget&) = delete;
  ReadBudget& operator=(const ReadBudget&) = delete;

  // Applies the budget to the connections that this exchange opens.
  void apply_to(CURL* easy);
  // The next turn begins: every connection may read again.
  void end_turn() {
    turn_ = {};
    ++turn_number_;
  }
  // curl is called: what follows is not about the connection that was read before.
  void begin_call() { reading_ = nullptr; }
  // That many bytes of an answer have reached an exchange in this turn, after decompression.
  void count_answer(std::size_t bytes);
  // Whether the budget of the turn is used up.
  bool is_used_up() const;
  // Whether a connection was closed since the last call because the server flooded it.
  bool take_flooded();

 private:
  // Of one connection. Owned by its BIO.
  struct Connection {
    ReadBudget* budget = nullptr;
    std::size_t surplus = 0;  // bytes that were not part of an answer
    std::uint64_t turn = 0;   // in which it was read last
  };
  struct Turn {
    std::size_t bytes_read = 0;
    std::size_t answer_cost = 0;
    std::size_t reads = 0;
    std::chrono::steady_clock::time_point watched_since;
  };

  static CURLcode on_context(CURL* easy, void* context, void* self);
  static void on_state(const SSL* ssl, int where, int result);
  static void insert_below(SSL* ssl, ReadBudget& budget);
  static const BIO_METHOD* make_method();
  static const BIO_METHOD* method();
  static int read(BIO* bio, char* data, int size);
  static long control(BIO* bio, int command, long number, void* pointer);
  static int destroy(BIO* bio);

  bool may_read(Connection& connection);
  bool is_flood(Connection& connection, std::size_t bytes);

  Turn turn_;
  std::uint64_t turn_number_ = 1;
  Connection* reading_ = nullptr;  // the one that was read last in this call of curl
  bool flooded_ = false;
};

}  // namespace allm
