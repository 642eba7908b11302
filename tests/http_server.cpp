#include "tests/http_server.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "tests/http2_frames.hpp"

namespace allm::testing {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

Owned<EVP_PKEY> make_key() { return Owned<EVP_PKEY>(EVP_EC_gen("P-256")); }

void add_extension(X509* certificate, X509* issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
  if (extension == nullptr) throw std::runtime_error(std::string("bad extension: ") + value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Owned<X509> make_certificate(EVP_PKEY* key, const char* name, X509* issuer, EVP_PKEY* issuer_key, long serial) {
  Owned<X509> certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 24 * 3600);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509* const parent = issuer == nullptr ? certificate.get() : issuer;
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(parent));
  if (issuer == nullptr) {
    add_extension(certificate.get(), parent, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(certificate.get(), parent, NID_key_usage, "critical,keyCertSign,cRLSign");
  } else {
    add_extension(certificate.get(), parent, NID_subject_alt_name,
                  (std::string("DNS:") + name + (std::string(name) == "localhost" ? ",IP:127.0.0.1" : "")).c_str());
  }
  X509_sign(certificate.get(), issuer_key, EVP_sha256());
  return certificate;
}

// Certificate files in a temporary folder, which the destructor removes.
class Certificates {
 public:
  explicit Certificates(const std::string& host) {
    std::string name = (std::filesystem::temp_directory_path() / "allm-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
    const Owned<EVP_PKEY> ca_key = make_key();
    const Owned<X509> ca = make_certificate(ca_key.get(), "allm test authority", nullptr, ca_key.get(), 1);
    const Owned<EVP_PKEY> key = make_key();
    const Owned<X509> certificate = make_certificate(key.get(), host.c_str(), ca.get(), ca_key.get(), 2);
    PEM_write_X509(open("ca.pem").get(), ca.get());
    PEM_write_X509(open("server.pem").get(), certificate.get());
    PEM_write_PrivateKey(open("server.key").get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  }
  ~Certificates() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;
  std::string path(const char* name) const { return (folder_ / name).string(); }

 private:
  Owned<std::FILE> open(const char* name) const { return Owned<std::FILE>(std::fopen(path(name).c_str(), "w")); }
  std::filesystem::path folder_;
};

int choose_http2(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char*, unsigned, void*) {
  static constexpr unsigned char kName[] = {'h', '2'};
  *chosen = kName;
  *size = sizeof kName;
  return SSL_TLSEXT_ERR_OK;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

std::string ServedRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

void Reply::send(int status, std::string_view content_type, std::string_view body,
                 const std::vector<std::pair<std::string, std::string>>& headers) {
  std::string text = "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: " + std::string(content_type) +
                     "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  write(text + "\r\n" + std::string(body));
}

void Reply::begin(int status, std::string_view content_type) {
  write("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: " + std::string(content_type) +
        "\r\nTransfer-Encoding: chunked\r\n\r\n");
}

void Reply::chunk(std::string_view bytes) {
  if (bytes.empty()) return;
  std::array<char, 20> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
  write(std::string(size.data()) + std::string(bytes) + "\r\n");
}

void Reply::end() { write("0\r\n\r\n"); }

class HttpServer::Impl {
 public:
  Impl(Handler handler, Options options) : handler_(std::move(handler)), options_(options), files_(options.host) {
    if (options.tls) {
      context_.reset(SSL_CTX_new(TLS_server_method()));
      SSL_CTX_use_certificate_chain_file(context_.get(), files_.path("server.pem").c_str());
      SSL_CTX_use_PrivateKey_file(context_.get(), files_.path("server.key").c_str(), SSL_FILETYPE_PEM);
      if (options.http2) SSL_CTX_set_alpn_select_cb(context_.get(), &choose_http2, nullptr);
    }
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 1024) != 0) {
      throw std::runtime_error("the test server cannot listen");
    }
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }

  ~Impl() {
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    close(listener_);
    std::vector<std::thread> threads;
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) shutdown(fd, SHUT_RDWR);
      threads.swap(threads_);
    }
    for (std::thread& thread : threads) thread.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const Certificates& files() const { return files_; }
  const Options& options() const { return options_; }
  std::uint16_t port() const { return port_; }
  std::atomic<std::size_t> connections = 0;
  std::atomic<std::size_t> requests = 0;

 private:
  class Connection : public Reply {
   public:
    Connection(int fd, SSL_CTX* context) : fd_(fd) {
      if (context == nullptr) return;
      ssl_.reset(SSL_new(context));
      SSL_set_fd(ssl_.get(), fd);
      cut_ = SSL_accept(ssl_.get()) != 1;
    }
    void write(std::string_view bytes) override {
      while (!cut_ && !bytes.empty()) {
        const int most = static_cast<int>(std::min<std::size_t>(bytes.size(), 1U << 20U));
        const auto count =
            ssl_ ? SSL_write(ssl_.get(), bytes.data(), most)
                 : static_cast<int>(::send(fd_, bytes.data(), static_cast<std::size_t>(most), MSG_NOSIGNAL));
        if (count <= 0) {
          cut_ = true;
          return;
        }
        bytes.remove_prefix(static_cast<std::size_t>(count));
      }
    }
    bool gone() override {
      if (cut_) return true;
      // Not recv: the last bytes, TLS's close_notify, may still be unread.
      pollfd poll_for{.fd = fd_, .events = POLLRDHUP, .revents = 0};
      return poll(&poll_for, 1, 0) > 0 && (poll_for.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
    }
    void cut() override {
      shutdown(fd_, SHUT_RDWR);
      cut_ = true;
    }
    void discard_input() override {
      pollfd poll_for{.fd = fd_, .events = POLLIN, .revents = 0};
      while (!cut_ && ((ssl_ && SSL_pending(ssl_.get()) > 0) || poll(&poll_for, 1, 0) > 0)) cut_ = !fill();
      buffer_.clear();
    }
    bool is_cut() const { return cut_; }

    // Reads frames until a stream begins. Returns false at the end of the connection.
    bool read_http2(ServedRequest& request) {
      if (!greeted_) {
        if (!fill_to(http2::kPreface.size())) return false;
        buffer_.erase(0, http2::kPreface.size());
        write(http2::settings() + http2::settings_ack());
        greeted_ = true;
      }
      while (true) {
        if (!fill_to(http2::kHeadSize)) return false;
        const http2::Head head = http2::read_head(buffer_);
        if (!fill_to(http2::kHeadSize + head.size)) return false;
        buffer_.erase(0, http2::kHeadSize + head.size);
        request.stream = head.stream;
        if (head.kind == http2::kHeaders) return true;
      }
    }

    // Returns false at the end of the connection.
    bool read(ServedRequest& request) {
      std::size_t end = std::string::npos;
      while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
        if (!fill()) return false;
      }
      parse_head(std::string_view(buffer_).substr(0, end), request);
      buffer_.erase(0, end + 4);
      const std::string length = request.header("content-length");
      const std::size_t size = length.empty() ? 0 : std::stoul(length);
      while (buffer_.size() < size) {
        if (!fill()) return false;
      }
      request.body = buffer_.substr(0, size);
      buffer_.erase(0, size);
      return true;
    }

   private:
    bool fill_to(std::size_t size) {
      while (buffer_.size() < size) {
        if (!fill()) return false;
      }
      return true;
    }
    bool fill() {
      std::array<char, 16384> bytes{};
      const auto count = ssl_ ? SSL_read(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                              : static_cast<int>(recv(fd_, bytes.data(), bytes.size(), 0));
      if (count <= 0) return false;
      buffer_.append(bytes.data(), static_cast<std::size_t>(count));
      return true;
    }
    static void parse_head(std::string_view head, ServedRequest& request) {
      const std::size_t line = head.find("\r\n");
      const std::string_view first = head.substr(0, line);
      const std::size_t begin = first.find(' ') + 1;
      request.target = first.substr(begin, first.rfind(' ') - begin);
      std::string_view rest = line == std::string_view::npos ? std::string_view() : head.substr(line + 2);
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find("\r\n"), rest.size());
        const std::string_view field = rest.substr(0, end);
        const std::size_t colon = field.find(':');
        request.headers.emplace_back(lower(std::string(field.substr(0, colon))),
                                     std::string(field.substr(std::min(colon + 2, field.size()))));
        rest.remove_prefix(std::min(end + 2, rest.size()));
      }
    }

    int fd_;
    Owned<SSL> ssl_;
    bool cut_ = false;
    bool greeted_ = false;  // HTTP/2: the settings were exchanged
    std::string buffer_;
  };

  void accept_all() {
    // Clients may close the connection at any time. SIGPIPE is blocked only in this thread and those that it starts,
    // because the library itself must never raise it.
    sigset_t gone;
    sigemptyset(&gone);
    sigaddset(&gone, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &gone, nullptr);
    while (true) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      ++connections;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      threads_.emplace_back([this, fd] { serve(fd); });
    }
  }

