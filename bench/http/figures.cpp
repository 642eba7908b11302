#include "bench/http/figures.hpp"

#include <charconv>

#include <fmt/format.h>

namespace allm::bench {
namespace {

constexpr char kMark = '@';

}  // namespace

std::string stamp() { return fmt::format("{}{:.1f};", kMark, now_us()); }

void StampReader::read(std::string_view text, std::vector<double>& delays_us) {
  const double now = now_us();
  if (!rest_.empty()) text = rest_ += text;
  std::size_t at = text.find(kMark);
  while (at != std::string_view::npos && text.find(';', at) != std::string_view::npos) {
    double sent = 0;
    const auto [end, error] = std::from_chars(text.data() + at + 1, text.data() + text.size(), sent);
    if (error == std::errc() && *end == ';') delays_us.push_back(now - sent);
    at = text.find(kMark, at + 1);
  }
  rest_ = at == std::string_view::npos ? std::string() : std::string(text.substr(at));
}

void print_heading(std::string_view title) {
  fmt::print("\n{:<46} {:>12} {:>12} {:>12}   {}\n", title, "allm", "libcurl", "", "target");
}

void print_ratio(std::string_view what, std::string_view unit, double allm, double bare, std::string_view target) {
  fmt::print("{:<46} {:>9.1f} {:<2} {:>9.1f} {:<2} {:>10.2f} x   {}\n", what, allm, unit, bare, unit, allm / bare,
             target);
}

void print_difference(std::string_view what, double allm_us, double bare_us, std::string_view target) {
  fmt::print("{:<46} {:>9.1f} us {:>9.1f} us {:>+9.1f} us   {}\n", what, allm_us, bare_us, allm_us - bare_us, target);
}

}  // namespace allm::bench
