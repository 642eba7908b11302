// Clocks, statistics and the output of the measurements.
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

// Microseconds of the monotonic clock, which is the same in all processes.
inline double now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

// CPU time of all threads of this process, in microseconds.
inline double cpu_us() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto microseconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
}

// The quantile: the part `share` of the values is not above it.
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(at));
  return values[at];
}
inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

// The current time as text. The server sends it in the text of a delta.
std::string stamp();

// Finds the stamps in a text that is received in pieces. A stamp may be cut anywhere.
class StampReader {
 public:
  // Appends the age of each stamp that `text` completes.
  void read(std::string_view text, std::vector<double>& delays_us);

 private:
  std::string rest_;  // the beginning of an incomplete stamp
};

// The table: one line has the values of allm and of bare libcurl, and their ratio.
void print_heading(std::string_view title);
void print_ratio(std::string_view what, std::string_view unit, double allm, double bare, std::string_view target = "");
void print_difference(std::string_view what, double allm_us, double bare_us, std::string_view target = "");

}  // namespace allm::bench
