#include "providers/http_adapter.hpp"

#include <chrono>
#include <utility>

#include "http/client.hpp"
#include "http/url.hpp"
#include "providers/http_source.hpp"
#include "runtime/runtime_impl.hpp"

namespace allm {
namespace {

// Takes the setting out: it is ours, and a provider would refuse it.
Status take_timeout(Json& options, const char* name, std::chrono::milliseconds& timeout) {
  if (!options.is_object()) return {};
  const auto found = options.find(name);
  if (found == options.end()) return {};
  const Json value = std::move(*found);
  options.erase(found);
  if (value.is_null()) return {};
  if (!value.is_number_integer() || value.get<std::int64_t>() < 1) {
    return std::unexpected(
        validation_error(ValidationError::Reason::invalid_option, {std::string(name)}, "invalid_value",
                         std::string("invalid option: ") + name + " must be a number of milliseconds, at least 1"));
  }
  timeout = std::chrono::milliseconds(value.get<std::int64_t>());
  return {};
}

}  // namespace

Result<HttpTimeouts> HttpAdapter::take_timeouts(AdapterCall& call) const {
  HttpTimeouts timeouts = options_.timeouts;
  // What the call says comes last, and wins.
  for (Json* options : {&call.request.options, &call.options}) {
    for (const auto& [name, timeout] :
         {std::pair{"connect_timeout", &timeouts.connect}, std::pair{"receive_timeout", &timeouts.first_byte},
          std::pair{"stream_timeout", &timeouts.between_bytes}, std::pair{"request_timeout", &timeouts.whole}}) {
      if (const Status taken = take_timeout(*options, name, *timeout); !taken) return std::unexpected(taken.error());
    }
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
  const Result<HttpTimeouts> timeouts = take_timeouts(call);
  if (!timeouts) return std::unexpected(timeouts.error());
  Result<HttpRequest> request = options_.codec->write(call);
  if (!request) return std::unexpected(request.error());
  Result<ApiKey> key = key_for(call, request->url);
  if (!key) return std::unexpected(key.error());
  const std::shared_ptr<Runtime>& runtime = call.runtime ? call.runtime : Runtime::process();
  auto send = [self = shared_from_this(), client = runtime->impl().service<HttpClient>(), key = *key,
               timeouts = *timeouts](HttpRequest sent) {
    const HttpAdapterOptions& options = self->options_;
    if (!key.empty()) sent.headers.push_back(options.codec->key_header(key.reveal()));
    return client->start(std::move(sent), timeouts, options.limits, options.route);
  };
  return std::make_unique<HttpSource>(options_.codec, std::move(call), *std::move(key), std::move(send),
                                      *std::move(request), options_.limits.max_event_bytes);
}

}  // namespace allm
