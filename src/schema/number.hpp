// JSON numbers by value: exact comparison and divisibility, whatever mixture of integers and doubles they are stored
// as.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "allm/json.hpp"

namespace allm::schema_detail {

// An integer of up to 64 bits with its sign, or any other double. Doubles that hold such an integer are stored as one,
// so that 1 and 1.0 are the same Number.
class Number {
 public:
  // `value` must be a JSON number.
  explicit Number(const Json& value);

  // Whether JSON Schema calls it an integer: 1.0 and 1e300 are.
  bool is_integer() const;
  bool is_positive() const;

  // Whether this is a whole multiple of `divisor`, which must be positive. Doubles count as the shortest decimals that
  // read back equal, so 0.0075 is a multiple of 0.0001.
  bool is_multiple_of(const Number& divisor) const;

  // The value if it is a natural number; the largest one of 64 bits stands for all greater ones.
  std::optional<std::uint64_t> natural() const;

  std::uint64_t hash() const;
  std::string to_text() const;

  // Unordered only when one of them is NaN.
  friend std::partial_ordering operator<=>(const Number& a, const Number& b);
  friend bool operator==(const Number& a, const Number& b) { return (a <=> b) == 0; }

 private:
  explicit Number(double value) { assign(value); }
  void assign(double value);

  bool negative_ = false;
  bool real_ = false;  // the value is in double_, else in negative_ and magnitude_
  std::uint64_t magnitude_ = 0;
  double double_ = 0;
};

}  // namespace allm::schema_detail
