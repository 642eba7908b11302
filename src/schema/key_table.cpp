#include "schema/key_table.hpp"

#include <algorithm>

namespace allm::schema_detail {
namespace {

// Up to here comparing with every name is faster than hashing one.
constexpr std::size_t kLinearSearchLimit = 8;

}  // namespace

const KeyTable::Entry* KeyTable::find(std::string_view name) const {
  if (entries_.size() <= kLinearSearchLimit) {
    const auto found = std::ranges::find_if(entries_, [name](const Entry& entry) { return entry.name == name; });
    return found == entries_.end() ? nullptr : &*found;
  }
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

KeyTable::Entry& KeyTable::intern(std::string_view name) {
  if (const Entry* entry = find(name)) return entries_[static_cast<std::size_t>(entry - entries_.data())];
  entries_.push_back({.name = std::string(name)});
  if (entries_.size() == kLinearSearchLimit + 1) {
    for (std::size_t i = 0; i < kLinearSearchLimit; ++i) index_.emplace(entries_[i].name, i);
  }
  if (entries_.size() > kLinearSearchLimit) index_.emplace(entries_.back().name, entries_.size() - 1);
  return entries_.back();
}

std::uint32_t KeyTable::watch(std::string_view name) {
  Entry& entry = intern(name);
  if (entry.watch == kUnwatched) {
    entry.watch = static_cast<std::uint32_t>(watched_.size());
    watched_.push_back(static_cast<std::size_t>(&entry - entries_.data()));
  }
  return entry.watch;
}

}  // namespace allm::schema_detail
