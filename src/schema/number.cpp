#include "schema/number.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

namespace allm::schema_detail {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr double kTwoTo64 = 18446744073709551616.0;

std::string_view shortest(double value, std::array<char, 40>& buffer, std::chars_format format) {
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format).ptr;
  return {buffer.data(), end};
}

// mantissa * 10^exponent
struct Decimal {
  std::uint64_t mantissa = 0;
  int exponent = 0;
};

Decimal decimal_of(double value) {
  std::array<char, 40> buffer;
  const std::string_view text = shortest(std::fabs(value), buffer, std::chars_format::scientific);
  Decimal result;
  std::size_t at = 0;
  bool fraction = false;
  for (; at < text.size() && text[at] != 'e'; ++at) {
    if (text[at] == '.') {
      fraction = true;
      continue;
    }
    result.mantissa = result.mantissa * 10 + static_cast<std::uint64_t>(text[at] - '0');
    if (fraction) --result.exponent;
  }
  int exponent = 0;
  at += text.substr(at).starts_with("e+") ? 2 : 1;
  std::from_chars(text.data() + at, text.data() + text.size(), exponent);
  result.exponent += exponent;
  return result;
}

std::uint64_t times_power_of_ten_modulo(std::uint64_t value, int exponent, std::uint64_t modulus) {
  Wide result = value % modulus;
  Wide factor = 10 % modulus;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = result * factor % modulus;
    factor = factor * factor % modulus;
  }
  return static_cast<std::uint64_t>(result);
}

bool divides(Decimal divisor, Decimal value) {
  if (value.mantissa == 0) return true;
  const int shift = value.exponent - divisor.exponent;
  // Below zero the value is either a fraction of which the divisor has fewer digits, and a shortest mantissa has no
  // zeros at its end to make up for them, or an integer of 64 bits beside a divisor beyond those.
  return shift >= 0 && times_power_of_ten_modulo(value.mantissa, shift, divisor.mantissa) == 0;
}

}  // namespace

Number::Number(const Json& value) {
  if (value.is_number_unsigned()) {
    magnitude_ = *value.get_ptr<const Json::number_unsigned_t*>();
  } else if (value.is_number_integer()) {
    const std::int64_t integer = *value.get_ptr<const Json::number_integer_t*>();
    negative_ = integer < 0;
    magnitude_ = negative_ ? 0 - static_cast<std::uint64_t>(integer) : static_cast<std::uint64_t>(integer);
  } else {
    assign(*value.get_ptr<const Json::number_float_t*>());
  }
}

void Number::assign(double value) {
  if (std::trunc(value) == value && std::fabs(value) < kTwoTo64) {
    negative_ = value < 0;
    magnitude_ = static_cast<std::uint64_t>(std::fabs(value));
  } else {
    real_ = true;
    double_ = value;
  }
}

bool Number::is_integer() const { return !real_ || std::trunc(double_) == double_; }

bool Number::is_positive() const { return real_ ? double_ > 0 : !negative_ && magnitude_ > 0; }

bool Number::is_multiple_of(const Number& divisor) const {
  if (!real_ && !divisor.real_) return magnitude_ % divisor.magnitude_ == 0;
  if ((real_ && !std::isfinite(double_)) || (divisor.real_ && !std::isfinite(divisor.double_))) return false;
  return divides(divisor.real_ ? decimal_of(divisor.double_) : Decimal{divisor.magnitude_, 0},
                 real_ ? decimal_of(double_) : Decimal{magnitude_, 0});
}

std::optional<std::uint64_t> Number::natural() const {
  if (!is_integer() || (real_ ? double_ < 0 : negative_)) return std::nullopt;
  return real_ ? std::numeric_limits<std::uint64_t>::max() : magnitude_;
}

std::uint64_t Number::hash() const {
  if (real_) return std::bit_cast<std::uint64_t>(double_);
  return negative_ ? ~magnitude_ : magnitude_;
}

std::string Number::to_text() const {
  if (!real_) return (negative_ ? "-" : "") + std::to_string(magnitude_);
  std::array<char, 40> buffer;
  const double size = std::fabs(double_);
  const bool plain = size >= 1e-5 && size < 1e17;
  return std::string(shortest(double_, buffer, plain ? std::chars_format::fixed : std::chars_format::scientific));
}

std::partial_ordering operator<=>(const Number& a, const Number& b) {
  if (a.real_ && b.real_) return a.double_ <=> b.double_;
  if (!a.real_ && !b.real_) {
    if (a.negative_ != b.negative_) return a.negative_ ? std::partial_ordering::less : std::partial_ordering::greater;
    return a.negative_ ? b.magnitude_ <=> a.magnitude_ : a.magnitude_ <=> b.magnitude_;
  }
  if (a.real_) return 0 <=> (b <=> a);
  if (std::isnan(b.double_)) return std::partial_ordering::unordered;
  if (std::fabs(b.double_) >= kTwoTo64) return 0 <=> b.double_;
  // The value lies between two integers, so it is small enough for its floor to be exact.
  const Number below(std::floor(b.double_));
  return (a <=> below) <= 0 ? std::partial_ordering::less : std::partial_ordering::greater;
}

}  // namespace allm::schema_detail