  void serve(int fd) {
    {
      Connection connection(fd, context_.get());
      while (!connection.is_cut()) {
        ServedRequest request;
        if (!(options_.http2 ? connection.read_http2(request) : connection.read(request))) break;
        handler_(request, connection);
        ++requests;
      }
    }
    const std::lock_guard lock(mutex_);
    std::erase(open_, fd);
    close(fd);
  }

  Handler handler_;
  const Options options_;
  const Certificates files_;
  Owned<SSL_CTX> context_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::thread acceptor_;
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
};

HttpServer::HttpServer(Handler handler, Options options)
    : impl_(std::make_shared<Impl>(std::move(handler), std::move(options))) {}
HttpServer::~HttpServer() = default;

std::string HttpServer::url() const {
  return (impl_->options().tls ? "https://localhost:" : "http://127.0.0.1:") + std::to_string(impl_->port());
}
std::uint16_t HttpServer::port() const { return impl_->port(); }
std::string HttpServer::ca_file() const { return impl_->files().path("ca.pem"); }
std::string HttpServer::certificate_file() const { return impl_->files().path("server.pem"); }
std::string HttpServer::key_file() const { return impl_->files().path("server.key"); }
std::size_t HttpServer::connections() const { return impl_->connections; }
std::size_t HttpServer::requests() const { return impl_->requests; }

}  // namespace allm::testing
