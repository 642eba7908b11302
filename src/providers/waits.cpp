// Reads the delay that a provider asks for: the three forms of Retry-After, and protobuf durations.
#include <array>
#include <charconv>
#include <cstddef>

#include "data/ascii.hpp"
#include "providers/provider_errors.hpp"

namespace allm {
namespace {

using Clock = std::chrono::system_clock;

// A century: longer delays are invalid, and this many milliseconds never overflow.
constexpr std::int64_t kMaxSeconds = 100LL * 366 * 24 * 3600;

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<std::int64_t> to_integer(std::string_view digits) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (!is_digits(digits) || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// Converts a decimal number of units of `unit` milliseconds to milliseconds, rounded up.
std::optional<std::int64_t> scaled(std::string_view text, std::int64_t unit) {
  const std::size_t dot = text.find('.');
  const std::string_view fraction = dot == std::string_view::npos ? std::string_view() : text.substr(dot + 1);
  const std::optional<std::int64_t> whole = to_integer(text.substr(0, dot));
  if (!whole || *whole > kMaxSeconds || (dot != std::string_view::npos && !is_digits(fraction))) return std::nullopt;
  std::int64_t result = *whole * unit;
  std::int64_t place = unit;
  for (std::size_t i = 0; i < fraction.size(); ++i) {
    if (place < 10) {
      if (fraction.find_first_not_of('0', i) != std::string_view::npos) ++result;
      break;
    }
    place /= 10;
    result += (fraction[i] - '0') * place;
  }
  return result;
}

std::optional<int> month_number(std::string_view name) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    if (kMonths[i] == name) return static_cast<int>(i) + 1;
  }
  return std::nullopt;
}

// Reads "Sun, 06 Nov 1994 08:49:37 GMT", the only form that servers may send.
std::optional<Clock::time_point> http_date(std::string_view text) {
  if (text.size() != 29 || text.substr(3, 2) != ", " || text.substr(25) != " GMT" || text[7] != ' ' ||
      text[11] != ' ' || text[16] != ' ' || text[19] != ':' || text[22] != ':') {
    return std::nullopt;
  }
  const auto day = to_integer(text.substr(5, 2));
  const auto month = month_number(text.substr(8, 3));
  const auto year = to_integer(text.substr(12, 4));
  const auto hour = to_integer(text.substr(17, 2));
  const auto minute = to_integer(text.substr(20, 2));
  const auto second = to_integer(text.substr(23, 2));
  if (!day || !month || !year || !hour || !minute || !second) return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  // The clock's range ends in 2262.
  if (*year < 1970 || *year > 2200) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second);
}

}  // namespace

std::optional<std::int64_t> retry_after_ms(const HttpHeaders& headers, Clock::time_point now) {
  if (const std::string* milliseconds = find_header(headers, "retry-after-ms")) {
    if (const auto wait = scaled(trimmed(*milliseconds), 1)) return wait;
  }
  const std::string* value = find_header(headers, "retry-after");
  if (value == nullptr) return std::nullopt;
  const std::string_view text = trimmed(*value);
  if (const auto wait = scaled(text, 1000)) return wait;
  const auto date = http_date(text);
  if (!date) return std::nullopt;
  if (*date <= now) return 0;
  return std::chrono::ceil<std::chrono::milliseconds>(*date - now).count();
}

Clock::time_point response_time(const HttpHeaders& headers) {
  if (const std::string* date = find_header(headers, "date")) {
    if (const auto time = http_date(trimmed(*date))) return *time;
  }
  return Clock::now();
}

std::optional<std::int64_t> duration_ms(std::string_view text) {
  if (!text.ends_with('s')) return std::nullopt;
  return scaled(text.substr(0, text.size() - 1), 1000);
}

}  // namespace allm
