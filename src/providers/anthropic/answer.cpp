#include "providers/anthropic/answer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "providers/anthropic/kept_blocks.hpp"
#include "providers/anthropic/usage.hpp"
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
constexpr std::string_view kTooManyBlocks = "the message has more than 4096 content blocks that are not calls";
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
  // Most deltas belong to the last block.
  if (!blocks_.empty() && blocks_.back().open && blocks_.back().index == index) return &blocks_.back();
  const auto found = open_.find(index);
  return found == open_.end() ? nullptr : &blocks_[found->second];
}

AnthropicAnswer::Block& AnthropicAnswer::open(std::int64_t index, Kind kind, Json start) {
  open_[index] = blocks_.size();
  return blocks_.emplace_back(Block{.index = index, .kind = kind, .start = std::move(start)});
}

std::string AnthropicAnswer::start_block(std::int64_t index, const Json& block, std::vector<Event>& events) {
  if (blocks_.size() >= kMaxBlocks + meter_.limits().max_calls) return std::string(kTooManyBlocks);
  if (find_open(index) != nullptr) return "its content block is open already";
  const std::string_view type = text_member(block, "type");
  Block& added = open(index, Kind::other, block.is_object() ? block : Json::object());
  if (type == "text") {
    added.kind = Kind::text;
    return append(index, Delta::text, text_member(block, "text"), events);
  }
  if (type == "thinking") {
    added.kind = Kind::thinking;
    added.signature = text_member(block, "signature");
    return append(index, Delta::thinking, text_member(block, "thinking"), events);
  }
  return type == "tool_use" ? start_call(added, block, events) : std::string();
}

std::string AnthropicAnswer::start_call(Block& added, const Json& block, std::vector<Event>& events) {
  added.call.id = text_member(block, "id");
  if (added.call.id.empty()) added.call.id = "toolu_" + std::to_string(blocks_.size());
  added.call.id = ids_.add(std::move(added.call.id));
  // The block that is sent back needs the same id as the tool result.
  added.start["id"] = added.call.id;
  added.call.name = text_member(block, "name");
  added.kind = !answer_tool_.empty() && added.call.name == answer_tool_ ? Kind::answer : Kind::call;
  if (added.kind == Kind::answer) {
    answered_by_tool_ = true;
    return {};
  }
  if (!meter_.add_call() || !meter_.add_bytes(added.call.id.size() + added.call.name.size())) return meter_.error();
  if (repeated_ > kMaxRepeated) return std::string(kTooManyTexts);
  complete_text(events);
  events.emplace_back(ToolCallStarted{added.call.id, added.call.name});
  return {};
}

std::string AnthropicAnswer::append(std::int64_t index, Delta kind, std::string_view text, std::vector<Event>& events) {
  if (text.empty()) return {};
  Block* block = find_open(index);
  // Some gateways do not send the start of a text block.
  if (block == nullptr && kind == Delta::text && blocks_.size() < kMaxBlocks) {
    block = &open(index, Kind::text, {{"type", "text"}});
  }
  if (block == nullptr) return std::string(kUnknownBlock);
  if (kind == Delta::signature) {
    if (block->kind != Kind::thinking) return std::string(kWrongDelta);
    block->signature += text;
    return {};
  }
  if (block->kind == Kind::call && !meter_.add_bytes(text.size())) return meter_.error();
  const bool fits = (kind == Delta::text && block->kind == Kind::text) ||
                    (kind == Delta::thinking && block->kind == Kind::thinking) ||
                    (kind == Delta::input_json && block->kind != Kind::text && block->kind != Kind::thinking);
  if (!fits) return std::string(kWrongDelta);
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

std::string AnthropicAnswer::add_citation(std::int64_t index, const Json& citation) {
  Block* block = find_open(index);
  if (block == nullptr) return std::string(kUnknownBlock);
  Json& citations = block->start["citations"];
  if (!citations.is_array()) citations = Json::array();
  citations.push_back(citation);
  return {};
}

std::string AnthropicAnswer::stop_block(std::int64_t index, std::vector<Event>& events) {
  if (Block* block = find_open(index)) stop(*block, events);
  return meter_.error();
}

void AnthropicAnswer::stop(Block& block, std::vector<Event>& events) {
  block.open = false;
  open_.erase(block.index);
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
        if (block.kind == Kind::call && !meter_.add_bytes(block.body.size())) break;
        if (block.kind == Kind::answer) events.emplace_back(TextDelta{.delta = block.body});
      }
      if (block.kind == Kind::answer) {
        text_pending_ = true;
        break;
      }
      block.call =
          tool_call_from_text(std::move(block.call.id), std::move(block.call.name), std::move(block.body), meter_);
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

std::string AnthropicAnswer::text() const {
  // Text around a structured answer is not part of it.
  const Kind kind = answered_by_tool_ ? Kind::answer : Kind::text;
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

std::expected<MessageCompleted, std::string> AnthropicAnswer::complete(std::vector<Event>& events) {
  for (Block& block : blocks_) {
    if (block.open) stop(block, events);
  }
  if (meter_.is_exceeded()) return std::unexpected(meter_.error());
  complete_text(events);
  message_.message = assistant(text());
  for (const Block& block : blocks_) {
    if (block.kind == Kind::call) message_.message.tool_calls.push_back(block.call);
  }
  if (answered_by_tool_) {
    message_.metadata["structured_output_tool"] = true;
  } else {
    keep_blocks(message_.message, content_blocks());
  }

  // The call that carried the answer is not a call to run.
  const bool is_answer = answered_by_tool_ && stop_reason_ == kToolUse && message_.message.tool_calls.empty();
  set_finish(message_, is_answer ? kEndTurn : std::string_view(stop_reason_), kEndings);
  if (!counts_.empty()) message_.usage = anthropic_usage(counts_);
  return std::move(message_);
}

}  // namespace allm
