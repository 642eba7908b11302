#include "tests/validators/move_targets.hpp"

#include <utility>

#include "providers/anthropic/anthropic.hpp"
#include "providers/gemini/gemini.hpp"
#include "providers/openai/openai.hpp"
#include "providers/openai/presets.hpp"

namespace allm::testing {
namespace {

using Endpoint = OpenAiCodecOptions::Endpoint;

std::string padded(std::uint64_t number, std::size_t size) {
  std::string digits = std::to_string(number);
  return std::string(size > digits.size() ? size - digits.size() : 0, 'a') + digits;
}

std::string counted(std::uint64_t number) { return "call_" + std::to_string(number % 3); }  // repeats in every message

ChatRules rules_of(const OpenAiPreset& preset) {
  const std::string_view name = preset.name;
  ChatRules rules;
  rules.parses_arguments = name != "azure";
  rules.needs_model = name != "azure" && name != "llamacpp";
  rules.refuses_null_content = name == "ollama" || name == "lmstudio" || name == "groq";
  rules.needs_reasoning_content = name == "deepseek";
  if (name == "mistral") {
    rules.nine_letter_ids = true;
    rules.answer_follows_tools = true;
    rules.refuses_unknown_fields = true;
    rules.file_part = "document_url";
  }
  return rules;
}

std::string (*id_style(std::string_view preset))(std::uint64_t) {
  if (preset == "mistral" || preset == "lmstudio") return [](std::uint64_t number) { return padded(number, 9); };
  if (preset == "vllm") return [](std::uint64_t number) { return "chatcmpl-tool-" + padded(number, 32); };
  if (preset == "llamacpp" || preset == "ollama") return counted;
  if (preset == "together")
    return [](std::uint64_t number) { return "functions.weather:" + std::to_string(number % 9); };
  if (preset == "groq") return [](std::uint64_t number) { return padded(number, 4); };
  return [](std::uint64_t number) { return "call_" + padded(number, 24); };
}

MoveTarget chat_target(std::string name, std::string model, OpenAiCodecOptions options, const ChatRules& rules,
                       std::string (*call_id)(std::uint64_t)) {
  options.endpoint = Endpoint::chat;
  if (options.base_url.empty()) options.base_url = "https://example.test/v1";
  const bool signs = options.provider == "openrouter" || options.provider == "gateway";
  return {std::move(name),
          std::move(model),
          openai_codec(std::move(options)),
          [rules](const Json& body) { return chat_problems(body, rules); },
          chat_answer,
          call_id,
          signs};
}

// Like compatible() for a server that it does not know.
OpenAiCodecOptions gateway() {
  OpenAiCodecOptions options = options_of(*find_openai_preset("together"));
  options.provider = "gateway";
  options.base_url = "https://gateway.test/v1";
  return options;
}

void add_presets(std::vector<MoveTarget>& targets) {
  for (const OpenAiPreset& preset : openai_presets()) {
    targets.push_back(chat_target(std::string(preset.name), "some-model", options_of(preset), rules_of(preset),
                                  id_style(preset.name)));
  }
  ChatRules claude = rules_of(*find_openai_preset("openrouter"));
  claude.word_ids = true;
  targets.push_back(chat_target("claude at openrouter", "anthropic/claude-sonnet-4.6",
                                options_of(*find_openai_preset("openrouter")), claude,
                                [](std::uint64_t number) { return "toolu_vrtx_" + padded(number, 24); }));
  ChatRules devstral = rules_of(*find_openai_preset("vllm"));
  devstral.nine_letter_ids = true;
  devstral.answer_follows_tools = true;
  targets.push_back(chat_target("devstral at vllm", "mistralai/Devstral-Small", options_of(*find_openai_preset("vllm")),
                                devstral, id_style("mistral")));
  ChatRules any;
  any.parses_arguments = true;
  targets.push_back(chat_target("gateway", "google/gemini", gateway(), any, [](std::uint64_t number) {
    return "tool:call/" + std::string(60 + number % 400, 'x') + std::to_string(number);
  }));
}

// The events of an answer that is there already.
class ListSource final : public EventSource {
 public:
  explicit ListSource(std::vector<Event> events) : events_(std::move(events)) {}
  Poll poll(const Waker&) override {
    if (next_ == events_.size()) return Poll::end();
    return std::move(events_[next_++]);
  }

