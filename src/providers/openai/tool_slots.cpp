#include "providers/openai/tool_slots.hpp"

#include <algorithm>
#include <utility>

#include "providers/openai/request.hpp"
#include "providers/provider_json.hpp"

namespace allm::openai_wire {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

void ObjectScan::add(std::string_view text) {
  for (const char c : text) state_ = step(c);
}

ObjectScan::State ObjectScan::step(char c) {
  switch (state_) {
    case State::before:
      if (is_blank(c)) return State::before;
      depth_ = 1;
      return c == '{' ? State::inside : State::none;
    case State::inside:
      if (c == '"') return State::string;
      if (c == '{' || c == '[') ++depth_;
      if ((c == '}' || c == ']') && --depth_ == 0) return State::whole;
      return State::inside;
    case State::string:
      if (c == '\\') return State::escape;
      return c == '"' ? State::inside : State::string;
    case State::escape:
      return State::string;
    case State::whole:
      return is_blank(c) ? State::whole : State::none;
    case State::none:
      break;
  }
  return State::none;
}

ToolSlots::ToolSlots(std::string id_seed, std::string provider, bool short_ids)
    : id_seed_(std::move(id_seed)), provider_(std::move(provider)), short_ids_(short_ids) {}

ToolSlots::Slot* ToolSlots::find_index(std::int64_t index) {
  // The last match, because some servers reuse an index for the next call. Most fragments belong to the last call.
  if (!slots_.empty() && slots_.back().index == index) return &slots_.back();
  const auto found = by_index_.find(index);
  return found == by_index_.end() ? nullptr : &slots_[found->second];
}

ToolSlots::Slot* ToolSlots::find(const CallFragment& fragment) {
  if (fragment.index) {
    Slot* slot = find_index(*fragment.index);
    if (slot == nullptr) return nullptr;
    if (!fragment.id.empty() && !slot->wire_id.empty()) return slot->wire_id == fragment.id ? slot : nullptr;
    // A name for a call that is already complete begins the next call, under the same index.
    const bool begins_anew = !fragment.name.empty() && !slot->name.empty() && slot->scan.is_whole();
    return begins_anew ? nullptr : slot;
  }
  if (!fragment.id.empty()) {
    const auto found = by_wire_id_.find(std::string(fragment.id));
    if (found == by_wire_id_.end()) return nullptr;
    Slot& slot = slots_[found->second];
    // Without an index, a name for a call that is already complete begins another call with the same id.
    const bool begins_anew = !fragment.name.empty() && slot.scan.is_whole();
    return begins_anew ? nullptr : &slot;
  }
  return fragment.name.empty() && !slots_.empty() ? &slots_.back() : nullptr;
}

ToolSlots::Slot* ToolSlots::begin(const CallFragment& fragment) {
  if (!meter_.add_call()) return nullptr;
  Slot& slot = slots_.emplace_back();
  slot.index = fragment.index;
  if (slot.index) by_index_[*slot.index] = slots_.size() - 1;
  return &slot;
}

bool ToolSlots::add(const CallFragment& fragment, std::vector<Event>& events) {
  if (!meter_.add_bytes(fragment.id.size() + fragment.name.size() + fragment.arguments.size())) return false;
  Slot* slot = find(fragment);
  if (slot == nullptr) slot = begin(fragment);
  if (slot == nullptr) return false;
  if (slot->wire_id.empty() && !fragment.id.empty()) {
    slot->wire_id = fragment.id;
    std::size_t& last = by_wire_id_[slot->wire_id];
    last = std::max(last, static_cast<std::size_t>(slot - slots_.data()));
  }
  if (slot->name.empty()) slot->name = fragment.name;
  if (!fragment.extra.is_null()) slot->extra = fragment.extra;
  append(*slot, slot->joiner.add(fragment.arguments));
  show(*slot, events);
  return true;
}

void ToolSlots::append(Slot& slot, std::string_view arguments) {
  slot.arguments += arguments;
  slot.scan.add(arguments);
}

bool ToolSlots::extend(std::int64_t index, std::string_view arguments, std::vector<Event>& events) {
  Slot* slot = find_index(index);
  if (slot == nullptr || !slot->started || !meter_.add_bytes(arguments.size())) return false;
  arguments = slot->joiner.add(arguments);
  if (arguments.empty()) return true;
  append(*slot, arguments);
  slot->shown = slot->arguments.size();
  events.emplace_back(ToolCallDelta{.id = slot->id, .arguments_delta = std::string(arguments)});
  return true;
}

std::string ToolSlots::unique_id(std::string_view wire_id) {
  std::string id(wire_id);
  if (id.empty()) {
    const std::string source = id_seed_ + '/' + std::to_string(slots_.size()) + "/0/";
    id = short_ids_ ? short_hash(source, 9) : "call_" + short_hash(source, 24);
  }
  return ids_.add(std::move(id));
}

void ToolSlots::show(Slot& slot, std::vector<Event>& events) {
  if (!slot.started) {
    // Fragments before the name are held back.
    if (slot.name.empty()) return;
    slot.started = true;
    slot.id = unique_id(slot.wire_id);
    events.emplace_back(ToolCallStarted{.id = slot.id, .name = slot.name});
  }
  if (slot.shown == slot.arguments.size()) return;
  events.emplace_back(ToolCallDelta{.id = slot.id, .arguments_delta = slot.arguments.substr(slot.shown)});
  slot.shown = slot.arguments.size();
}

std::expected<std::vector<ToolCall>, std::string> ToolSlots::complete(std::vector<Event>& events) {
  std::vector<ToolCall> calls;
  if (std::ranges::any_of(slots_, [](const Slot& slot) { return !slot.started; })) {
    return std::unexpected("a tool call has no name");
  }
  for (Slot& slot : slots_) {
    append(slot, slot.joiner.end());
    show(slot, events);
    ToolCall& call =
        calls.emplace_back(tool_call_from_text(slot.id, std::move(slot.name), std::move(slot.arguments), meter_));
    if (meter_.is_exceeded()) return std::unexpected(meter_.error());
    if (!slot.extra.is_null()) call.metadata[provider_] = {{"extra_content", std::move(slot.extra)}};
    events.emplace_back(ToolCallCompleted{call});
  }
  slots_.clear();
  return calls;
}

}  // namespace allm::openai_wire
