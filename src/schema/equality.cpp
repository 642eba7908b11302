#include "schema/equality.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>

#include "schema/number.hpp"

namespace allm::schema_detail {
namespace {

// Up to here comparing all pairs is faster than hashing.
constexpr std::size_t kAllPairsLimit = 8;
// Values that differ only below this level share a hash, which costs time and not correctness.
constexpr std::size_t kHashDepth = 32;

std::uint64_t mix(std::uint64_t value) {
  value ^= value >> 30U;
  value *= 0xbf58476d1ce4e5b9U;
  value ^= value >> 27U;
  value *= 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

using Member = Json::object_t::value_type;

bool equal_unordered(const Member* a, const Member* b, std::size_t count, std::size_t& cost) {
  if (count <= kAllPairsLimit) {
    return std::all_of(a, a + count, [&](const Member& wanted) {
      const Member* found = std::find_if(b, b + count, [&](const Member& m) { return m.first == wanted.first; });
      return found != b + count && equal_values(wanted.second, found->second, cost);
    });
  }
  const auto sorted = [count](const Member* members) {
    std::vector<const Member*> result(count);
    for (std::size_t i = 0; i < count; ++i) result[i] = members + i;
    std::ranges::sort(result, {}, [](const Member* m) -> std::string_view { return m->first; });
    return result;
  };
  cost += count * 16;
  return std::ranges::equal(sorted(a), sorted(b), [&cost](const Member* x, const Member* y) {
    return x->first == y->first && equal_values(x->second, y->second, cost);
  });
}

bool equal_objects(const Json::object_t& a, const Json::object_t& b, std::size_t& cost) {
  if (a.size() != b.size()) return false;
  // Values that come from the same program list their keys in the same order.
  const auto [in_a, in_b] =
      std::ranges::mismatch(a, b, [](const Member& x, const Member& y) { return x.first == y.first; });
  for (auto x = a.begin(), y = b.begin(); x != in_a; ++x, ++y) {
    if (!equal_values(x->second, y->second, cost)) return false;
  }
  return equal_unordered(std::to_address(in_a), std::to_address(in_b), static_cast<std::size_t>(a.end() - in_a), cost);
}

std::uint64_t hash_at(const Json& value, std::size_t& cost, std::size_t levels) {
  ++cost;
  const auto tag = static_cast<std::uint64_t>(value.type()) + 1;
  switch (value.type()) {
    case Json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      cost += text.size() / 8;
      return mix(tag ^ std::hash<std::string_view>{}(text));
    }
    case Json::value_t::boolean:
      return mix(tag ^ (value.get<bool>() ? 0x100U : 0U));
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return mix(0x9e3779b97f4a7c15U + Number(value).hash());
    case Json::value_t::array: {
      std::uint64_t result = tag;
      if (levels == 0) return result;
      for (const Json& item : value.get_ref<const Json::array_t&>()) {
        result = mix(result + hash_at(item, cost, levels - 1));
      }
      return result;
    }
    case Json::value_t::object: {
      std::uint64_t result = tag;
      if (levels == 0) return result;
      for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
        cost += key.size() / 8;
        result += mix(std::hash<std::string_view>{}(key) ^ mix(hash_at(member, cost, levels - 1)));
      }
      return mix(result);
    }
    case Json::value_t::null:
    case Json::value_t::binary:
    case Json::value_t::discarded:
      break;
  }
  return mix(tag);
}

}  // namespace

bool equal_values(const Json& a, const Json& b, std::size_t& cost) {
  ++cost;
  if (a.is_number() && b.is_number()) return Number(a) == Number(b);
  if (a.type() != b.type()) return false;
  if (const auto* text = a.get_ptr<const std::string*>()) {
    const auto& other = b.get_ref<const std::string&>();
    if (text->size() != other.size()) return false;
    cost += text->size() / 8;
    return *text == other;
  }
  if (const auto* items = a.get_ptr<const Json::array_t*>()) {
    return std::ranges::equal(*items, b.get_ref<const Json::array_t&>(),
                              [&cost](const Json& x, const Json& y) { return equal_values(x, y, cost); });
  }
  if (const auto* members = a.get_ptr<const Json::object_t*>()) {
    return equal_objects(*members, b.get_ref<const Json::object_t&>(), cost);
  }
  return a == b;
}

std::uint64_t hash_value(const Json& value, std::size_t& cost) { return hash_at(value, cost, kHashDepth); }

bool deeper_than(const Json& value, std::size_t levels, std::size_t& cost) {
  ++cost;
  if (!value.is_structured()) return false;
  if (levels == 0) return true;
  if (const auto* items = value.get_ptr<const Json::array_t*>()) {
    return std::ranges::any_of(*items, [&](const Json& item) { return deeper_than(item, levels - 1, cost); });
  }
  return std::ranges::any_of(value.get_ref<const Json::object_t&>(),
                             [&](const Member& member) { return deeper_than(member.second, levels - 1, cost); });
}

ValueSet::ValueSet(std::vector<Json> values) : values_(std::move(values)) {
  if (values_.size() <= kAllPairsLimit) return;
  std::size_t cost = 0;
  by_hash_.reserve(values_.size());
  for (std::uint32_t i = 0; i < values_.size(); ++i) by_hash_.emplace_back(hash_value(values_[i], cost), i);
  std::ranges::sort(by_hash_);
}

bool ValueSet::contains(const Json& value, std::size_t& cost) const {
  if (by_hash_.empty()) {
    return std::ranges::any_of(values_, [&](const Json& one) { return equal_values(one, value, cost); });
  }
  const std::uint64_t hash = hash_value(value, cost);
  const auto range = std::ranges::equal_range(by_hash_, hash, {}, [](const auto& entry) { return entry.first; });
  return std::ranges::any_of(range,
                             [&](const auto& entry) { return equal_values(values_[entry.second], value, cost); });
}

std::pair<std::size_t, std::size_t> find_equal_items(const Json::array_t& items, std::size_t& cost,
                                                     std::size_t max_cost) {
  if (items.size() <= kAllPairsLimit) {
    for (std::size_t j = 1; j < items.size(); ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        if (equal_values(items[i], items[j], cost)) return {i, j};
      }
    }
    return {0, 0};
  }
  std::vector<std::pair<std::uint64_t, std::size_t>> hashes;
  hashes.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) hashes.emplace_back(hash_value(items[i], cost), i);
  std::ranges::sort(hashes);
  // Items that were made to collide compare pairwise, which only the limit keeps from being quadratic.
  for (std::size_t j = 1; j < hashes.size(); ++j) {
    for (std::size_t i = j; i-- > 0 && hashes[i].first == hashes[j].first && cost <= max_cost;) {
      if (equal_values(items[hashes[i].second], items[hashes[j].second], cost)) {
        return {hashes[i].second, hashes[j].second};
      }
    }
  }
  return {0, 0};
}

}  // namespace allm::schema_detail
