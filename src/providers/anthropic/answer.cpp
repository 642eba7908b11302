#include "providers/anthropic/answer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "providers/anthropic/kept_blocks.hpp"
#include "providers/anthropic/usage.hpp"
#include "providers/call_ids.hpp"
#include "providers/finish.hpp"
#include "providers/provider_json.hpp"

namespace allm {
namespace {

// Real answers have a few dozen at most.
constexpr std::size_t kMaxBlocks = 4096;
// Each call after a text repeats the whole text so far in a TextCompleted. Limits the total bytes of these events.
constexpr std::size_t kMaxRepeated = 64U << 20U;

constexpr std::string_view kUnknownBlock = "it belongs to a content block that is not open";
constexpr std::string_view kWrongDelta = "it does not fit the type of its content block";
constexpr std::string_view kTooManyBlocks = "the message has more than 4096 content blocks";
constexpr std::string_view kTooManyTexts = "calls interrupt the message's text too often";

using Keep = FinishWord::Keep;
constexpr std::string_view kEndTurn = "end_turn";
constexpr std::string_view kToolUse = "tool_use";
constexpr std::array<FinishWord, 7> kEndings = {{
    {kEndTurn, FinishReason::stop, Keep::if_changed},
    {"max_tokens", FinishReason::length, Keep::if_changed},
    {kToolUse, FinishReason::tool_calls, Keep::if_changed},
    {"stop_sequence", FinishReason::stop, Keep::always},
    {"refusal", FinishReason::content_filter, Keep::always},
    {"pause_turn", FinishReason::other, Keep::always},
    {"model_context_window_exceeded", FinishReason::length, Keep::always},
}};

void note_text(std::optional<std::string>& target, std::string_view text) {
  if (!text.empty()) target = std::string(text);
}

}  // namespace

AnthropicAnswer::AnthropicAnswer(std::string answer_tool, std::optional<std::string> provider_request_id)
    : answer_tool_(std::move(answer_tool)) {
  if (provider_request_id) message_.metadata["provider_request_id"] = *std::move(provider_request_id);
}

void AnthropicAnswer::start(const Json& message, std::vector<Event>& events) {
  if (!started_) events.emplace_back(MessageStarted{assistant("")});
  started_ = true;
  note_text(message_.id, text_member(message, "id"));
  note_text(message_.model, text_member(message, "model"));
  if (const Json* counts = find_member(message, "usage")) merge_anthropic_usage(counts_, *counts);
}

AnthropicAnswer::Block* AnthropicAnswer::find_open(std::int64_t index) {
  const auto found = std::find_if(blocks_.rbegin(), blocks_.rend(),
                                  [index](const Block& block) { return block.open && block.index == index; });
  return found == blocks_.rend() ? nullptr : &*found;
}

std::string_view AnthropicAnswer::start_block(std::int64_t index, const Json& block, std::vector<Event>& events) {
  if (blocks_.size() == kMaxBlocks) return kTooManyBlocks;
  if (find_open(index) != nullptr) return "its content block is open already";
  const std::string_view type = text_member(block, "type");
  Block& added = blocks_.emplace_back(Block{.index = index, .start = block.is_object() ? block : Json::object()});
  if (type == "text") {
    added.kind = Kind::text;
    return append(index, Delta::text, text_member(block, "text"), events);
  }
  if (type == "thinking") {
    added.kind = Kind::thinking;
    added.signature = text_member(block, "signature");
    return append(index, Delta::thinking, text_member(block, "thinking"), events);
  }
  if (type == "tool_use") {
    added.call.id = text_member(block, "id");
    if (added.call.id.empty()) added.call.id = "toolu_" + std::to_string(blocks_.size());
    added.call.id = unique_call_id(std::move(added.call.id), [this](const std::string& id) {
      return std::any_of(blocks_.begin(), blocks_.end() - 1, [&id](const Block& other) { return other.call.id == id; });
    });
    // The block that is sent back needs the same id as the tool result.
    added.start["id"] = added.call.id;
    added.call.name = text_member(block, "name");
    added.kind = !answer_tool_.empty() && added.call.name == answer_tool_ ? Kind::answer : Kind::call;
    if (added.kind == Kind::answer) return {};
    if (repeated_ > kMaxRepeated) return kTooManyTexts;
    complete_text(events);
    events.emplace_back(ToolCallStarted{added.call.id, added.call.name});
  }
  return {};
}

std::string_view AnthropicAnswer::append(std::int64_t index, Delta kind, std::string_view text,
                                         std::vector<Event>& events) {
  if (text.empty()) return {};
  Block* block = find_open(index);
  // Some gateways do not send the start of a text block.
  if (block == nullptr && kind == Delta::text && blocks_.size() < kMaxBlocks) {
    block = &blocks_.emplace_back(Block{.index = index, .kind = Kind::text, .start = {{"type", "text"}}});
  }
  if (block == nullptr) return kUnknownBlock;
  if (kind == Delta::signature) {
    if (block->kind != Kind::thinking) return kWrongDelta;
    block->signature += text;
    return {};
  }
  const bool fits = (kind == Delta::text && block->kind == Kind::text) ||
                    (kind == Delta::thinking && block->kind == Kind::thinking) ||
                    (kind == Delta::input_json && block->kind != Kind::text && block->kind != Kind::thinking);
  if (!fits) return kWrongDelta;
  append_body(*block, block->joiner.add(text), events);
  return {};
}

void AnthropicAnswer::append_body(Block& block, std::string_view text, std::vector<Event>& events) {
  if (text.empty()) return;
  block.body += text;
  if (block.kind == Kind::text || block.kind == Kind::answer) {
    events.emplace_back(TextDelta{.delta = std::string(text)});
  } else if (block.kind == Kind::thinking) {
    events.emplace_back(ReasoningDelta{.delta = std::string(text)});
  } else if (block.kind == Kind::call) {
    events.emplace_back(ToolCallDelta{block.call.id, std::string(text)});
  }
}

std::string_view AnthropicAnswer::add_citation(std::int64_t index, const Json& citation) {
  Block* block = find_open(index);
  if (block == nullptr) return kUnknownBlock;
  Json& citations = block->start["citations"];
  if (!citations.is_array()) citations = Json::array();
  citations.push_back(citation);
  return {};
}

void AnthropicAnswer::stop_block(std::int64_t index, std::vector<Event>& events) {
  if (Block* block = find_open(index)) stop(*block, events);
}

void AnthropicAnswer::stop(Block& block, std::vector<Event>& events) {
  block.open = false;
  append_body(block, block.joiner.end(), events);
  switch (block.kind) {
    case Kind::text:
      text_pending_ = text_pending_ || !block.body.empty();
      break;
    case Kind::answer:
    case Kind::call: {
      // The `input` in the block's start is a placeholder, unless no delta follows.
      const Json* input = find_member(block.start, "input");
      if (block.body.empty() && input != nullptr && input->is_object() && !input->empty()) {
        block.body = write_json(*input).value_or("");
        if (block.kind == Kind::answer) events.emplace_back(TextDelta{.delta = block.body});
      }
      if (block.kind == Kind::answer) {
        text_pending_ = true;
        break;
      }
      block.call = tool_call_from_text(std::move(block.call.id), std::move(block.call.name), std::move(block.body));
      events.emplace_back(ToolCallCompleted{block.call});
      break;
    }
    case Kind::other:
      if (block.body.empty()) break;
      if (std::optional<Json> input = parse_provider_json(block.body)) block.start["input"] = *std::move(input);
      break;
    case Kind::thinking:
      break;
  }
}

void AnthropicAnswer::note_end(const Json& end, const Json* counts) {
  if (const std::string_view reason = text_member(end, "stop_reason"); !reason.empty()) stop_reason_ = reason;
  if (const Json* sequence = find_member(end, "stop_sequence")) message_.metadata["stop_sequence"] = *sequence;
  // Why the provider refused to answer.
  if (const Json* details = find_member(end, "stop_details")) message_.metadata["stop_details"] = *details;
  if (counts != nullptr) merge_anthropic_usage(counts_, *counts);
}

bool AnthropicAnswer::answered_by_tool() const {
  return std::ranges::any_of(blocks_, [](const Block& block) { return block.kind == Kind::answer; });
}

std::string AnthropicAnswer::text() const {
  // Text around a structured answer is not part of it.
  const Kind kind = answered_by_tool() ? Kind::answer : Kind::text;
  std::string whole;
  for (const Block& block : blocks_) {
    if (block.kind == kind) whole += block.body;
  }
  return whole;
}

void AnthropicAnswer::complete_text(std::vector<Event>& events) {
  if (!std::exchange(text_pending_, false)) return;
  std::string whole = text();
  repeated_ += whole.size();
  events.emplace_back(TextCompleted{.text = std::move(whole)});
}

Json AnthropicAnswer::content_blocks() const {
  Json blocks = Json::array();
  for (const Block& block : blocks_) {
    if (block.kind == Kind::text && block.body.empty()) continue;
    Json& content = blocks.emplace_back(block.start);
    if (block.kind == Kind::text) content["text"] = block.body;
    if (block.kind == Kind::call) content["input"] = block.call.arguments;
    if (block.kind == Kind::thinking) {
      content["thinking"] = block.body;
      content["signature"] = block.signature;
    }
  }
  return blocks;
}

MessageCompleted AnthropicAnswer::complete(std::vector<Event>& events) {
  for (Block& block : blocks_) {
    if (block.open) stop(block, events);
  }
  complete_text(events);
  message_.message = assistant(text());
  for (const Block& block : blocks_) {
    if (block.kind == Kind::call) message_.message.tool_calls.push_back(block.call);
  }
  const bool by_tool = answered_by_tool();
  if (by_tool) {
    message_.metadata["structured_output_tool"] = true;
  } else {
    keep_blocks(message_.message, content_blocks());
  }

  // The call that carried the answer is not a call to run.
  const bool is_answer = by_tool && stop_reason_ == kToolUse && message_.message.tool_calls.empty();
  set_finish(message_, is_answer ? kEndTurn : std::string_view(stop_reason_), kEndings);
  if (!counts_.empty()) message_.usage = anthropic_usage(counts_);
  return std::move(message_);
}

}  // namespace allm
