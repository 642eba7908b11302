#include "providers/gemini/gemini.hpp"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "providers/call_settings.hpp"
#include "providers/gemini/body.hpp"
#include "providers/gemini/errors.hpp"
#include "providers/gemini/request.hpp"
#include "providers/gemini/stream.hpp"
#include "providers/refused_settings.hpp"

namespace allm {
namespace {

constexpr std::string_view kModels = "models/";

// Escapes a model's name for the path of a URL.
std::string url_path(std::string_view model) {
  std::string path;
  for (const char c : model) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/@").find(c) != std::string_view::npos;
    path += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return path;
}

// The prefix of ids for calls that came without one. It contains the number of messages, which only grows, so the ids
// differ from all others of the conversation.
std::string call_id_prefix(const AdapterCall& call) {
  constexpr std::uint64_t kPrime = 1099511628211U;
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : call.request_id) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return fmt::format("gemini-{:016x}-{}-", hash, call.request.messages.size());
}

class GeminiCodec final : public Codec {
 public:
  explicit GeminiCodec(GeminiCodecOptions options) : options_(std::move(options)) {}

  std::string_view provider() const override { return kGemini; }

  using Codec::write;
  Result<HttpRequest> write(const AdapterCall& call, AnswerForm form) const override {
    const Result<std::string> model = called_model(call, kGemini);
    if (!model) return std::unexpected(model.error());
    const Result<Json> body = gemini_body(options_, call);
    if (!body) return std::unexpected(body.error());
    Result<std::string> text = write_json(*body);
    if (!text) return std::unexpected(std::move(text).error());
    return HttpRequest{
        .url = joined_url(options_.base_url, path(*model, form)), .headers = headers(), .body = *std::move(text)};
  }

  HttpHeader key_header(std::string_view key) const override { return {"x-goog-api-key", std::string(key)}; }

  DecoderMaker decoding(const AdapterCall& call) const override {
    return [id_prefix = call_id_prefix(call), raw_chunks = call.include_raw_chunks,
            form = answer_form(call)](const HttpResponseHead& head) -> std::unique_ptr<BodyDecoder> {
      GeminiAnswer answer(id_prefix);
      if (is_whole_response(head, form)) return std::make_unique<GeminiBody>(std::move(answer), raw_chunks);
      return std::make_unique<GeminiStream>(std::move(answer), raw_chunks);
    };
  }

  Error error(const HttpResponseHead& head, std::string_view body) const override { return gemini_error(head, body); }

  std::optional<FallbackRequest> fallback_request(const HttpRequest& sent, const HttpResponseHead& head,
                                                  std::string_view body) const override {
    return without_refused_setting(sent, headers(), head, body);
  }

 private:
  static HttpHeaders headers() { return {{"content-type", "application/json"}}; }

  // A name such as tunedModels/x is a complete path; other names get the prefix models/.
  static std::string path(std::string_view model, AnswerForm form) {
    const std::string name =
        model.find('/') == std::string_view::npos ? std::string(kModels) + std::string(model) : std::string(model);
    return url_path(name) + (form == AnswerForm::stream ? ":streamGenerateContent?alt=sse" : ":generateContent");
  }

  GeminiCodecOptions options_;
};

}  // namespace

std::shared_ptr<const Codec> gemini_codec(GeminiCodecOptions options) {
  return std::make_shared<GeminiCodec>(std::move(options));
}

}  // namespace allm
