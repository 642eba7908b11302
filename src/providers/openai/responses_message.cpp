#include "providers/openai/responses_message.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "providers/call_ids.hpp"
#include "providers/finish.hpp"
#include "providers/openai/request.hpp"
#include "providers/openai/responses_state.hpp"
#include "providers/openai/usage.hpp"
#include "providers/provider_json.hpp"

namespace allm::openai_wire {
namespace {

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

bool ResponsesMessage::add_arguments(std::string_view item_id, std::string_view delta, std::vector<Event>& events) {
  const auto call = std::find_if(calls_.rbegin(), calls_.rend(), [&](const Call& c) { return c.item_id == item_id; });
  if (call == calls_.rend()) return false;
  append_arguments(*call, call->joiner.add(delta), events);
  return true;
}

void ResponsesMessage::append_arguments(Call& call, std::string_view delta, std::vector<Event>& events) {
  if (delta.empty()) return;
  call.arguments += delta;
  call.shown = call.arguments.size();
  events.emplace_back(ToolCallDelta{.id = call.id, .arguments_delta = std::string(delta)});
}

ResponsesMessage::Call& ResponsesMessage::call_of(const Json& item, std::vector<Event>& events) {
  const std::string_view item_id = text_member(item, "id");
  const std::string_view call_id = text_member(item, "call_id");
  const auto known = std::ranges::find_if(calls_, [&](const Call& call) {
    if (call.settled) return false;
    // Two items are two calls, even if they have the same call id.
    if (!item_id.empty() && !call.item_id.empty()) return call.item_id == item_id;
    return !call_id.empty() && call.wire_id == call_id;
  });
  if (known != calls_.end()) return *known;
  std::string id(call_id);
  if (id.empty()) id = "call_" + short_hash(id_seed_ + '/' + std::to_string(calls_.size()), 24);
  id = unique_call_id(std::move(id), [this](const std::string& taken) {
    return std::ranges::find(calls_, taken, &Call::id) != calls_.end();
  });
  Call& call =
      calls_.emplace_back(Call{.item_id = std::string(item_id), .wire_id = std::string(call_id), .id = std::move(id)});
  call.name = text_member(item, "name");
  events.emplace_back(ToolCallStarted{.id = call.id, .name = call.name});
  return call;
}

void ResponsesMessage::set_arguments(Call& call, const Json& item, std::vector<Event>& events) {
  const Json* arguments = find_member(item, "arguments");
  if (arguments == nullptr) return;
  std::string text = arguments->is_string() ? arguments->get<std::string>() : write_json(*arguments).value_or("");
  if (text.empty()) return;
  call.joiner.drop();
  if (call.shown == 0) events.emplace_back(ToolCallDelta{.id = call.id, .arguments_delta = text});
  call.arguments = std::move(text);
  call.shown = call.arguments.size();
}

bool ResponsesMessage::begin_item(const Json& item, std::vector<Event>& events) {
  if (calls_.size() >= kMaxItems) return false;
  if (is_call(item)) set_arguments(call_of(item, events), item, events);
  return true;
}

bool ResponsesMessage::end_item(std::int64_t index, const Json& item, std::vector<Event>& events) {
  if (calls_.size() >= kMaxItems || items_.size() >= kMaxItems) return false;
  if (is_call(item)) set_arguments(call_of(item, events), item, events);
  items_[index] = item;
  return true;
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

void ResponsesMessage::settle_text(const Json& output, std::vector<Event>& events) {
  std::string text;
  std::string refusal;
  for (const Json& item : output) {
    if (text_member(item, "type") != "message") continue;
    text += item_text(item);
    refusal += texts_of(item, "content", "refusal", "refusal", "");
  }
  if (!refusal.empty()) refusal_ = std::move(refusal);
  if (text.empty()) return;
  text_joiner_.drop();
  if (text == text_) return;
  if (text.starts_with(text_)) return append_text(std::string_view(text).substr(text_.size()), events);
  events.emplace_back(TextCompleted{.text = text});
  text_ = std::move(text);
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

void ResponsesMessage::settle_reasoning(const Json& output, MessageCompleted& completed,
                                        std::vector<Event>& events) const {
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
  if (summary_.empty() && reasoning_.empty() && !(summary.empty() && text.empty())) {
    events.emplace_back(ReasoningDelta{.delta = text.empty() ? summary : text});
  }
  if (summary.empty()) summary = summary_;
  if (text.empty()) text = reasoning_;
  if (!summary.empty()) completed.metadata["reasoning"]["summary"] = std::move(summary);
  if (!text.empty()) completed.metadata["reasoning"]["text"] = std::move(text);
  if (!items.empty()) completed.metadata["reasoning_items"] = std::move(items);
}

MessageCompleted ResponsesMessage::complete(const Json& response, std::vector<Event>& events) {
  add_head(response);
  const Json output = output_of(response);
  MessageCompleted completed;
  append_summary(summary_joiner_.end(), events);
  append_reasoning(reasoning_joiner_.end(), events);
  refusal_ += refusal_joiner_.end();
  settle_reasoning(output, completed, events);
  settle_text(output, events);
  append_text(text_joiner_.end(), events);
  for (const Json& item : output) {
    if (!is_call(item)) continue;
    Call& call = call_of(item, events);
    set_arguments(call, item, events);
    call.settled = true;
  }
  for (Call& call : calls_) {
    append_arguments(call, call.joiner.end(), events);
    ToolCall& whole = completed.message.tool_calls.emplace_back(
        tool_call_from_text(std::move(call.id), std::move(call.name), std::move(call.arguments)));
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
