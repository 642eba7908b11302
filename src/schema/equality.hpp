// Equality of JSON values as JSON Schema defines it, and a hash to go with it.
//
// Differs from `json_equal` in that the work is counted, so that a validation can be charged for it, and in that
// objects of any size compare in O(n log n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "allm/json.hpp"

namespace allm::schema_detail {

// Both add the number of values and of eight-byte words looked at to `cost`.
// `equal_values` recurses as deep as the shallower of its arguments.
bool equal_values(const Json& a, const Json& b, std::size_t& cost);
// Recurses a bounded number of levels. Equal values have equal hashes.
std::uint64_t hash_value(const Json& value, std::size_t& cost);

// Whether a value nests arrays and objects more than `levels` deep. Recurses at most that often.
bool deeper_than(const Json& value, std::size_t levels, std::size_t& cost);

// An immutable set of values: an enumeration.
class ValueSet {
 public:
  explicit ValueSet(std::vector<Json> values);

  bool contains(const Json& value, std::size_t& cost) const;
  const std::vector<Json>& values() const { return values_; }

 private:
  std::vector<Json> values_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_hash_;  // empty for a small set
};

// The indexes of two items that are equal, the earlier one first, or {0, 0} when all differ.
std::pair<std::size_t, std::size_t> find_equal_items(const Json::array_t& items, std::size_t& cost,
                                                     std::size_t max_cost);

}  // namespace allm::schema_detail
