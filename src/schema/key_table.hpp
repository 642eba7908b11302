// The property names that a schema mentions, found in constant time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace allm::schema_detail {

struct Node;

class KeyTable {
 public:
  static constexpr std::uint32_t kUnwatched = static_cast<std::uint32_t>(-1);

  struct Entry {
    std::string name;
    const Node* schema = nullptr;      // from `properties`
    std::uint32_t watch = kUnwatched;  // bit of the presence set, for names whose absence or presence matters
  };

  // The entry of a name, made on first use. The reference is good until the next call.
  Entry& intern(std::string_view name);
  // The bit of a name in the presence set, assigned on first use.
  std::uint32_t watch(std::string_view name);

  const Entry* find(std::string_view name) const;
  // The name behind a bit of the presence set.
  const std::string& watched_name(std::uint32_t bit) const { return entries_[watched_[bit]].name; }
  std::size_t watched() const { return watched_.size(); }
  bool empty() const { return entries_.empty(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  std::vector<Entry> entries_;
  std::vector<std::size_t> watched_;
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> index_;  // only when there are many entries
};

}  // namespace allm::schema_detail
