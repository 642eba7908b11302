#include "providers/gemini/answer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "providers/finish.hpp"
#include "providers/gemini/kept_parts.hpp"
#include "providers/gemini/usage.hpp"
#include "providers/provider_errors.hpp"
#include "providers/provider_json.hpp"

namespace allm {
namespace {

using Keep = FinishWord::Keep;
constexpr std::array<FinishWord, 16> kEndings = {{
    {"STOP", FinishReason::stop, Keep::never},
    {"MAX_TOKENS", FinishReason::length, Keep::always},
    {"SAFETY", FinishReason::content_filter, Keep::always},
    {"RECITATION", FinishReason::content_filter, Keep::always},
    {"LANGUAGE", FinishReason::content_filter, Keep::always},
    {"BLOCKLIST", FinishReason::content_filter, Keep::always},
    {"PROHIBITED_CONTENT", FinishReason::content_filter, Keep::always},
    {"SPII", FinishReason::content_filter, Keep::always},
    {"IMAGE_SAFETY", FinishReason::content_filter, Keep::always},
    {"IMAGE_PROHIBITED_CONTENT", FinishReason::content_filter, Keep::always},
    {"IMAGE_RECITATION", FinishReason::content_filter, Keep::always},
    {"MALFORMED_FUNCTION_CALL", FinishReason::error, Keep::always},
    {"UNEXPECTED_TOOL_CALL", FinishReason::error, Keep::always},
    {"TOO_MANY_TOOL_CALLS", FinishReason::error, Keep::always},
    {"MISSING_THOUGHT_SIGNATURE", FinishReason::error, Keep::always},
    {"MALFORMED_RESPONSE", FinishReason::error, Keep::always},
}};

// Texts and thoughts that follow each other are one part. Real answers have a few dozen parts besides their calls.
constexpr std::size_t kMaxParts = 16'384;

// Members of a candidate that are not part of its text.
constexpr std::array<std::string_view, 4> kCandidateFacts = {"finishMessage", "groundingMetadata", "citationMetadata",
                                                             "urlContextMetadata"};

void show(bool is_thought, std::string_view text, std::vector<Event>& events) {
  if (text.empty()) return;
  if (is_thought) {
    events.emplace_back(ReasoningDelta{.delta = std::string(text)});
  } else {
    events.emplace_back(TextDelta{.delta = std::string(text)});
  }
}

}  // namespace

GeminiAnswer::GeminiAnswer(std::string call_id_prefix) : call_id_prefix_(std::move(call_id_prefix)) {}

void GeminiAnswer::start(std::vector<Event>& events) {
  if (!std::exchange(started_, true)) events.emplace_back(MessageStarted{assistant("")});
}

void GeminiAnswer::take(const Json& response, std::vector<Event>& events) {
  start(events);
  note_origin(text_member(response, "responseId"), text_member(response, "modelVersion"));
  if (const Json* counts = find_member(response, "usageMetadata")) {
    usage_ = *counts;
    usage_text_.clear();
  }
  if (const Json* feedback = find_member(response, "promptFeedback")) {
    if (const std::string_view reason = text_member(*feedback, "blockReason"); !reason.empty()) {
      block_reason_ = shown(reason);
    }
  }
  const Json* candidates = find_member(response, "candidates");
  if (candidates == nullptr || !candidates->is_array()) return;
  for (const Json& candidate : *candidates) {
    if (candidate.is_object() && integer_member(candidate, "index").value_or(0) == 0) take_candidate(candidate, events);
  }
}

void GeminiAnswer::take_candidate(const Json& candidate, std::vector<Event>& events) {
  has_candidate_ = true;
  const Json* content = find_member(candidate, "content");
  const Json* parts = content == nullptr ? nullptr : find_member(*content, "parts");
  if (parts != nullptr && parts->is_array()) {
    for (const Json& part : *parts) take_part(part, events);
  }
  note_finish(text_member(candidate, "finishReason"));
  for (const std::string_view name : kCandidateFacts) {
    if (const Json* fact = find_member(candidate, name)) message_.metadata[name] = *fact;
  }
}

void GeminiAnswer::take_part(const Json& part, std::vector<Event>& events) {
  if (!part.is_object()) return;
  if (const Json* function = find_member(part, "functionCall")) return take_call(part, *function, events);
  const Json* thought = find_member(part, "thought");
  const Json* text = find_member(part, "text");
  const bool is_thought = thought != nullptr && *thought == true;
  const bool has_text = text != nullptr && text->is_string();
  const Kind kind = is_thought ? Kind::thought : has_text ? Kind::text : Kind::other;
  const bool is_signed = find_member(part, "thoughtSignature") != nullptr;
  if (kind != Kind::other && !is_signed) return add_piece(kind, text_member(part, "text"), events);
  Part added{.kind = kind, .value = part};
  if (has_text) {
    added.text = joiner(kind).add(text->get_ref<const std::string&>());
    added.value["text"] = added.text;
    show(kind == Kind::thought, added.text, events);
  }
  keep(std::move(added));
}

void GeminiAnswer::keep(Part part) {
  if (parts_.size() < kMaxParts + meter_.limits().max_calls) {
    parts_.push_back(std::move(part));
  } else {
    has_too_many_parts_ = true;
  }
}

std::string GeminiAnswer::error() const {
  return has_too_many_parts_ ? "the answer has more parts than " + std::to_string(kMaxParts) : meter_.error();
}

void GeminiAnswer::add_text(std::string_view text, std::vector<Event>& events) { add_piece(Kind::text, text, events); }

void GeminiAnswer::add_piece(Kind kind, std::string_view text, std::vector<Event>& events) {
  has_candidate_ = true;
  append(kind, joiner(kind).add(text), events);
}

void GeminiAnswer::append(Kind kind, std::string_view text, std::vector<Event>& events) {
  if (text.empty()) return;
  // A signed part must be sent back unchanged, so no text is added to it.
  const bool continues = !parts_.empty() && parts_.back().value.is_null() && parts_.back().kind == kind;
  if (continues) {
    parts_.back().text += text;
  } else {
    keep({.kind = kind, .text = std::string(text)});
  }
  show(kind == Kind::thought, text, events);
}

void GeminiAnswer::take_call(const Json& part, const Json& function, std::vector<Event>& events) {
  std::vector<ToolCall>& calls = message_.message.tool_calls;
  const Json* arguments = find_member(function, "args");
  if (!meter_.add_call() || (arguments != nullptr && !meter_.add_values(*arguments))) return;
  std::string id(text_member(function, "id"));
  if (id.empty()) id = call_id_prefix_ + std::to_string(calls.size());
  const bool is_known = ids_.contains(id);

  ToolCall call{.id = ids_.add(std::move(id)), .name = std::string(text_member(function, "name"))};
  call.raw_arguments = arguments == nullptr ? "{}" : write_json(*arguments).value_or("");
  if (!meter_.add_bytes(call.id.size() + call.name.size() + call.raw_arguments->size())) return;
  const bool is_short = call.raw_arguments->size() <= meter_.limits().max_argument_bytes;
  if (is_short && arguments != nullptr && arguments->is_object()) call.arguments = *arguments;
  if (const std::string_view signature = text_member(part, "thoughtSignature"); !signature.empty()) {
    call.metadata["thoughtSignature"] = signature;
  }
  Json kept = part;
  if (is_known) kept["functionCall"].erase("id");
  keep({.value = without_halves(std::move(kept))});
  events.emplace_back(ToolCallStarted{call.id, call.name});
  events.emplace_back(ToolCallCompleted{call});
  calls.push_back(std::move(call));
}

void GeminiAnswer::note_finish(std::string_view reason) {
  if (!reason.empty()) finish_ = reason;
}

void GeminiAnswer::note_origin(std::string_view id, std::string_view model) {
  if (!id.empty() && message_.id != id) message_.id = std::string(id);
  if (!model.empty() && message_.model != model) message_.model = std::string(model);
}

void GeminiAnswer::note_usage_text(std::string_view json) { usage_text_ = json; }

bool GeminiAnswer::settle_usage() {
  if (!usage_text_.empty()) {
    std::optional<Json> counts = parse_provider_json(usage_text_);
    if (!counts) return false;
    usage_ = *std::move(counts);
  }
  if (!usage_.is_null()) message_.usage = gemini_usage(usage_);
  return true;
}

Json GeminiAnswer::parts() const {
  Json list = Json::array();
  for (const Part& part : parts_) {
    Json& written = list.emplace_back(part.value.is_null() ? Json{{"text", part.text}} : part.value);
    if (part.kind == Kind::thought) written["thought"] = true;
  }
  return list;
}

std::string GeminiAnswer::joined(Kind kind) const {
  std::string text;
  for (const Part& part : parts_) {
    if (part.kind == kind) text += part.text;
  }
  return text;
}

std::optional<MessageCompleted> GeminiAnswer::complete(std::vector<Event>& events) {
  append(Kind::thought, thought_joiner_.end(), events);
  append(Kind::text, text_joiner_.end(), events);
  if (!settle_usage()) return std::nullopt;
  message_.message.role = Role::assistant;
  message_.message.content = joined(Kind::text);
  if (std::string thoughts = joined(Kind::thought); !thoughts.empty()) {
    message_.metadata["reasoning"] = {{"text", std::move(thoughts)}};
  }
  keep_parts(message_.message, parts());
  set_finish(message_, shown(finish_), kEndings);
  return std::move(message_);
}

MessageCompleted GeminiAnswer::complete_blocked(bool with_usage, std::vector<Event>& events) {
  MessageCompleted message = complete(events).value_or(MessageCompleted{});
  message.message.role = Role::assistant;
  message.finish_reason = FinishReason::content_filter;
  message.raw_finish_reason = block_reason_;
  message.metadata["error"] = {{"reason", "blocked:" + block_reason_}};
  if (!with_usage) message.usage.reset();
  return message;
}

}  // namespace allm
