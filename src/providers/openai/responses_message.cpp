#include "providers/openai/responses_message.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "providers/finish.hpp"
#include "providers/openai/request.hpp"
#include "providers/openai/responses_state.hpp"
#include "providers/openai/usage.hpp"
#include "providers/provider_json.hpp"

namespace allm::openai_wire {
namespace {

// Of items without calls, and of parts. Real answers have a few dozen.
constexpr std::size_t kMaxItems = 4096;

using Keep = FinishWord::Keep;
constexpr std::array<FinishWord, 3> kEndings = {{
    {"completed", FinishReason::stop, Keep::never},
    {"max_output_tokens", FinishReason::length, Keep::always},
    {"content_filter", FinishReason::content_filter, Keep::always},
}};

bool is_call(const Json& item) { return text_member(item, "type") == "function_call"; }

// The status of the response, or the reason why it is incomplete. "" while it is not finished.
std::string_view ending_of(const Json& response) {
  const std::string_view status = text_member(response, "status");
  if (status == "in_progress" || status == "queued") return {};
  const Json* details = status == "incomplete" ? find_member(response, "incomplete_details") : nullptr;
  const std::string_view reason = details == nullptr ? std::string_view() : text_member(*details, "reason");
  return reason.empty() ? status : reason;
}

bool has_text_part(const Json& item) {
  const Json* content = find_member(item, "content");
  return content != nullptr && content->is_array() && std::ranges::any_of(*content, [](const Json& part) {
           return text_member(part, "type") == "output_text" && find_member(part, "text") != nullptr;
         });
}

// The joined texts of all parts of the given type in an array.
std::string texts_of(const Json& item, const char* list, std::string_view type, const char* field,
                     std::string_view separator) {
  std::string joined;
  const Json* parts = find_member(item, list);
  if (parts == nullptr || !parts->is_array()) return joined;
  for (const Json& part : *parts) {
    if (text_member(part, "type") != type) continue;
    if (!joined.empty()) joined += separator;
    joined += text_member(part, field);
  }
  return joined;
}

}  // namespace

ResponsesMessage::ResponsesMessage(std::string provider, std::string id_seed)
    : provider_(std::move(provider)), id_seed_(std::move(id_seed)) {}

void ResponsesMessage::add_text(std::string_view delta, std::vector<Event>& events) {
  append_text(text_joiner_.add(delta), events);
}

void ResponsesMessage::append_text(std::string_view delta, std::vector<Event>& events) {
  if (delta.empty()) return;
  text_ += delta;
  events.emplace_back(TextDelta{.delta = std::string(delta)});
}

ResponsesMessage::Call* ResponsesMessage::find_item(std::string_view item_id) {
  // Most pieces belong to the last call.
  if (!calls_.empty() && calls_.back().item_id == item_id) return &calls_.back();
  const auto found = by_item_id_.find(std::string(item_id));
  return found == by_item_id_.end() || found->second.empty() ? nullptr : &calls_[found->second.back()];
}

bool ResponsesMessage::add_arguments(std::string_view item_id, std::string_view delta, std::vector<Event>& events) {
  Call* call = find_item(item_id);
  if (call == nullptr) return false;
  append_arguments(*call, call->joiner.add(delta), events);
  return true;
}

void ResponsesMessage::end_arguments(std::string_view item_id, const Json& event, std::vector<Event>& events) {
  if (Call* call = find_item(item_id)) set_arguments(*call, event, events);
}

void ResponsesMessage::append_arguments(Call& call, std::string_view delta, std::vector<Event>& events) {
  if (delta.empty() || !meter_.add_bytes(delta.size())) return;
  call.counted += delta.size();
  call.arguments += delta;
  call.shown = call.arguments.size();
  events.emplace_back(ToolCallDelta{.id = call.id, .arguments_delta = std::string(delta)});
}

std::optional<std::size_t> ResponsesMessage::first_unsettled(CallIndex& index, std::string_view id) const {
  const auto found = id.empty() ? index.end() : index.find(std::string(id));
  if (found == index.end()) return std::nullopt;
  CallQueue& queue = found->second;
  while (!queue.empty() && calls_[queue.front()].settled) queue.pop_front();
  return queue.empty() ? std::nullopt : std::optional(queue.front());
}

std::optional<std::size_t> ResponsesMessage::find_call(std::string_view item_id, std::string_view call_id) {
  // Two items are two calls, even if they have the same call id.
  if (item_id.empty()) return first_unsettled(by_call_id_, call_id);
  const std::optional<std::size_t> by_item = first_unsettled(by_item_id_, item_id);
  const std::optional<std::size_t> by_call = first_unsettled(without_item_by_call_id_, call_id);
  return by_item && by_call ? std::min(*by_item, *by_call) : by_item ? by_item : by_call;
}

ResponsesMessage::Call* ResponsesMessage::begin_call(const Json& item, std::vector<Event>& events) {
  const std::string item_id(text_member(item, "id"));
  const std::string call_id(text_member(item, "call_id"));
  const std::string name(text_member(item, "name"));
  if (!meter_.add_call() || !meter_.add_bytes(item_id.size() + call_id.size() + name.size())) return nullptr;
  std::string id = call_id;
  if (id.empty()) id = "call_" + short_hash(id_seed_ + '/' + std::to_string(calls_.size()), 24);
  by_item_id_[item_id].push_back(calls_.size());
  by_call_id_[call_id].push_back(calls_.size());
  if (item_id.empty()) without_item_by_call_id_[call_id].push_back(calls_.size());
  Call& call =
      calls_.emplace_back(Call{.item_id = item_id, .wire_id = call_id, .id = ids_.add(std::move(id)), .name = name});
  events.emplace_back(ToolCallStarted{.id = call.id, .name = call.name});
  return &call;
}

ResponsesMessage::Call* ResponsesMessage::call_of(const Json& item, std::vector<Event>& events) {
  const std::optional<std::size_t> known = find_call(text_member(item, "id"), text_member(item, "call_id"));
  return known ? &calls_[*known] : begin_call(item, events);
}

void ResponsesMessage::set_arguments(Call& call, const Json& item, std::vector<Event>& events) {
  const Json* arguments = find_member(item, "arguments");
  if (arguments == nullptr) return;
  std::string text = arguments->is_string() ? arguments->get<std::string>() : write_json(*arguments).value_or("");
  if (text.empty()) return;
  // The text comes up to five times: in pieces, at their end, with its item, and in the whole answer.
  if (text.size() > call.counted && !meter_.add_bytes(text.size() - call.counted)) return;
  call.counted = std::max(call.counted, text.size());
  call.joiner.drop();
  if (text.starts_with(call.arguments)) {
    const std::string_view rest = std::string_view(text).substr(call.shown);
    if (!rest.empty()) events.emplace_back(ToolCallDelta{.id = call.id, .arguments_delta = std::string(rest)});
  } else {
    warn("arguments", "the final arguments of a tool call contradict the streamed ones");
  }
  call.arguments = std::move(text);
  call.shown = call.arguments.size();
}

void ResponsesMessage::begin_item(const Json& item, std::vector<Event>& events) {
  Call* call = is_call(item) ? call_of(item, events) : nullptr;
  if (call != nullptr) set_arguments(*call, item, events);
}

void ResponsesMessage::end_item(std::int64_t index, const Json& item, std::vector<Event>& events) {
  begin_item(item, events);
  if (items_.size() < kMaxItems + meter_.limits().max_calls) {
    items_[index] = item;
  } else {
    has_too_many_items_ = true;
  }
}

void ResponsesMessage::begin_part(const Json& part) {
  if (text_member(part, "type") == "output_text") ++text_parts_;
}

void ResponsesMessage::end_part(PartPlace place, const Json& part) {
  if (final_texts_.size() + final_refusals_.size() >= kMaxItems) {
    has_too_many_items_ = true;
  } else if (find_member(part, "refusal") != nullptr) {
    final_refusals_[place] = text_member(part, "refusal");
  } else {
    final_texts_[place] = text_member(part, "text");
  }
}

void ResponsesMessage::warn(const char* part, const char* what) {
  const bool is_known = std::ranges::any_of(warnings_, [part](const AdapterWarning& w) { return w.setting == part; });
  if (!is_known) warnings_.push_back({.setting = part, .message = std::string(what) + "; the final ones are used"});
}

std::string ResponsesMessage::error() const {
  return has_too_many_items_ ? "the answer has more items or parts than " + std::to_string(kMaxItems) : meter_.error();
}

void ResponsesMessage::add_head(const Json& response) {
  if (id_.empty()) id_ = text_member(response, "id");
  if (model_.empty()) model_ = text_member(response, "model");
}

Json ResponsesMessage::output_of(const Json& response) const {
  const Json* output = find_member(response, "output");
  if (output != nullptr && output->is_array() && !output->empty()) return *output;
  Json streamed = Json::array();
  for (const auto& [index, item] : items_) streamed.push_back(item);
  return streamed;
}

std::optional<std::string> ResponsesMessage::final_text(const Json& output) const {
  std::optional<std::string> text;
  for (const Json& item : output) {
    if (text_member(item, "type") == "message" && has_text_part(item)) text = text.value_or("") + item_text(item);
  }
  if (text || final_texts_.empty() || final_texts_.size() < text_parts_) return text;
  text = "";
  for (const auto& [place, part] : final_texts_) *text += part;
  return text;
}

void ResponsesMessage::settle_text(const Json& output, std::vector<Event>& events) {
  std::optional<std::string> text = final_text(output);
  if (!text) return;
  text_joiner_.drop();
  if (text->starts_with(text_)) return append_text(std::string_view(*text).substr(text_.size()), events);
  warn("output_text", "the final texts of the answer contradict the streamed ones");
  events.emplace_back(TextCompleted{.text = *text});
  text_ = *std::move(text);
}

void ResponsesMessage::settle_refusal(const Json& output) {
  refusal_ += refusal_joiner_.end();
  std::string refusal;
  for (const Json& item : output) {
    if (text_member(item, "type") == "message") refusal += texts_of(item, "content", "refusal", "refusal", "");
  }
  if (refusal.empty()) {
    for (const auto& [place, part] : final_refusals_) refusal += part;
  }
  if (refusal.empty()) return;
  if (!refusal.starts_with(refusal_)) warn("refusal", "the final refusals contradict the streamed ones");
  refusal_ = std::move(refusal);
}

void ResponsesMessage::add_summary(std::string_view delta, std::vector<Event>& events) {
  append_summary(summary_joiner_.add(delta), events);
}

void ResponsesMessage::append_summary(std::string_view delta, std::vector<Event>& events) {
  if (delta.empty()) return;
  const std::string_view separator = in_summary_part_ || summary_.empty() ? "" : "\n\n";
  in_summary_part_ = true;
  summary_ += separator;
  summary_ += delta;
  events.emplace_back(ReasoningDelta{.delta = std::string(separator).append(delta)});
}

void ResponsesMessage::add_reasoning(std::string_view delta, std::vector<Event>& events) {
  append_reasoning(reasoning_joiner_.add(delta), events);
}

void ResponsesMessage::append_reasoning(std::string_view delta, std::vector<Event>& events) {
  if (delta.empty()) return;
  reasoning_ += delta;
  events.emplace_back(ReasoningDelta{.delta = std::string(delta)});
}

void ResponsesMessage::settle_reasoning(const Json& output, MessageCompleted& completed, std::vector<Event>& events) {
  std::string summary;
  std::string text;
  Json items = Json::array();
  for (const Json& item : output) {
    if (text_member(item, "type") != "reasoning") continue;
    items.push_back(item);
    const std::string part = texts_of(item, "summary", "summary_text", "text", "\n\n");
    if (!summary.empty() && !part.empty()) summary += "\n\n";
    summary += part;
    text += texts_of(item, "content", "reasoning_text", "text", "");
  }
  const std::string& shown = text.empty() ? summary : text;
  if (summary_.empty() && reasoning_.empty()) {
    if (!shown.empty()) events.emplace_back(ReasoningDelta{.delta = shown});
  } else if ((!summary.empty() && !summary.starts_with(summary_)) || (!text.empty() && !text.starts_with(reasoning_))) {
    warn("reasoning", "the final reasoning texts contradict the streamed ones");
    completed.reasoning = shown;
  }
  if (summary.empty()) summary = summary_;
  if (text.empty()) text = reasoning_;
  if (!summary.empty()) completed.metadata["reasoning"]["summary"] = std::move(summary);
  if (!text.empty()) completed.metadata["reasoning"]["text"] = std::move(text);
  if (!items.empty()) completed.metadata["reasoning_items"] = std::move(items);
}

void ResponsesMessage::settle_call(const Json& item, std::vector<Event>& events) {
  Call* call = call_of(item, events);
  if (call == nullptr) return;
  set_arguments(*call, item, events);
  call->settled = true;
  const std::string_view name = text_member(item, "name");
  if (name.empty() || name == call->name) return;
  if (!call->name.empty()) warn("name", "the final names of tool calls contradict the streamed ones");
  call->name = name;
}

MessageCompleted ResponsesMessage::complete(const Json& response, std::vector<Event>& events) {
  add_head(response);
  const Json output = output_of(response);
  MessageCompleted completed;
  append_summary(summary_joiner_.end(), events);
  append_reasoning(reasoning_joiner_.end(), events);
  settle_refusal(output);
  settle_reasoning(output, completed, events);
  settle_text(output, events);
  append_text(text_joiner_.end(), events);
  for (const Json& item : output) {
    if (is_call(item)) settle_call(item, events);
  }
  for (Call& call : calls_) {
    append_arguments(call, call.joiner.end(), events);
    ToolCall& whole = completed.message.tool_calls.emplace_back(
        tool_call_from_text(std::move(call.id), std::move(call.name), std::move(call.arguments), meter_));
    events.emplace_back(ToolCallCompleted{whole});
  }
  set_finish(completed, ending_of(response), kEndings);
  if (!refusal_.empty()) set_refused(completed, text_member(response, "status"));
  completed.message.role = Role::assistant;
  completed.message.content = std::move(text_);
  if (refusal_.empty()) {
    if (Json items = replayable_items(output); !items.is_null()) {
      completed.message.metadata[provider_] = {{"output", std::move(items)}};
    }
  } else {
    completed.metadata["refusal"] = refusal_;
  }
  if (const Json* details = find_member(response, "incomplete_details"); details != nullptr && !details->is_null()) {
    completed.metadata["incomplete_details"] = *details;
  }
  if (const Json* usage = find_member(response, "usage")) completed.usage = responses_usage(*usage);
  if (!id_.empty()) completed.id = std::move(id_);
  if (!model_.empty()) completed.model = std::move(model_);
  return completed;
}

}  // namespace allm::openai_wire