 private:
  std::vector<Event> events_;
  std::size_t next_ = 0;
};

class CodecAdapter final : public Adapter {
 public:
  CodecAdapter(std::shared_ptr<const Codec> codec, std::function<void(const HttpRequest&)> sent,
               std::function<std::string(const AdapterCall&)> answer)
      : codec_(std::move(codec)), sent_(std::move(sent)), answer_(std::move(answer)) {}

  std::string_view provider() const override { return codec_->provider(); }

  Result<std::unique_ptr<EventSource>> open(const AdapterCall& call) override {
    const Result<HttpRequest> request = codec_->write(call, AnswerForm::stream);
    if (!request) return std::unexpected(request.error());
    sent_(*request);
    const auto decoder = codec_->decoder(call, {200, {{"content-type", "text/event-stream"}}});
    std::vector<Event> events;
    decoder->feed(answer_(call), events);
    decoder->finish(events);
    return std::make_unique<ListSource>(std::move(events));
  }

 private:
  std::shared_ptr<const Codec> codec_;
  std::function<void(const HttpRequest&)> sent_;
  std::function<std::string(const AdapterCall&)> answer_;
};

}  // namespace

std::vector<MoveTarget> move_targets() {
  std::vector<MoveTarget> targets;
  ChatRules openai;
  openai.file_part = "file";
  openai.audio_parts = true;
  targets.push_back(chat_target("openai chat", "gpt-4.1", {}, openai, id_style("openai")));
  targets.push_back({"openai responses", "gpt-5", openai_codec({.endpoint = Endpoint::responses}), responses_problems,
                     responses_answer, id_style("openai"), true});
  targets.push_back({"anthropic", "claude-sonnet-4-6", anthropic_codec({}), anthropic_problems, anthropic_answer,
                     [](std::uint64_t number) { return "toolu_" + padded(number, 24); }, true});
  targets.push_back({"gemini 2.5", "gemini-2.5-pro", gemini_codec({}),
                     [](const Json& body) { return gemini_problems(body, false); }, gemini_answer,
                     [](std::uint64_t number) { return "gemini-" + std::to_string(number); }, true});
  targets.push_back({"gemini 3", "gemini-3-pro", gemini_codec({}),
                     [](const Json& body) { return gemini_problems(body, true); }, gemini_answer,
                     [](std::uint64_t number) { return "id" + std::to_string(number); }, true});
  add_presets(targets);
  return targets;
}

std::string signature_of(std::string_view provider) { return "<signature of " + std::string(provider) + ">"; }

Problems problems_of(const MoveTarget& target, const std::string& body) {
  const Result<Json> json = parse_json(body);
  if (!json) return {"the body is not JSON"};
  Problems problems = target.problems(*json);
  const std::string own = signature_of(target.codec->provider());
  for (std::size_t found = body.find("<signature of "); found != std::string::npos;
       found = body.find("<signature of ", found + 1)) {
    if (body.compare(found, own.size(), own) == 0) continue;
    problems.push_back("reasoning of another provider: " + body.substr(found, 40));
    break;
  }
  return problems;
}

std::shared_ptr<Adapter> codec_adapter(std::shared_ptr<const Codec> codec, std::function<void(const HttpRequest&)> sent,
                                       std::function<std::string(const AdapterCall&)> answer) {
  return std::make_shared<CodecAdapter>(std::move(codec), std::move(sent), std::move(answer));
}

}  // namespace allm::testing
