#include "providers/http_adapter.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "http/client.hpp"
#include "http/proxy.hpp"
#include "http/url.hpp"
#include "providers/http_source.hpp"
#include "providers/provider_errors.hpp"
#include "providers/redact.hpp"
#include "providers/refused_settings.hpp"
#include "runtime/runtime_impl.hpp"

namespace allm {
namespace {

Status read_timeout(const Json& options, const char* name, std::chrono::milliseconds& timeout) {
  const auto found = options.find(name);
  if (found == options.end() || found->is_null()) return {};
  if (!found->is_number_integer() || found->get<std::int64_t>() < 1) {
    return std::unexpected(
        validation_error(ValidationError::Reason::invalid_option, {std::string(name)}, "invalid_value",
                         std::string("invalid option: ") + name + " must be a number of milliseconds, at least 1"));
  }
  timeout = std::chrono::milliseconds(found->get<std::int64_t>());
  return {};
}

Error not_sent(std::string_view provider, const std::string& message) {
  return Error(EngineError{.reason = EngineError::Reason::invalid_engine, .provider = std::string(provider)}, message);
}

Error invalid_key() {
  return validation_error(ValidationError::Reason::invalid_option, {std::string("api_key")}, "invalid_value",
                          "invalid option: the key has a line break or another control character: remove it");
}

}  // namespace

Result<HttpTimeouts> HttpAdapter::timeouts_of(const AdapterCall& call) const {
  HttpTimeouts timeouts = options_.timeouts;
  // The call's options come last and take precedence.
  for (const Json* options : {&call.request.options, &call.options}) {
    if (!options->is_object() || options->empty()) continue;
    for (const auto& [name, timeout] :
         {std::pair{"connect_timeout", &timeouts.connect}, std::pair{"receive_timeout", &timeouts.receive},
          std::pair{"stream_timeout", &timeouts.stream}, std::pair{"request_timeout", &timeouts.request}}) {
      if (const Status read = read_timeout(*options, name, *timeout); !read) return std::unexpected(read.error());
    }
  }
  // A whole answer does not arrive piece by piece: nothing may come until the model has finished.
  if (answer_form(call) == AnswerForm::whole) timeouts.stream = std::max(timeouts.stream, timeouts.receive);
  return timeouts;
}

Status HttpAdapter::may_send(const std::string& secret, const std::string& url) const {
  if (!options_.allow_insecure_key && !is_private_url(url)) {
    return std::unexpected(not_sent(
        provider(),
        secret + " is not sent to " + url_host(url) +
            " without TLS: use an https URL, or set allow_insecure_key if you trust the whole way to that host"));
  }
  if (!options_.allow_key_to_proxy && may_be_read_by_proxy(url, options_.route)) {
    return std::unexpected(not_sent(
        provider(), secret + " is not sent to " + url_host(url) +
                        " through a proxy without TLS: use an https URL, exclude the host with no_proxy, or set "
                        "allow_key_to_proxy if you trust the proxy and the way to it"));
  }
  return {};
}

Status HttpAdapter::check_headers_for(const HttpRequest& request) const {
  if (Status valid = headers_.check(); !valid) return valid;
  if (Status valid = check_values(request.headers); !valid) return valid;
  if (has_credentials(request.url)) {
    if (Status allowed = may_send("the password in the URL", request.url); !allowed) return allowed;
  }
  if (!headers_.has_secret()) return {};
  return may_send("the header " + headers_.secret_name(), request.url);
}

Result<ApiKey> HttpAdapter::key_for(const AdapterCall& call, const std::string& url) const {
  if (headers_.has(options_.codec->key_header("").name)) return ApiKey();
  Result<ApiKey> key = find_key(options_.key, call.api_key);
  if (!key || key->empty()) return key;
  if (!is_header_value(key->reveal())) return std::unexpected(invalid_key());
  const Status allowed = may_send("the key", url);
  if (allowed) return key;
  // A server that needs no key must not fail because of an unrelated key in the environment.
  if (options_.key.optional && call.api_key.empty() && options_.key.configured.empty()) return ApiKey();
  return std::unexpected(allowed.error());
}

Error HttpAdapter::completed(const Error& error, const std::string& url, int status, const ApiKey& key) const {
  Json facts = {{"provider", provider()}, {"url", url}};
  if (status != 0) facts["http_status"] = status;
  return headers_.without_secrets(without_key(with_metadata(error, facts), key.reveal()));
}

Result<std::unique_ptr<EventSource>> HttpAdapter::open(const AdapterCall& call) {
  const std::optional<ModelRef>& model = call.model ? call.model : call.request.model;
  const std::vector<std::string> refused = learned_.of(model ? model->id : "");
  if (refused.empty()) return open_known(call);
  AdapterCall known = call;
  known.model = model.value_or(ModelRef());
  if (!known.model->refuses.is_object()) known.model->refuses = Json::object();
  for (const std::string& setting : refused) known.model->refuses[setting] = Json::object();
  return open_known(known);
}

Result<std::unique_ptr<EventSource>> HttpAdapter::open_known(const AdapterCall& call) {
  const Result<HttpTimeouts> timeouts = timeouts_of(call);
  if (!timeouts) return std::unexpected(timeouts.error());
  Result<HttpRequest> request = options_.codec->write(call);
  if (!request) return std::unexpected(request.error());
  if (const Status allowed = check_headers_for(*request); !allowed) return std::unexpected(allowed.error());
  Result<ApiKey> key = key_for(call, request->url);
  if (!key) return std::unexpected(key.error());
  const std::shared_ptr<Runtime>& runtime = call.runtime ? call.runtime : Runtime::process();
  auto send = [self = shared_from_this(), client = RuntimeAccess::impl(*runtime).service<HttpClient>(), key = *key,
               timeouts = *timeouts](HttpRequest sent) {
    const HttpAdapterOptions& options = self->options_;
    if (!key.empty()) sent.headers.push_back(options.codec->key_header(key.reveal()));
    self->headers_.add_to(sent.headers);
    return client->start(std::move(sent), timeouts, options.limits, options.route);
  };
  auto complete_error = [self = shared_from_this(), key = *std::move(key), url = redact(shown_url(request->url))](
                            const Error& error, int status) { return self->completed(error, url, status, key); };
  const std::optional<ModelRef>& model = call.model ? call.model : call.request.model;
  auto on_left_out = [self = shared_from_this(), warn = call.warn,
                      name = model ? model->id : std::string()](const std::string& setting) {
    self->learned_.add(name, setting);
    if (warn) warn(left_out_warning(setting, name, "the server refused it; the request was sent again without it"));
  };
  return std::make_unique<HttpSource>(options_.codec, options_.codec->decoding(call), std::move(complete_error),
                                      runtime, std::move(send), std::move(on_left_out), call.warn, *std::move(request),
                                      DecoderLimits{.max_body_bytes = options_.limits.max_body_bytes,
                                                    .max_event_bytes = options_.limits.max_event_bytes,
                                                    .answer = call.limits});
}

}  // namespace allm
