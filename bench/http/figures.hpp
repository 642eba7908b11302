// What is measured, and how it is told.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <vector>

namespace allm::bench {

// Microseconds of the clock that all processes share.
inline double now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

// Microseconds that all threads of this process have computed.
inline double cpu_us() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto microseconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
}

// The value that `share` of all are not above.
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(at));
  return values[at];
}
inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

// A moment of the server's clock as it travels in a delta's text.
std::string stamp();

// Finds the stamps in a text that comes in pieces: a busy machine may cut one anywhere.
class StampReader {
 public:
  // How long ago the stamps that `text` completes were.
  void read(std::string_view text, std::vector<double>& delays_us);

 private:
  std::string rest_;  // a stamp whose end is still to come
};

// One line of the table: allm, bare libcurl, and what the one is of the other.
void print_heading(std::string_view title);
void print_ratio(std::string_view what, std::string_view unit, double allm, double bare, std::string_view target = "");
void print_difference(std::string_view what, double allm_us, double bare_us, std::string_view target = "");

}  // namespace allm::bench
