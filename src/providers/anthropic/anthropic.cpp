#include "providers/anthropic/anthropic.hpp"

#include <optional>
#include <utility>

#include "providers/anthropic/body.hpp"
#include "providers/anthropic/errors.hpp"
#include "providers/anthropic/request.hpp"
#include "providers/anthropic/stream.hpp"
#include "providers/anthropic/structured.hpp"
#include "providers/call_settings.hpp"
#include "providers/provider_errors.hpp"
#include "providers/refused_settings.hpp"

namespace allm {
namespace {

class AnthropicCodec final : public Codec {
 public:
  explicit AnthropicCodec(AnthropicCodecOptions options) : options_(std::move(options)) {}

  std::string_view provider() const override { return kAnthropic; }

  using Codec::write;
  Result<HttpRequest> write(const AdapterCall& call, AnswerForm form) const override {
    const Result<Json> body = anthropic_body(options_, call, form);
    if (!body) return std::unexpected(body.error());
    Result<std::string> text = write_json(*body);
    if (!text) return std::unexpected(std::move(text).error());
    return HttpRequest{
        .url = joined_url(options_.base_url, "messages"), .headers = headers(), .body = *std::move(text)};
  }

  HttpHeader key_header(std::string_view key) const override { return {"x-api-key", std::string(key)}; }

  DecoderMaker decoding(const AdapterCall& call) const override {
    const Result<AnthropicStructure> structure = anthropic_structure(options_, call, provider_settings(call));
    return [tool_name = structure ? structure->tool_name : std::string(), raw_chunks = call.include_raw_chunks,
            form = answer_form(call)](const HttpResponseHead& head) -> std::unique_ptr<BodyDecoder> {
      AnthropicAnswer answer(tool_name, provider_request_id(head.headers));
      if (is_whole_response(head, form)) return std::make_unique<AnthropicBody>(std::move(answer), head, raw_chunks);
      return std::make_unique<AnthropicStream>(std::move(answer), head, raw_chunks);
    };
  }

  Error error(const HttpResponseHead& head, std::string_view body) const override {
    return anthropic_error(head, body);
  }

  std::optional<FallbackRequest> fallback_request(const HttpRequest& sent, const HttpResponseHead& head,
                                                  std::string_view body) const override {
    return without_refused_setting(sent, headers(), head, body);
  }

 private:
  HttpHeaders headers() const {
    HttpHeaders headers = {{"content-type", "application/json"}, {"anthropic-version", options_.version}};
    if (!options_.beta.empty()) headers.push_back({"anthropic-beta", beta_features()});
    return headers;
  }

  std::string beta_features() const {
    std::string joined;
    for (const std::string& feature : options_.beta) joined += (joined.empty() ? "" : ",") + feature;
    return joined;
  }

  AnthropicCodecOptions options_;
};

}  // namespace

std::shared_ptr<const Codec> anthropic_codec(AnthropicCodecOptions options) {
  return std::make_shared<AnthropicCodec>(std::move(options));
}

}  // namespace allm
