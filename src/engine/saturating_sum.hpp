// Sums and products of numbers that come from a provider or a user. Pure; safe to call from any thread.
#pragma once

#include <cstdint>
#include <limits>

namespace allm {

// a + b, or the largest number if the sum overflows. Neither may be negative.
constexpr std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

// a * b, or the largest number if the product overflows. Neither may be negative.
constexpr std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

}  // namespace allm
