// A set of small numbers whose range is known when it is made; does not allocate for ranges up to 64.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace allm::schema_detail {

class BitSet {
 public:
  explicit BitSet(std::size_t range) : range_(range) {
    if (range > kWordBits) rest_.resize((range - 1) / kWordBits);
  }

  void insert(std::size_t bit) { word(bit / kWordBits) |= std::uint64_t{1} << (bit % kWordBits); }

  // Inserts everything below `end`, which must not exceed the range.
  void insert_below(std::size_t end) {
    for (std::size_t i = 0; i < end / kWordBits; ++i) word(i) = ~std::uint64_t{0};
    if (end % kWordBits != 0) word(end / kWordBits) |= (std::uint64_t{1} << (end % kWordBits)) - 1;
  }

  void insert_all() { insert_below(range_); }

  // Both sets must have the same range.
  void insert_from(const BitSet& other) {
    first_ |= other.first_;
    for (std::size_t i = 0; i < rest_.size(); ++i) rest_[i] |= other.rest_[i];
  }

  bool contains(std::size_t bit) const {
    const std::uint64_t bits = bit < kWordBits ? first_ : rest_[bit / kWordBits - 1];
    return ((bits >> (bit % kWordBits)) & 1U) != 0;
  }

 private:
  static constexpr std::size_t kWordBits = 64;

  std::uint64_t& word(std::size_t index) { return index == 0 ? first_ : rest_[index - 1]; }

  std::size_t range_;
  std::uint64_t first_ = 0;
  std::vector<std::uint64_t> rest_;
};

}  // namespace allm::schema_detail
