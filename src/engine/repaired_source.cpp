#include "engine/repaired_source.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "allm/serialize.hpp"

#include "data/overloaded.hpp"
#include "data/text_sink.hpp"
#include "data/utf8.hpp"
#include "data/utf8_repair.hpp"

namespace allm {
namespace {

void repair_text(std::string& text) {
  if (!is_utf8(text)) text = repair_utf8(text);
}
void repair_text(std::optional<std::string>& text) {
  if (text) repair_text(*text);
}

// Half of the depth that JSON is written with, because the value will be nested in messages, threads and sessions.
constexpr std::size_t kMaxDepth = codec::kMaxNesting / 2;

bool is_writable(const Json& value, std::size_t depth = 0) {
  if (depth > kMaxDepth) return false;
  switch (value.type()) {
    case Json::value_t::string:
      return is_utf8(value.get_ref<const std::string&>());
    case Json::value_t::number_float:
      return std::isfinite(value.get<double>());
    case Json::value_t::array:
      return std::ranges::all_of(value, [depth](const Json& element) { return is_writable(element, depth + 1); });
    case Json::value_t::object:
      return std::ranges::all_of(value.items(), [depth](const auto& item) {
        return is_utf8(item.key()) && is_writable(item.value(), depth + 1);
      });
    case Json::value_t::binary:
    case Json::value_t::discarded:
      return false;
    default:
      return true;
  }
}

// Values that JSON cannot express become null.
Json repaired(const Json& value, std::size_t depth = 0) {
  if (depth > kMaxDepth) return nullptr;
  if (value.is_string()) return repair_utf8(value.get_ref<const std::string&>());
  if (value.is_object()) {
    Json::object_t object;
    object.reserve(value.size());
    std::unordered_map<std::string, std::size_t> places;  // two keys may become one
    for (const auto& [key, member] : value.items()) {
      std::string name = repair_utf8(key);
      const auto [place, is_new] = places.try_emplace(name, object.size());
      if (is_new) object.emplace_back(std::move(name), nullptr);
      (object.begin() + static_cast<std::ptrdiff_t>(place->second))->second = repaired(member, depth + 1);
    }
    return object;
  }
  if (value.is_array()) {
    Json array = Json::array();
    for (const Json& element : value) array.push_back(repaired(element, depth + 1));
    return array;
  }
  return is_writable(value) ? value : Json(nullptr);
}

void repair_json(Json& value) {
  if (!is_writable(value)) value = repaired(value);
}

void repair_call(ToolCall& call) {
  repair_text(call.id);
  repair_text(call.name);
  repair_text(call.raw_arguments);
  repair_json(call.arguments);
  repair_json(call.metadata);
  repair_json(call.unknown_fields);
}

// Media that cannot be written are dropped: they have no text that could be repaired.
void repair_media(Part& part) {
  const bool writable = std::visit(
      Overloaded{[](const UnknownPart&) { return true; }, [](const auto& media) { return to_json(media).has_value(); }},
      part);
  if (!writable) part = TextPart{};
}

void repair_part(Part& part) {
  if (auto* text = std::get_if<TextPart>(&part)) {
    repair_text(text->text);
    repair_json(text->metadata);
    repair_json(text->unknown_fields);
  } else if (auto* unknown = std::get_if<UnknownPart>(&part)) {
    repair_json(unknown->value);
  } else {
    repair_media(part);
  }
}

void repair_message(Message& message) {
  if (auto* text = std::get_if<std::string>(&message.content)) {
    repair_text(*text);
  } else {
    for (Part& part : std::get<std::vector<Part>>(message.content)) repair_part(part);
  }
  repair_text(message.name);
  repair_text(message.tool_call_id);
  for (ToolCall& call : message.tool_calls) repair_call(call);
  repair_json(message.metadata);
  repair_json(message.unknown_fields);
}

void repair_completed(MessageCompleted& completed) {
  repair_message(completed.message);
  repair_text(completed.id);
  repair_text(completed.model);
  repair_text(completed.raw_finish_reason);
  repair_text(completed.reasoning);
  repair_json(completed.metadata);
  if (completed.usage) {
    repair_json(completed.usage->extra);
    repair_json(completed.usage->tool_usage);
  }
}

void repair_error(Error& error) {
  if (is_utf8(error.message()) && is_writable(error.metadata()) && is_writable(error.reported_cause())) return;
  error = std::visit(
      [&](const auto& detail) {
        return Error(detail, repair_utf8(error.message()), repaired(error.metadata()), repaired(error.reported_cause()))
            .with_cause(error.cause());
      },
      error.detail());
}

// Most events are such deltas.
bool is_valid_text_delta(const Event& event) {
  const auto* text = event.get_if<TextDelta>();
  return text != nullptr && is_utf8(text->delta) && (!text->id || is_utf8(*text->id));
}

}  // namespace

// One object is returned on all paths, so that the event of the source is not moved.
Poll RepairedSource::poll(const Waker& waker) {
  const bool is_ready = ready_at_ < ready_.size();
  Poll polled = is_ready ? Poll(std::move(ready_[ready_at_])) : source_->poll(waker);
  if (is_ready) {
    ++ready_at_;
  } else if (polled.has_event() && !(tails_.empty() && is_valid_text_delta(polled.event()))) {
    repair_polled(polled);
  }
  return polled;
}

void RepairedSource::repair_polled(Poll& polled) {
  repair(polled.event());
  if (tails_.empty()) return;
  ready_.clear();
  ready_at_ = 0;
  end_tails(polled.event());
  if (ready_.empty()) return;
  ready_.push_back(polled.take());
  polled = Poll(std::move(ready_[ready_at_++]));
}

void RepairedSource::repair(Event& event) {
  if (auto* text = event.get_if<TextDelta>()) {
    repair_text(text->id);
    repair_delta(EventTag::text_delta, text->id, text->delta);
  } else if (auto* reasoning = event.get_if<ReasoningDelta>()) {
    repair_delta(EventTag::reasoning_delta, std::nullopt, reasoning->delta);
  } else if (auto* delta = event.get_if<ToolCallDelta>()) {
    repair_text(delta->id);
    repair_delta(EventTag::tool_call_delta, delta->id, delta->arguments_delta);
  } else if (auto* whole = event.get_if<TextCompleted>()) {
    repair_text(whole->id);
    repair_text(whole->text);
  } else if (auto* thought = event.get_if<ReasoningCompleted>()) {
    repair_text(thought->text);
  } else if (auto* started = event.get_if<ToolCallStarted>()) {
    repair_text(started->id);
    repair_text(started->name);
  } else if (auto* called = event.get_if<ToolCallCompleted>()) {
    repair_call(called->call);
  } else if (auto* begun = event.get_if<MessageStarted>()) {
    repair_message(begun->message);
  } else if (auto* completed = event.get_if<MessageCompleted>()) {
    repair_completed(*completed);
  } else if (auto* chunk = event.get_if<RawChunk>()) {
    repair_json(chunk->chunk);
  } else if (auto* failed = event.get_if<ErrorEvent>()) {
    repair_error(failed->error);
  }
}

void RepairedSource::repair_delta(EventTag tag, const std::optional<std::string>& id, std::string& delta) {
  if (tails_.empty() && is_utf8(delta)) return;
  const auto tail =
      std::ranges::find_if(tails_, [&](const Tail& candidate) { return candidate.tag == tag && candidate.id == id; });
  if (tail != tails_.end()) {
    delta.insert(0, tail->bytes);
    tails_.erase(tail);
  }
  const std::size_t incomplete = incomplete_utf8_tail(delta);
  if (incomplete > 0) {
    tails_.push_back({tag, id, delta.substr(delta.size() - incomplete)});
    delta.resize(delta.size() - incomplete);
  }
  repair_text(delta);
}

void RepairedSource::drop_tails(EventTag tag, const std::optional<std::string>& id) {
  std::erase_if(tails_, [&](const Tail& tail) { return tail.tag == tag && tail.id == id; });
}

void RepairedSource::end_tails(const Event& event) {
  const EventTag tag = event.tag();
  // The complete text replaces its deltas.
  if (const auto* text = event.get_if<TextCompleted>()) drop_tails(EventTag::text_delta, text->id);
  if (const auto* called = event.get_if<ToolCallCompleted>()) drop_tails(EventTag::tool_call_delta, called->call.id);
  if (tag == EventTag::reasoning_completed) drop_tails(EventTag::reasoning_delta, std::nullopt);
  const bool ends_message = tag == EventTag::message_completed || tag == EventTag::error;
  const bool ends_reasoning = tag != EventTag::reasoning_delta && tag != EventTag::raw_chunk;
  std::erase_if(tails_, [&](const Tail& tail) {
    if (tail.tag == EventTag::reasoning_delta) {
      if (ends_reasoning) ready_.emplace_back(ReasoningDelta{.delta = repair_utf8(tail.bytes)});
      return ends_reasoning;
    }
    if (ends_message && tail.tag == EventTag::text_delta) {
      ready_.emplace_back(TextDelta{.id = tail.id, .delta = repair_utf8(tail.bytes)});
    }
    return ends_message;
  });
}

}  // namespace allm
