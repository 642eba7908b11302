#include "http/read_budget.hpp"

#include <algorithm>
#include <memory>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <string>
#include <utility>

namespace allm {
namespace {

// In one turn: four records of TLS. More would only delay timers and other connections.
constexpr std::size_t kMaxTurnBytes = 64U << 10U;
// A piece of an answer costs as much as that many bytes, however small it is.
constexpr std::size_t kPieceCost = 64;
constexpr std::chrono::milliseconds kMaxTurnTime{2};
// A usual turn has fewer reads, so that it needs no clock.
constexpr std::size_t kUnwatchedReads = 8;

// A server may send this much, and that many bytes for each byte of an answer. The framing of single bytes takes 40.
// The rest is for what is under way when a stream is cancelled, and for pings.
constexpr std::size_t kMaxSurplus = 4U << 20U;
constexpr std::size_t kOverhead = 64;

int context_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

int bio_type() {
  static const int type = BIO_get_new_index() | BIO_TYPE_FILTER;
  return type;
}

}  // namespace

bool ReadBudget::is_available() {
  static const bool available = [] {
    // Another copy of OpenSSL in curl would have other objects behind the same types.
    const char* const library = curl_version_info(CURLVERSION_NOW)->ssl_version;
    const std::string own = std::string("OpenSSL/") + OpenSSL_version(OPENSSL_VERSION_STRING);
    return library != nullptr && library == own && method() != nullptr;
  }();
  return available;
}

void ReadBudget::apply_to(CURL* easy) {
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, &ReadBudget::on_context);
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, this);
}

void ReadBudget::count_answer(std::size_t bytes) {
  turn_.answer_cost += bytes + kPieceCost;
  if (reading_ == nullptr) return;
  reading_->surplus -= std::min(reading_->surplus, bytes * kOverhead);
}

bool ReadBudget::is_used_up() const { return turn_.bytes_read >= kMaxTurnBytes || turn_.answer_cost >= kMaxTurnBytes; }

bool ReadBudget::take_flooded() {
  const bool flooded = flooded_;
  flooded_ = false;
  return flooded;
}

CURLcode ReadBudget::on_context(CURL*, void* context, void* self) {
  auto* const ssl_context = static_cast<SSL_CTX*>(context);
  if (SSL_CTX_set_ex_data(ssl_context, context_index(), self) != 1) return CURLE_OUT_OF_MEMORY;
  SSL_CTX_set_info_callback(ssl_context, &ReadBudget::on_state);
  return CURLE_OK;
}

void ReadBudget::on_state(const SSL* ssl, int where, int) {
  if ((where & SSL_CB_HANDSHAKE_START) == 0) return;
  BIO* const input = SSL_get_rbio(ssl);
  // A second handshake on the same connection finds the BIO of the first.
  if (input == nullptr || BIO_method_type(input) == bio_type()) return;
  void* const budget = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), context_index());
  insert_below(const_cast<SSL*>(ssl), *static_cast<ReadBudget*>(budget));
}

void ReadBudget::insert_below(SSL* ssl, ReadBudget& budget) {
  BIO* const filter = BIO_new(method());
  if (filter == nullptr) return;
  auto connection = std::make_unique<Connection>();
  connection->budget = &budget;
  BIO_set_data(filter, connection.release());
  BIO_set_init(filter, 1);
  BIO* const input = SSL_get_rbio(ssl);
  BIO_up_ref(input);  // SSL_set0_rbio() releases the reference that the connection has
  SSL_set0_rbio(ssl, BIO_push(filter, input));
}

const BIO_METHOD* ReadBudget::make_method() {
  BIO_METHOD* const made = BIO_meth_new(bio_type(), "allm read budget");
  if (made == nullptr) return nullptr;
  BIO_meth_set_read(made, &ReadBudget::read);
  BIO_meth_set_ctrl(made, &ReadBudget::control);
  BIO_meth_set_destroy(made, &ReadBudget::destroy);
  return made;
}

const BIO_METHOD* ReadBudget::method() {
  static const BIO_METHOD* const made = make_method();  // never freed: connections may be closed at exit
  return made;
}

int ReadBudget::read(BIO* bio, char* data, int size) {
  Connection& connection = *static_cast<Connection*>(BIO_get_data(bio));
  ReadBudget& budget = *connection.budget;
  BIO_clear_retry_flags(bio);
  if (!budget.may_read(connection)) {
    BIO_set_retry_read(bio);
    return -1;
  }
  const int count = BIO_read(BIO_next(bio), data, size);
  BIO_copy_next_retry(bio);
  if (count > 0 && budget.is_flood(connection, static_cast<std::size_t>(count))) return -1;
  return count;
}

bool ReadBudget::may_read(Connection& connection) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  // curl takes an idle connection for dead if its first read has no result although something has arrived.
  const bool is_first = std::exchange(connection.turn, turn_number_) != turn_number_;
  if (is_used_up() && !is_first) return false;
  ++turn_.reads;
  if (turn_.reads < kUnwatchedReads) return true;
  if (turn_.reads == kUnwatchedReads) turn_.watched_since = now();
  return now() - turn_.watched_since < kMaxTurnTime;
}

bool ReadBudget::is_flood(Connection& connection, std::size_t bytes) {
  reading_ = &connection;
  turn_.bytes_read += bytes;
  connection.surplus += bytes;
  if (connection.surplus <= kMaxSurplus) return false;
  flooded_ = true;
  return true;
}

long ReadBudget::control(BIO* bio, int command, long number, void* pointer) {
  if (command == BIO_CTRL_PUSH || command == BIO_CTRL_POP) return 0;
  BIO* const next = BIO_next(bio);
  return next == nullptr ? 0 : BIO_ctrl(next, command, number, pointer);
}

int ReadBudget::destroy(BIO* bio) {
  const std::unique_ptr<Connection> connection(static_cast<Connection*>(BIO_get_data(bio)));
  if (connection && connection->budget->reading_ == connection.get()) connection->budget->reading_ = nullptr;
  BIO_set_data(bio, nullptr);
  return 1;
}

}  // namespace allm
