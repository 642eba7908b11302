#include "engine/worst_case.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <string_view>
#include <variant>

#include "data/overloaded.hpp"
#include "engine/saturating_sum.hpp"

namespace allm {
namespace {

// A token of text is at least one byte. The next four cover what providers add to the text: marks of roles, the
// description of tools as a prompt, hidden instructions.
constexpr std::int64_t kRequestTokens = 256;
constexpr std::int64_t kMessageTokens = 16;
constexpr std::int64_t kToolsTokens = 1'024;
constexpr std::int64_t kToolTokens = 32;
// More than any current model counts for one image; gpt-4o-mini counts up to 48,169.
constexpr std::int64_t kImageTokens = 50'000;

using Count = std::optional<std::int64_t>;

Count sum(Count a, Count b) { return a && b ? Count(saturating_sum(*a, *b)) : std::nullopt; }

std::int64_t bytes_of(std::string_view text) { return static_cast<std::int64_t>(text.size()); }

// Providers write JSON in a form of their own before they count it; indented and with escapes it is longest.
std::int64_t json_bytes(const Json& value) {
  if (value.is_null() || ((value.is_object() || value.is_array()) && value.empty())) return 0;
  return bytes_of(value.dump(2, ' ', true, Json::error_handler_t::replace));
}

// nullopt: as many as the context has.
Count tokens_of(const Part& part) {
  return std::visit(
      Overloaded{[](const TextPart& text) { return Count(bytes_of(text.text) + json_bytes(text.metadata)); },
                 [](const ImagePart&) { return Count(kImageTokens); }, [](const FilePart&) { return Count(); },
                 [](const AudioPart&) { return Count(); },
                 [](const UnknownPart& unknown) { return Count(json_bytes(unknown.value)); }},
      part);
}

Count tokens_of(const Content& content) {
  if (const auto* text = std::get_if<std::string>(&content)) return bytes_of(*text);
  Count tokens = 0;
  for (const Part& part : std::get<std::vector<Part>>(content)) tokens = sum(tokens, tokens_of(part));
  return tokens;
}

std::int64_t tokens_of(const ToolCall& call) {
  const std::int64_t arguments = json_bytes(call.arguments);
  const std::int64_t text = call.raw_arguments ? bytes_of(*call.raw_arguments) : 0;
  return kMessageTokens + bytes_of(call.id) + bytes_of(call.name) + std::max(arguments, text) +
         json_bytes(call.metadata);
}

Count tokens_of(const Message& message) {
  std::int64_t rest = kMessageTokens + json_bytes(message.metadata);
  if (message.name) rest += bytes_of(*message.name);
  if (message.tool_call_id) rest += bytes_of(*message.tool_call_id);
  for (const ToolCall& call : message.tool_calls) rest += tokens_of(call);
  return sum(tokens_of(message.content), rest);
}

std::int64_t tokens_of(const std::vector<Tool>& tools) {
  std::int64_t tokens = tools.empty() ? 0 : kToolsTokens;
  for (const Tool& tool : tools) {
    tokens += kToolTokens + bytes_of(tool.name) + bytes_of(tool.description) + json_bytes(tool.schema);
  }
  return tokens;
}

// The settings of the provider are counted, too: a program can add tools or instructions there.
Count input_tokens(const Request& request) {
  std::int64_t rest = kRequestTokens + tokens_of(request.tools) + json_bytes(request.options);
  if (request.response_format) rest += json_bytes(request.response_format->json());
  Count tokens = rest;
  for (const Message& message : request.messages) tokens = sum(tokens, tokens_of(message));
  return tokens;
}

Count model_limit(const AdapterCall& call, const ModelRef* known, const char* name) {
  for (const ModelRef* model : {call.model ? &*call.model : nullptr, known}) {
    if (model == nullptr || !model->limits.is_object()) continue;
    const auto found = model->limits.find(name);
    if (found != model->limits.end() && found->is_number_integer()) return found->get<std::int64_t>();
  }
  return std::nullopt;
}

// Whether a provider's own setting replaces max_tokens: then it is not known which of them counts.
bool has_own_limit(const Json& options) {
  constexpr std::array<std::string_view, 5> kNames = {"max_tokens", "max_completion_tokens", "max_output_tokens",
                                                      "maxOutputTokens", "generationConfig"};
  return options.is_object() &&
         std::ranges::any_of(kNames, [&](std::string_view name) { return options.contains(name); });
}

// How many answers the provider's own settings ask for; each is paid.
std::int64_t answers_of(const Json& options) {
  std::int64_t most = 1;
  if (!options.is_object()) return most;
  for (const char* name : {"n", "best_of", "candidateCount"}) {
    const auto found = options.find(name);
    if (found != options.end() && found->is_number_integer()) most = std::max(most, found->get<std::int64_t>());
  }
  return most;
}

std::optional<double> highest_price(const Json& pricing, std::initializer_list<const char*> kinds) {
  std::optional<double> highest;
  for (const char* kind : kinds) {
    const auto price = pricing.find(kind);
    if (price == pricing.end() || !price->is_number()) continue;
    highest = std::max(highest.value_or(0), price->get<double>());
  }
  return highest;
}

// The cost as usage reports it is a sum of rounded numbers, which may be a little above this product.
std::int64_t nanos_of(double price, std::int64_t tokens) {
  return saturating_sum(cost_to_nanos(price * static_cast<double>(tokens) / 1e6), 2);
}

}  // namespace

Spend WorstCase::spend() const {
  Spend spend{.tokens = sum(input_tokens, output_tokens)};
  if (spend.tokens && input_price && output_price) {
    spend.nanos = saturating_sum(nanos_of(*input_price, *input_tokens), nanos_of(*output_price, *output_tokens));
  }
  return spend;
}

std::optional<std::int64_t> WorstCase::output_that_fits(const BudgetRefusal& refusal) const {
  if (!input_tokens) return std::nullopt;
  if (refusal.what == BudgetRefusal::What::tokens) {
    return refusal.left > *input_tokens ? Count(refusal.left - *input_tokens) : std::nullopt;
  }
  if (!input_price || !output_price || *output_price <= 0) return std::nullopt;
  const double left =
      static_cast<double>(refusal.left) - static_cast<double>(nanos_of(*input_price, *input_tokens)) - 4;
  const double tokens = std::floor(left / (*output_price * 1e3));
  if (!(tokens >= 1)) return std::nullopt;
  return static_cast<std::int64_t>(std::min(tokens, 1e15));
}

WorstCase worst_case(const AdapterCall& call, const ModelRef* known) {
  WorstCase worst;
  worst.input_tokens = input_tokens(call.request);
  if (!worst.input_tokens) worst.input_tokens = model_limit(call, known, "context_tokens");
  const Count most_output = model_limit(call, known, "output_tokens");
  worst.can_shrink = !has_own_limit(call.request.options);
  worst.output_tokens = call.request.max_tokens && worst.can_shrink ? call.request.max_tokens : most_output;
  if (const std::int64_t answers = answers_of(call.request.options); answers > 1 && worst.output_tokens) {
    worst.can_shrink = false;
    worst.output_tokens = saturating_product(*worst.output_tokens, answers);
  }
  if (known != nullptr && known->pricing.is_object() && highest_price(known->pricing, {"input"})) {
    worst.input_price = highest_price(known->pricing, {"input", "cached_input", "cache_write", "cache_write_1h"});
    worst.output_price = highest_price(known->pricing, {"output"});
  }
  return worst;
}

Spend spend_of(const std::optional<Usage>& usage) {
  if (!usage) return {};
  Spend spend{.tokens = usage->total()};
  if (usage->total_cost) spend.nanos = cost_to_nanos(*usage->total_cost);
  return spend;
}

}  // namespace allm
