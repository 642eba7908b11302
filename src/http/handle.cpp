#include "http/handle.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "data/ascii.hpp"
#include "http/proxy.hpp"
#include "http/url.hpp"

namespace allm {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How long a body that nobody reads is drained, and how much of it, so that its connection can be reused.
constexpr milliseconds kMaxDrain{1'000};
constexpr std::size_t kMaxDrainBytes = 256U << 10U;

// A small answer may be compressed as much as it can be. A larger one is compressed that much only to fill memory.
constexpr std::size_t kMaxFreeInflation = 8U << 20U;
constexpr std::size_t kMaxInflation = 200;

std::string seconds(milliseconds time) { return fmt::format("{:g} s", static_cast<double>(time.count()) / 1000.0); }

steady_clock::time_point after(steady_clock::time_point start, milliseconds time) {
  if (time.count() <= 0) return steady_clock::time_point::max();
  const auto left = std::chrono::duration_cast<milliseconds>(steady_clock::time_point::max() - start);
  return time < left ? start + time : steady_clock::time_point::max();
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool is_permanent(CURLcode result) {
  return result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_URL_MALFORMAT ||
         result == CURLE_UNSUPPORTED_PROTOCOL || result == CURLE_SSL_CACERT_BADFILE || result == CURLE_SSL_CERTPROBLEM;
}

void wipe(std::string& text) { explicit_bzero(text.data(), text.size()); }

}  // namespace

// Which certificates are trusted. Empty: curl's default.
struct HttpHandle::Trust {
  std::string ca_file;
  std::string ca_folder;
};

HttpHandle::Trust HttpHandle::trust_of(const HttpRoute& route) {
  if (!route.ca_file.empty()) return {.ca_file = route.ca_file, .ca_folder = {}};
  std::string ca_file = environment("CURL_CA_BUNDLE");
  if (ca_file.empty()) ca_file = environment("SSL_CERT_FILE");
  return {.ca_file = std::move(ca_file), .ca_folder = environment("SSL_CERT_DIR")};
}

HttpHandle::HttpHandle(HttpRequest request, const HttpTimeouts& timeouts, const HttpLimits& limits,
                       const HttpRoute& route, std::shared_ptr<SpareHandles> spares)
    : request_(std::move(request)),
      timeouts_(timeouts),
      limits_(limits),
      received_(limits.max_buffered_bytes),
      spares_(std::move(spares)) {
  const Trust trust = trust_of(route);
  const std::optional<std::string> proxy = curl_proxy(request_.url, route);
  settings_ =
      fmt::format("{}\n{}\n{}\n{}", trust.ca_file, trust.ca_folder, proxy.value_or("environment"), request_.url);
  handle_ = SpareHandles::is_safe() ? spares_->take(settings_) : spares_->copy(settings_);
  if (!handle_) {
    handle_.easy.reset(curl_easy_init());
    if (!handle_) return;
    set_route(trust, proxy);
    set_url();
    if (!SpareHandles::is_safe()) spares_->keep_copy(handle_, settings_);
  }
  // With a parsed URL, curl's first exchange of a handle would write this text itself, which takes longer than to copy
  // it.
  if (!SpareHandles::is_safe()) curl_easy_setopt(easy(), CURLOPT_URL, request_.url.c_str());
  set_exchange();
}

HttpHandle::~HttpHandle() {
  if (handle_) {
    clear_exchange();
    if (ended_well_ && SpareHandles::is_safe()) spares_->keep(std::move(handle_), std::move(settings_));
  }
  // One of the headers carries the API key.
  for (curl_slist* item = header_list_; item != nullptr; item = item->next) {
    explicit_bzero(item->data, std::strlen(item->data));
  }
  curl_slist_free_all(header_list_);
  for (HttpHeader& header : request_.headers) wipe(header.value);
}

void HttpHandle::set_route(const Trust& trust, const std::optional<std::string>& proxy) {
  curl_easy_setopt(easy(), CURLOPT_PROTOCOLS_STR, "http,https");
  // A redirect could send the conversation, and the key, to somebody else.
  curl_easy_setopt(easy(), CURLOPT_FOLLOWLOCATION, 0L);
  const auto version = ReadBudget::is_available() ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1;
  curl_easy_setopt(easy(), CURLOPT_HTTP_VERSION, static_cast<long>(version));
  curl_easy_setopt(easy(), CURLOPT_PIPEWAIT, 1L);
  curl_easy_setopt(easy(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy(), CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy(), CURLOPT_ACCEPT_ENCODING, "");
  curl_easy_setopt(easy(), CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy(), CURLOPT_POST, 1L);
  // curl keeps this buffer until the response is complete, so it is as small as curl allows: a quarter of the default.
  curl_easy_setopt(easy(), CURLOPT_UPLOAD_BUFFERSIZE, 16384L);
  // Without TLS, curl reads up to a hundred such buffers before it returns.
  if (!is_https_url(request_.url)) curl_easy_setopt(easy(), CURLOPT_BUFFERSIZE, 4096L);
  curl_easy_setopt(easy(), CURLOPT_HEADERFUNCTION, &HttpHandle::on_header);
  curl_easy_setopt(easy(), CURLOPT_WRITEFUNCTION, &HttpHandle::on_body);
  if (!trust.ca_file.empty()) curl_easy_setopt(easy(), CURLOPT_CAINFO, trust.ca_file.c_str());
  if (!trust.ca_folder.empty()) curl_easy_setopt(easy(), CURLOPT_CAPATH, trust.ca_folder.c_str());
  if (proxy) curl_easy_setopt(easy(), CURLOPT_PROXY, proxy->c_str());
}

void HttpHandle::set_url() {
  handle_.url.reset(curl_url(), &curl_url_cleanup);
  // Parsed as curl parses CURLOPT_URL. A URL that cannot be parsed is given to CURLOPT_URL, for curl's error message.
  constexpr unsigned kLikeCurl = CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME;
  const bool is_read = curl_url_set(handle_.url.get(), CURLUPART_URL, request_.url.c_str(), kLikeCurl) == CURLUE_OK;
  // curl before 8.3 loses the zone of an IPv6 address in a parsed URL.
  if (is_read && request_.url.find('%') == std::string::npos) {
    curl_easy_setopt(easy(), CURLOPT_CURLU, handle_.url.get());
  } else {
    curl_easy_setopt(easy(), CURLOPT_URL, request_.url.c_str());
  }
}

void HttpHandle::set_exchange() {
  for (const HttpHeader& header : request_.headers) {
    // With a colon and no value, curl would leave the header out.
    std::string line = header.value.empty() ? header.name + ";" : header.name + ": " + header.value;
    header_list_ = curl_slist_append(header_list_, line.c_str());
    wipe(line);
  }
  // Otherwise curl sends "Expect: 100-continue" before a large body and waits a second for the answer.
  header_list_ = curl_slist_append(header_list_, "Expect:");
  curl_easy_setopt(easy(), CURLOPT_HTTPHEADER, header_list_);
  curl_easy_setopt(easy(), CURLOPT_POSTFIELDS, request_.body.data());
  curl_easy_setopt(easy(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
  curl_easy_setopt(easy(), CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(timeouts_.connect.count()));
  curl_easy_setopt(easy(), CURLOPT_ERRORBUFFER, error_text_);
  curl_easy_setopt(easy(), CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy(), CURLOPT_WRITEDATA, this);
}

void HttpHandle::clear_exchange() {
  curl_easy_setopt(easy(), CURLOPT_HTTPHEADER, nullptr);
  curl_easy_setopt(easy(), CURLOPT_POSTFIELDS, nullptr);
  curl_easy_setopt(easy(), CURLOPT_ERRORBUFFER, nullptr);
  curl_easy_setopt(easy(), CURLOPT_HEADERDATA, nullptr);
  curl_easy_setopt(easy(), CURLOPT_WRITEDATA, nullptr);
}

std::size_t HttpHandle::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  return static_cast<HttpHandle*>(self)->header_line({data, size * count});
}

std::size_t HttpHandle::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  return static_cast<HttpHandle*>(self)->body({data, size * count});
}

std::size_t HttpHandle::header_line(std::string_view line) {
  budget_->count_answer(line.size());
  header_bytes_ += line.size();
  if (header_bytes_ > limits_.max_header_bytes) {
    too_large_ = fmt::format("its headers exceed {} bytes", limits_.max_header_bytes);
    return 0;
  }
  if (head_given_) return line.size();  // a trailer
  if (line.starts_with("HTTP/")) {
    // Each interim response (100, 103) is followed by another head.
    head_ = {};
    return line.size();
  }
  const std::string_view text = trimmed(line);
  if (text.empty()) {
    long status = 0;
    curl_easy_getinfo(easy(), CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200) {
      head_.status = static_cast<int>(status);
      head_given_ = true;
      hear();
      received_.put_head(std::move(head_));
    }
    return line.size();
  }
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    head_.headers.push_back(
        {std::string(trimmed(text.substr(0, colon))), std::string(trimmed(text.substr(colon + 1)))});
  }
  return line.size();
}

std::size_t HttpHandle::body(std::string_view bytes) {
  budget_->count_answer(bytes.size());
  hear();
  pause_if_turn_is_over();
  if (!count_body(bytes.size())) return 0;
  if (discarding_) return bytes.size();
  // All is accepted, and the transfer is paused afterwards: if curl were paused in this call, it would unpack the rest
  // of what it has received into a buffer of its own.
  if (!received_.put_bytes(bytes)) is_full_ = true;
  return bytes.size();
}

bool HttpHandle::count_body(std::size_t bytes) {
  if (discarding_) {
    drained_bytes_ += bytes;
    return drained_bytes_ <= kMaxDrainBytes;
  }
  if (bytes > limits_.max_body_bytes - body_bytes_) {
    too_large_ = fmt::format("its body exceeds {} bytes", limits_.max_body_bytes);
    return false;
  }
  body_bytes_ += bytes;
  if (body_bytes_ <= kMaxFreeInflation) return true;
  curl_off_t received = 0;
  curl_easy_getinfo(easy(), CURLINFO_SIZE_DOWNLOAD_T, &received);
  // curl counts a piece of a chunked body after it was passed on.
  const std::size_t compressed = static_cast<std::size_t>(received) + CURL_MAX_WRITE_SIZE;
  if (body_bytes_ / kMaxInflation <= compressed) return true;
  too_large_ = fmt::format("its body unpacks to more than {} times its compressed size", kMaxInflation);
  return false;
}

void HttpHandle::start(ReadBudget& budget, std::vector<CURL*>& heard) {
  heard_ = started_ = steady_clock::now();
  budget_ = &budget;
  heard_in_turn_ = &heard;
  if (easy() != nullptr && ReadBudget::is_available()) budget.apply_to(easy());
}

void HttpHandle::hear() {
  if (is_heard_) return;
  is_heard_ = true;
  heard_in_turn_->push_back(easy());
}

void HttpHandle::pause_if_turn_is_over() {
  if (is_turn_over_ || !budget_->is_used_up() || is_https_url(request_.url)) return;
  is_turn_over_ = true;
  // curl keeps the rest of the buffer that it has read. In both directions, or curl would read once more.
  curl_easy_pause(easy(), CURLPAUSE_ALL);
}

HttpHandle::AfterTurn HttpHandle::end_turn() {
  is_heard_ = false;
  heard_ = steady_clock::now();
  received_.wake();
  const bool is_turn_over = std::exchange(is_turn_over_, false);
  if (std::exchange(is_full_, false)) return AfterTurn::pause;
  return is_turn_over ? AfterTurn::resume : AfterTurn::go_on;
}

void HttpHandle::touch() { heard_ = steady_clock::now(); }

void HttpHandle::discard() {
  discarding_ = true;
  discarded_ = steady_clock::now();
}

bool HttpHandle::blocks(const HttpHandle& other) const {
  if (!discarding_ || request_.url != other.request_.url) return false;
  long version = 0;
  curl_easy_getinfo(easy(), CURLINFO_HTTP_VERSION, &version);
  return version == CURL_HTTP_VERSION_1_1;
}

steady_clock::time_point HttpHandle::deadline() const {
  if (discarding_) return discarded_ + kMaxDrain;
  // Interim responses and single headers do not extend the time for the head.
  const auto answer = head_given_ ? after(heard_, timeouts_.stream) : after(started_, timeouts_.receive);
  return std::min(answer, after(started_, timeouts_.request));
}

steady_clock::time_point HttpHandle::next_check() const {
  if (head_given_ || discarding_) return deadline();
  return std::min(deadline(), after(steady_clock::now(), timeouts_.stream));
}

HttpError HttpHandle::timeout() const {
  std::string message;
  if (after(started_, timeouts_.request) <= steady_clock::now()) {
    message = "the request took longer than " + seconds(timeouts_.request);
  } else if (head_given_) {
    message = "the server sent nothing for " + seconds(timeouts_.stream);
  } else {
    message = "the server did not answer within " + seconds(timeouts_.receive);
  }
  return {HttpError::Kind::timeout, std::move(message)};
}

std::string HttpHandle::network_error_text(CURLcode result) const {
  if (result == CURLE_OK) return "the connection ended before the answer began";
  std::string detail = error_text_[0] != '\0' ? error_text_ : curl_easy_strerror(result);
  // OpenSSL's messages do not always say what failed.
  if (result == CURLE_PEER_FAILED_VERIFICATION) return "the server's certificate was not accepted: " + detail;
  if (result == CURLE_SSL_CONNECT_ERROR) return "no TLS connection could be made: " + detail;
  return detail;
}

void HttpHandle::finish(CURLcode result, bool flooded) {
  ended_well_ = result == CURLE_OK && head_given_;
  if (ended_well_) return received_.put_end(std::nullopt);
  if (!too_large_.empty()) {
    return received_.put_end(HttpError{HttpError::Kind::too_large, "the server's answer is too large: " + too_large_});
  }
  if (flooded && result != CURLE_OK) {
    return received_.put_end(HttpError{
        HttpError::Kind::too_large,
        "the server flooded the connection with data that is not part of an answer: the connection was closed"});
  }
  if (result == CURLE_OPERATION_TIMEDOUT) {
    return received_.put_end(
        HttpError{HttpError::Kind::timeout, "no connection to the server within " + seconds(timeouts_.connect)});
  }
  received_.put_end(HttpError{HttpError::Kind::network, network_error_text(result), is_permanent(result)});
}

}  // namespace allm
