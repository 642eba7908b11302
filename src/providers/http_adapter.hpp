// The adapter of every provider that is reached over HTTP. It combines a codec, a key and the HTTP client.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "allm/adapter.hpp"

#include "engine/key_sources.hpp"
#include "http/transfer.hpp"
#include "providers/codec.hpp"
#include "providers/learned_refusals.hpp"
#include "providers/own_headers.hpp"

namespace allm {

struct HttpAdapterOptions {
  std::shared_ptr<const Codec> codec = nullptr;
  KeySources key = {};
  HttpTimeouts timeouts = {};
  HttpLimits limits = {};
  HttpRoute route = {};
  // Allows sending the key, and headers that look like one, without TLS to another machine.
  bool allow_insecure_key = false;
  // Allows sending them without TLS to a proxy.
  bool allow_key_to_proxy = false;
  // The program's own headers; see HttpOptions::headers.
  HttpHeaders headers = {};
};

// Safe to call from any thread. Must be made by make_shared.
class HttpAdapter : public Adapter, public std::enable_shared_from_this<HttpAdapter> {
 public:
  explicit HttpAdapter(HttpAdapterOptions options) : options_(std::move(options)), headers_(options_.headers) {}

  std::string_view provider() const override { return options_.codec->provider(); }
  Result<std::unique_ptr<EventSource>> open(const AdapterCall& call) override;

 private:
  // Whether the secret may be sent to the URL, by the way that it would take.
  Status may_send(const std::string& secret, const std::string& url) const;
  // Checks that the headers can be sent, and that the URL may receive those that look like keys.
  Status check_headers_for(const HttpRequest& request) const;
  // The key to send to this URL; empty if none is needed.
  Result<ApiKey> key_for(const AdapterCall& call, const std::string& url) const;
  // The timeouts of this call.
  Result<HttpTimeouts> timeouts_of(const AdapterCall& call) const;
  // An error of an exchange with that URL: with facts about the exchange and without secrets.
  Error completed(const Error& error, const std::string& url, int status, const ApiKey& key) const;
  // Opens a call whose model has the rules of its refused settings.
  Result<std::unique_ptr<EventSource>> open_known(const AdapterCall& call);

  const HttpAdapterOptions options_;
  const OwnHeaders headers_;
  LearnedRefusals learned_;
};

}  // namespace allm
