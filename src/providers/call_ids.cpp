#include "providers/call_ids.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "data/ascii.hpp"

namespace allm {
namespace {

constexpr std::size_t kMaxChatId = 40;
constexpr std::size_t kMaxLongId = 64;
constexpr std::size_t kNine = 9;
constexpr std::size_t kMaxToolName = 64;

bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }
bool is_id_letter(char c) { return is_alphanumeric(c) || c == '_' || c == '-'; }

bool accepts(CallIdRule rule, std::string_view id) {
  switch (rule) {
    case CallIdRule::up_to_40:
      return !id.empty() && id.size() <= kMaxChatId;
    case CallIdRule::up_to_64:
      return !id.empty() && id.size() <= kMaxLongId;
    case CallIdRule::word_up_to_40:
      return !id.empty() && id.size() <= kMaxChatId && std::ranges::all_of(id, is_id_letter);
    case CallIdRule::word_up_to_64:
      return !id.empty() && id.size() <= kMaxLongId && std::ranges::all_of(id, is_id_letter);
    case CallIdRule::nine_alphanumerics:
      break;
  }
  return id.size() == kNine && std::ranges::all_of(id, is_alphanumeric);
}

std::string hashed_id(CallIdRule rule, std::string_view source) {
  return rule == CallIdRule::nine_alphanumerics ? short_hash(source, kNine) : "call_" + short_hash(source, 24);
}

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxToolName && std::ranges::all_of(name, is_id_letter);
}

}  // namespace

std::string UniqueCallIds::add(std::string wanted) {
  if (next_suffix_.try_emplace(wanted, 2).second) return wanted;
  while (true) {
    std::string id = wanted + '-' + std::to_string(next_suffix_[wanted]++);
    if (next_suffix_.try_emplace(id, 2).second) return id;
  }
}

std::string short_hash(std::string_view text, std::size_t size) {
  constexpr std::string_view kAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  // FNV-1a, with a mixing step between letters, because 64 bits are not enough for all letters.
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  std::string result;
  for (std::size_t i = 0; i < size; ++i) {
    hash ^= hash >> 33U;
    hash *= 0xff51afd7ed558ccdU;
    hash ^= hash >> 29U;
    result += kAlphabet[hash % kAlphabet.size()];
  }
  return result;
}

std::string sendable_tool_name(std::string_view name, const std::vector<Tool>& tools) {
  if (is_tool_name(name) || std::ranges::find(tools, name, &Tool::name) != tools.end()) return std::string(name);
  if (name.empty()) return "unnamed";
  std::string result(name.substr(0, kMaxToolName));
  std::ranges::replace_if(result, [](char c) { return !is_id_letter(c); }, '_');
  return result;
}

const SentCall& SentCalls::add(std::string_view id, std::string_view name) {
  SameId& same = append(id, sendable_tool_name(name, *tools_));
  same.open.push_back(same.last);
  return calls_[same.last];
}

const SentCall& SentCalls::answered(std::string_view id) {
  const auto found = by_id_.find(std::string(id));
  SameId& same = found == by_id_.end() ? append(id, "") : found->second;
  if (!same.open.empty()) {
    same.last = same.open.front();
    same.open.pop_front();
  }
  return calls_[same.last];
}

SentCalls::SameId& SentCalls::append(std::string_view id, std::string name) {
  std::string sent(id);
  if (!accepts(rule_, id)) sent = hashed_id(rule_, id);
  SameId& same = by_id_[std::string(id)];
  while (!taken_.insert(sent).second) {
    sent = hashed_id(rule_, std::string(id) + '/' + std::to_string(same.next_number++));
  }
  calls_.push_back({std::move(sent), std::move(name)});
  same.last = calls_.size() - 1;
  return same;
}

}  // namespace allm
