#include "providers/openai/chat_message.hpp"

#include <array>
#include <utility>

#include "providers/finish.hpp"
#include "providers/openai/usage.hpp"
#include "providers/provider_json.hpp"

namespace allm::openai_wire {
namespace {

using Keep = FinishWord::Keep;
constexpr std::array<FinishWord, 7> kFinishes = {{
    {"stop", FinishReason::stop, Keep::if_changed},
    {"length", FinishReason::length, Keep::if_changed},
    {"tool_calls", FinishReason::tool_calls, Keep::if_changed},
    {"content_filter", FinishReason::content_filter, Keep::if_changed},
    {"function_call", FinishReason::tool_calls, Keep::always},
    {"model_length", FinishReason::length, Keep::always},
    {"eos", FinishReason::stop, Keep::always},
}};

// The arguments of a call as text: some servers send the object itself.
std::string arguments_of(const Json& function) {
  const Json* arguments = find_member(function, "arguments");
  if (arguments == nullptr) return {};
  if (arguments->is_string()) return arguments->get<std::string>();
  return write_json(*arguments).value_or("");
}

// Of a piece of reasoning. Servers send half a dozen, and each is looked for in the piece before.
constexpr std::size_t kMaxDetailMembers = 64;

bool is_first_choice(const Json& choice) { return integer_member(choice, "index").value_or(0) == 0; }

}  // namespace

ChatMessage::ChatMessage(const std::string& provider, const OpenAiQuirks& quirks, const std::string& id_seed)
    : provider_(provider),
      quirks_(quirks),
      slots_(id_seed, provider, quirks.tool_ids == OpenAiQuirks::ToolIds::nine_alphanumerics) {}

bool ChatMessage::add(const FastChunk& chunk, std::vector<Event>& events) {
  if (chunk.begins_call()) {
    const CallFragment fragment{
        .index = chunk.call_index, .id = chunk.call_id, .name = chunk.call_name, .arguments = chunk.arguments};
    if (!slots_.add(fragment, events)) return false;
  } else if (chunk.call_index >= 0 && !slots_.extend(chunk.call_index, chunk.arguments, events)) {
    return false;
  }
  if (id_.empty()) id_ = chunk.id;
  if (model_.empty()) model_ = chunk.model;
  add_reasoning(chunk.reasoning, events);
  add_text(chunk.text, events);
  if (!chunk.finish.empty()) finish_ = chunk.finish;
  return true;
}

std::optional<std::string> ChatMessage::add(const Json& chunk, std::vector<Event>& events) {
  add_head(chunk);
  const Json* choices = find_member(chunk, "choices");
  if (choices == nullptr || !choices->is_array()) return std::nullopt;
  for (const Json& choice : *choices) {
    if (!choice.is_object() || !is_first_choice(choice)) continue;
    const Json* delta = find_member(choice, "delta");
    if (delta == nullptr) delta = find_member(choice, "message");
    if (delta != nullptr) {
      if (auto error = add_delta(*delta, events)) return error;
    }
    if (const std::string_view finish = text_member(choice, "finish_reason"); !finish.empty()) finish_ = finish;
  }
  return std::nullopt;
}

void ChatMessage::add_head(const Json& chunk) {
  if (id_.empty()) id_ = text_member(chunk, "id");
  if (model_.empty()) model_ = text_member(chunk, "model");
  const Json* usage = find_member(chunk, "usage");
  if (usage == nullptr) {
    if (const Json* groq = find_member(chunk, "x_groq")) usage = find_member(*groq, "usage");
  }
  if (usage != nullptr && usage->is_object() && !usage->empty()) usage_ = chat_usage(*usage);
}

std::optional<std::string> ChatMessage::add_delta(const Json& delta, std::vector<Event>& events) {
  std::string_view reasoning = text_member(delta, "reasoning_content");
  if (reasoning.empty()) reasoning = text_member(delta, "reasoning");
  add_reasoning(reasoning, events);
  if (const Json* details = find_member(delta, "reasoning_details")) add_reasoning_details(*details);
  if (const Json* content = find_member(delta, "content")) add_content(*content, events);
  refusal_ += refusal_joiner_.add(text_member(delta, "refusal"));
  if (const Json* calls = find_member(delta, "tool_calls")) return add_calls(*calls, events);
  // The deprecated form of 2023, with at most one call.
  if (const Json* function = find_member(delta, "function_call"); function != nullptr && function->is_object()) {
    const std::string arguments = arguments_of(*function);
    const CallFragment fragment{.index = 0, .name = text_member(*function, "name"), .arguments = arguments};
    if (!slots_.add(fragment, events)) return slots_.error();
  }
  return std::nullopt;
}

void ChatMessage::add_content(const Json& content, std::vector<Event>& events) {
  if (content.is_string()) return add_text(content.get_ref<const std::string&>(), events);
  if (!content.is_array()) return;
  for (const Json& part : content) {
    add_text(text_member(part, "text"), events);
    refusal_ += refusal_joiner_.add(text_member(part, "refusal"));
    const Json* thinking = find_member(part, "thinking");
    if (thinking == nullptr || !thinking->is_array()) continue;
    for (const Json& thought : *thinking) add_reasoning(text_member(thought, "text"), events);
  }
}

void ChatMessage::add_reasoning(std::string_view text, std::vector<Event>& events) {
  append_reasoning(reasoning_joiner_.add(text), events);
}

void ChatMessage::append_reasoning(std::string_view text, std::vector<Event>& events) {
  if (text.empty()) return;
  reasoning_ += text;
  events.emplace_back(ReasoningDelta{.delta = std::string(text)});
}

void ChatMessage::add_text(std::string_view text, std::vector<Event>& events) {
  append_text(text_joiner_.add(text), events);
}

void ChatMessage::append_text(std::string_view text, std::vector<Event>& events) {
  if (text.empty()) return;
  text_ += text;
  events.emplace_back(TextDelta{.delta = std::string(text)});
}

std::optional<std::string> ChatMessage::add_calls(const Json& calls, std::vector<Event>& events) {
  if (!calls.is_array()) return std::nullopt;
  const Json nothing = Json::object();
  for (const Json& call : calls) {
    if (!call.is_object()) continue;
    const Json* function = find_member(call, "function");
    if (function == nullptr) function = &nothing;
    const std::string arguments = arguments_of(*function);
    CallFragment fragment{.index = integer_member(call, "index"),
                          .id = text_member(call, "id"),
                          .name = text_member(*function, "name"),
                          .arguments = arguments};
    // Early builds of llama.cpp send it there.
    if (fragment.id.empty()) fragment.id = text_member(*function, "id");
    if (const Json* extra = find_member(call, "extra_content")) fragment.extra = *extra;
    if (!slots_.add(fragment, events)) return slots_.error();
  }
  return std::nullopt;
}

void ChatMessage::add_reasoning_details(const Json& details) {
  if (!details.is_array()) return;
  if (!reasoning_details_.is_array()) reasoning_details_ = Json::array();
  for (const Json& detail : details) {
    if (!detail.is_object()) continue;
    // A detail comes in pieces: texts are appended, other members come once.
    Json* last = reasoning_details_.empty() ? nullptr : &reasoning_details_.back();
    if (last == nullptr || last->value("index", Json()) != detail.value("index", Json()) ||
        text_member(*last, "type") != text_member(detail, "type")) {
      reasoning_details_.push_back(detail);
      continue;
    }
    if (detail.size() > kMaxDetailMembers) continue;
    for (const auto& [name, value] : detail.items()) {
      const bool continues = name == "text" || name == "summary" || name == "data";
      Json& known = (*last)[name];
      if (continues && known.is_string() && value.is_string()) {
        known.get_ref<std::string&>() += value.get_ref<const std::string&>();
      } else if (!value.is_null()) {
        known = value;
      }
    }
  }
}

Json ChatMessage::provider_state() {
  Json state = Json::object();
  if (!reasoning_.empty() && quirks_.echo_reasoning == OpenAiQuirks::EchoReasoning::always) {
    state["reasoning_content"] = reasoning_;
  }
  if (reasoning_details_.is_array() && !reasoning_details_.empty()) {
    state["reasoning_details"] = std::move(reasoning_details_);
  }
  return state;
}

std::expected<MessageCompleted, std::string> ChatMessage::complete(std::vector<Event>& events) {
  append_reasoning(reasoning_joiner_.end(), events);
  append_text(text_joiner_.end(), events);
  refusal_ += refusal_joiner_.end();
  std::expected<std::vector<ToolCall>, std::string> calls = slots_.complete(events);
  if (!calls) return std::unexpected(std::move(calls).error());
  MessageCompleted completed{.message = assistant(std::move(text_)), .usage = std::move(usage_)};
  completed.message.tool_calls = *std::move(calls);
  if (Json state = provider_state(); !state.empty()) {
    completed.message.metadata[provider_] = std::move(state);
  }
  set_finish(completed, finish_, kFinishes);
  if (!refusal_.empty()) set_refused(completed, finish_);
  if (!id_.empty()) completed.id = std::move(id_);
  if (!model_.empty()) completed.model = std::move(model_);
  if (!reasoning_.empty()) completed.metadata["reasoning"] = {{"text", std::move(reasoning_)}};
  if (!refusal_.empty()) completed.metadata["refusal"] = refusal_;
  return completed;
}

}  // namespace allm::openai_wire
