#include "providers/http_adapter.hpp"

#include <chrono>
#include <utility>

#include "http/client.hpp"
#include "http/url.hpp"
#include "providers/http_source.hpp"
#include "runtime/runtime_impl.hpp"

namespace allm {
namespace {

void read_timeout(const Json& options, const char* name, std::chrono::milliseconds& timeout) {
  const auto found = options.find(name);
  if (found == options.end() || !found->is_number_integer()) return;
  const auto value = found->get<std::int64_t>();
  if (value > 0) timeout = std::chrono::milliseconds(value);
}

}  // namespace

HttpTimeouts HttpAdapter::timeouts_of(const AdapterCall& call) const {
  HttpTimeouts timeouts = options_.timeouts;
  if (call.options.is_object()) {
    read_timeout(call.options, "connect_timeout", timeouts.connect);
    read_timeout(call.options, "receive_timeout", timeouts.first_byte);
    read_timeout(call.options, "stream_timeout", timeouts.between_bytes);
    read_timeout(call.options, "request_timeout", timeouts.whole);
  }
  return timeouts;
}

Result<ApiKey> HttpAdapter::key_for(const AdapterCall& call, const std::string& url) const {
  Result<ApiKey> key = find_key(options_.key, call.api_key);
  if (!key || key->empty() || options_.allow_insecure_key || is_private_url(url)) return key;
  // A server that needs no key is not to be refused for one that happens to be in the environment.
  if (options_.key.optional && call.api_key.empty() && options_.key.configured.empty()) return ApiKey();
  return std::unexpected(
      Error(EngineError{.reason = EngineError::Reason::invalid_engine, .provider = std::string(provider())},
            "the key is not sent to " + url_host(url) +
                " without TLS: use an https URL, or set allow_insecure_key if you trust the whole way to that host"));
}

Result<std::unique_ptr<EventSource>> HttpAdapter::open(const AdapterCall& given) {
  AdapterCall call = given;
  call.request.stream = true;  // whole answers are folded from streams
  Result<HttpRequest> request = options_.codec->write(call);
  if (!request) return std::unexpected(request.error());
  Result<ApiKey> key = key_for(call, request->url);
  if (!key) return std::unexpected(key.error());
  const std::shared_ptr<Runtime>& runtime = call.runtime ? call.runtime : Runtime::process();
  auto send = [self = shared_from_this(), client = runtime->impl().service<HttpClient>(), key = *key,
               timeouts = timeouts_of(given)](HttpRequest sent) {
    const HttpAdapterOptions& options = self->options_;
    if (!key.empty()) sent.headers.push_back(options.codec->key_header(key.reveal()));
    return client->start(std::move(sent), timeouts, options.limits, options.route);
  };
  return std::make_unique<HttpSource>(options_.codec, std::move(call), *std::move(key), std::move(send),
                                      *std::move(request));
}

}  // namespace allm
