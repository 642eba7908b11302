#include "providers/openai/openai.hpp"

#include <atomic>
#include <limits>
#include <utility>

#include "providers/openai/decoders.hpp"
#include "providers/openai/errors.hpp"
#include "providers/openai/request.hpp"
#include "providers/provider_errors.hpp"
#include "providers/refused_settings.hpp"

namespace allm {
namespace {

using openai_wire::Endpoint;

class OpenAiCodec final : public Codec {
 public:
  explicit OpenAiCodec(OpenAiCodecOptions options)
      : options_(std::move(options)),
        chat_url_(openai_wire::url_of(options_.base_url, "/chat/completions")),
        responses_url_(openai_wire::url_of(options_.base_url, "/responses")),
        headers_(headers()) {}

  std::string_view provider() const override { return options_.provider; }

  using Codec::write;
  Result<HttpRequest> write(const AdapterCall& call, AnswerForm form) const override {
    if (openai_wire::model_of(call).empty() && !options_.quirks.model_optional) {
      return std::unexpected(
          Error(EngineError{.reason = EngineError::Reason::missing_model, .provider = options_.provider},
                "no model is named: set EngineOptions::model, Request::model or CallOptions::model"));
    }
    const Result<Endpoint> endpoint = openai_wire::endpoint_of(call, options_);
    if (!endpoint) return std::unexpected(endpoint.error());
    const bool responses = *endpoint == Endpoint::responses;
    const auto media = sendable_media(
        call.request.messages, responses ? openai_wire::responses_rules(options_) : openai_wire::chat_rules(options_));
    if (!media) return std::unexpected(media.error());
    const openai_wire::StreamFields stream = {.stream = form == AnswerForm::stream,
                                              .stream_options = !refuses_stream_options_};
    Result<std::string> body = responses ? openai_wire::responses_body(call, options_, *media, stream)
                                         : openai_wire::chat_body(call, options_, *media, stream);
    if (!body) return std::unexpected(body.error());
    return HttpRequest{.url = responses ? responses_url_ : chat_url_, .headers = headers_, .body = *std::move(body)};
  }

  HttpHeader key_header(std::string_view key) const override {
    if (options_.quirks.api_key_header) return {.name = "api-key", .value = std::string(key)};
    return {.name = "Authorization", .value = "Bearer " + std::string(key)};
  }

  DecoderMaker decoding(const AdapterCall& call) const override {
    const bool responses = openai_wire::endpoint_of(call, options_).value_or(Endpoint::chat) == Endpoint::responses;
    return [this, responses, raw_chunks = call.include_raw_chunks, id_seed = openai_wire::id_seed_of(call),
            form = answer_form(call)](const HttpResponseHead& head) {
      openai_wire::DecoderContext context = openai_wire::context_of(head, options_, form);
      context.raw_chunks = raw_chunks;
      context.id_seed = id_seed;
      return responses ? openai_wire::responses_decoder(std::move(context))
                       : openai_wire::chat_decoder(std::move(context));
    };
  }

  Error error(const HttpResponseHead& head, std::string_view body) const override {
    return openai_wire::http_error(options_.provider, head, body);
  }

  std::optional<FallbackRequest> fallback_request(const HttpRequest& sent, const HttpResponseHead& head,
                                                  std::string_view body) const override {
    if ((head.status != 400 && head.status != 422) || !contains_word(body, "stream_options")) {
      return without_refused_setting(sent, headers_, head, body);
    }
    // Remembered, so that later requests are sent without stream_options at once, at the cost of their usage.
    refuses_stream_options_ = true;
    constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
    constexpr ReadLimits kOurs{.max_bytes = kAny, .max_string_bytes = kAny, .max_items = kAny};
    Result<Json> members = parse_json(sent.body, kOurs);
    if (!members || members->erase("stream_options") == 0) return std::nullopt;
    Result<std::string> fallback_body = write_json(*members);
    if (!fallback_body) return std::nullopt;
    return FallbackRequest{.request = {.url = sent.url, .headers = headers_, .body = *std::move(fallback_body)}};
  }

 private:
  HttpHeaders headers() const {
    HttpHeaders headers = {{.name = "Content-Type", .value = "application/json"}};
    if (options_.organization) headers.push_back({.name = "OpenAI-Organization", .value = *options_.organization});
    if (options_.project) headers.push_back({.name = "OpenAI-Project", .value = *options_.project});
    return headers;
  }

  const OpenAiCodecOptions options_;
  const std::string chat_url_;
  const std::string responses_url_;
  const HttpHeaders headers_;
  mutable std::atomic<bool> refuses_stream_options_ = false;
};

}  // namespace

std::shared_ptr<const Codec> openai_codec(OpenAiCodecOptions options) {
  return std::make_shared<OpenAiCodec>(std::move(options));
}

}  // namespace allm
