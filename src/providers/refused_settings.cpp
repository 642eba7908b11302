#include "providers/refused_settings.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "allm/model.hpp"

#include "data/ascii.hpp"
#include "providers/provider_json.hpp"

namespace allm {
namespace {

const Json* at_path(const Json& body, std::string_view path) {
  const Json* value = &body;
  while (value != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    value = find_member(*value, path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return value;
}

// Removes the member at the path, and objects that become empty by it.
void remove_at(Json& body, std::string_view path) {
  const std::size_t dot = path.find('.');
  const std::string name(path.substr(0, dot));
  if (dot != std::string_view::npos) {
    const auto inner = body.find(name);
    if (inner == body.end()) return;
    remove_at(*inner, path.substr(dot + 1));
    if (!inner->empty()) return;
  }
  body.erase(name);
}

void replace_at(Json& body, std::string path, const Json& value) {
  std::ranges::replace(path, '.', '/');
  body[Json::json_pointer("/" + path)] = value;
}

// The effort has another place in each protocol.
const Json* effort_in(const Json& body) {
  for (const char* path : {"reasoning_effort", "reasoning.effort", "output_config.effort"}) {
    if (const Json* effort = at_path(body, path)) return effort;
  }
  return nullptr;
}

// Whether one of the conditions under which the model accepts the setting holds: {path: [value, …]}, where null means
// that there is no such member.
bool is_accepted(const Json& rule, const Json& body) {
  const Json* unless = find_member(rule, "unless");
  if (unless == nullptr || !unless->is_object()) return false;
  return std::ranges::any_of(unless->items(), [&](const auto& condition) {
    const Json* value = condition.key() == "reasoning_effort" ? effort_in(body) : at_path(body, condition.key());
    const Json& accepted = condition.value();
    return std::ranges::find(accepted, value == nullptr ? Json() : *value) != accepted.end();
  });
}

const ModelRef* built_in_model(const AdapterCall& call, std::string_view provider) {
  const std::optional<ModelRef>& named = call.model ? call.model : call.request.model;
  if (!named) return nullptr;
  ModelRef model(named->id);
  model.provider = provider;
  return builtin_catalogue()->find(model);
}

// A setting, and the words by which errors name it. `quoted`: the word is common, so it counts only in quotes.
struct Setting {
  std::string_view word;
  std::string_view path;
  bool quoted = false;
};

constexpr std::array<Setting, 34> kSettings = {{
    {"temperature", "temperature"},
    {"temperature", "generationConfig.temperature"},
    {"top_p", "top_p"},
    {"top_p", "generationConfig.topP"},
    {"topp", "generationConfig.topP"},
    {"top_k", "top_k"},
    {"top_k", "generationConfig.topK"},
    {"topk", "generationConfig.topK"},
    {"min_p", "min_p"},
    {"presence_penalty", "presence_penalty"},
    {"presence_penalty", "generationConfig.presencePenalty"},
    {"presencepenalty", "generationConfig.presencePenalty"},
    {"frequency_penalty", "frequency_penalty"},
    {"frequency_penalty", "generationConfig.frequencyPenalty"},
    {"frequencypenalty", "generationConfig.frequencyPenalty"},
    {"penalty", "generationConfig.presencePenalty"},
    {"seed", "seed"},
    {"seed", "generationConfig.seed"},
    {"top_logprobs", "top_logprobs"},
    {"logprobs", "logprobs"},
    {"logit_bias", "logit_bias"},
    {"stop", "stop", true},
    {"reasoning.effort", "reasoning.effort"},
    {"reasoning_effort", "reasoning_effort"},
    {"effort", "output_config.effort"},
    {"reasoning.summary", "reasoning.summary"},
    {"text.verbosity", "text.verbosity"},
    {"verbosity", "verbosity"},
    {"thinking level", "generationConfig.thinkingConfig"},
    {"thinking_level", "generationConfig.thinkingConfig"},
    {"thinking budget", "generationConfig.thinkingConfig"},
    {"parallel_tool_calls", "parallel_tool_calls"},
    {"prompt_cache_retention", "prompt_cache_retention"},
    {"prompt_cache_key", "prompt_cache_key"},
}};

// Parts of sentences which say that a setting is not accepted at all, in contrast to a value that is out of range.
constexpr std::array<std::string_view, 19> kRefusals = {
    "not support",     "unsupported",  "deprecated",     "not permitted",   "not allowed",
    "extra_forbidden", "unrecognized", "unknown",        "unexpected",      "not accept",
    "not available",   "not enabled",  "not compatible", "incompatible",    "cannot be used",
    "cannot both be",  "cannot find",  "only be set to", "only the default"};

bool is_part_of_a_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
bool is_quote(char c) { return c == '\'' || c == '"' || c == '`'; }

bool names(std::string_view text, const Setting& setting) {
  for (std::size_t at = text.find(setting.word); at != std::string_view::npos; at = text.find(setting.word, at + 1)) {
    const std::size_t end = at + setting.word.size();
    const char before = at == 0 ? ' ' : text[at - 1];
    const char after = end == text.size() ? ' ' : text[end];
    if (is_part_of_a_word(before) || is_part_of_a_word(after)) continue;
    if (!setting.quoted || (is_quote(before) && is_quote(after))) return true;
  }
  return false;
}

}  // namespace

std::optional<bool> model_capability(const AdapterCall& call, std::string_view provider, std::string_view name) {
  const std::optional<ModelRef>& model = call.model ? call.model : call.request.model;
  if (const std::optional<bool> own = model ? model->capability(name) : std::nullopt) return own;
  const ModelRef* built_in = built_in_model(call, provider);
  return built_in != nullptr ? built_in->capability(name) : std::nullopt;
}

AdapterWarning left_out_warning(std::string_view setting, std::string_view model, std::string_view why) {
  return {.setting = std::string(setting),
          .message = fmt::format("{} was not sent to the model '{}': {}", setting, model, why)};
}

void leave_out_refused(const AdapterCall& call, std::string_view provider, Json& body) {
  const std::optional<ModelRef>& model = call.model ? call.model : call.request.model;
  const Json* own = model && model->refuses.is_object() ? &model->refuses : nullptr;
  // Most calls have no settings, and looking up the model costs time.
  if (!call.request.temperature && call.options.empty() && call.request.options.empty()) return;
  const auto apply = [&](const std::string& path, const Json& rule) {
    const Json* value = rule.is_object() ? at_path(body, path) : nullptr;
    if (value == nullptr || is_accepted(rule, body)) return;
    const Json* usual = find_member(rule, "default");
    const bool matters = usual == nullptr || *usual != *value;
    if (const Json* instead = find_member(rule, "instead")) {
      replace_at(body, path, *instead);
    } else {
      remove_at(body, path);
    }
    if (matters && call.warn) call.warn(left_out_warning(path, model->id, "the model does not accept it"));
  };
  const ModelRef* built_in = built_in_model(call, provider);
  if (built_in != nullptr && built_in->refuses.is_object()) {
    for (const auto& [path, rule] : built_in->refuses.items()) {
      if (own == nullptr || !own->contains(path)) apply(path, rule);
    }
  }
  if (own == nullptr) return;
  for (const auto& [path, rule] : own->items()) apply(path, rule);
}

std::optional<std::string> refused_setting(const Json& body, std::string_view error) {
  constexpr std::size_t kEnough = 4096;  // an error that repeats the whole request names every setting
  const std::string text = lower_case(error.substr(0, kEnough));
  const auto says = [&](std::string_view words) { return text.find(words) != std::string::npos; };
  if (std::ranges::none_of(kRefusals, says)) return std::nullopt;
  for (const Setting& setting : kSettings) {
    if (names(text, setting) && at_path(body, setting.path) != nullptr) return std::string(setting.path);
  }
  return std::nullopt;
}

std::optional<FallbackRequest> without_refused_setting(const HttpRequest& sent, const HttpHeaders& headers,
                                                       const HttpResponseHead& head, std::string_view error) {
  if (head.status != 400 && head.status != 422) return std::nullopt;
  constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
  constexpr ReadLimits kOurs{.max_bytes = kAny, .max_string_bytes = kAny, .max_items = kAny};
  Result<Json> body = parse_json(sent.body, kOurs);
  if (!body) return std::nullopt;
  std::optional<std::string> setting = refused_setting(*body, error);
  if (!setting) return std::nullopt;
  remove_at(*body, *setting);
  Result<std::string> text = write_json(*body);
  if (!text) return std::nullopt;
  return FallbackRequest{.request = {.url = sent.url, .headers = headers, .body = *std::move(text)},
                         .left_out = *std::move(setting)};
}

}  // namespace allm
