// What the workloads of allm_store_bench share.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "allm/result.hpp"
#include "allm/work_queue.hpp"

namespace allm::bench {

struct Settings {
  std::string folder = {};  // an empty folder, for files of the benchmark
  std::string peer = {};    // a command that runs the steps with another library; see bench/peers/README.md
  int rounds = 5;
  int sessions = 100'000;  // of the lists and searches
};

// Each prints a table.
void measure_steps(const Settings& settings);
void measure_workers(const Settings& settings);
void measure_loads(const Settings& settings);
void measure_lists(const Settings& settings);

template <class T>
T required(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "the benchmark failed: {}\n", result.error().message());
  std::exit(1);
}

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

inline double microseconds(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

inline double median_us(int count, const std::function<void()>& run) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) times.push_back(microseconds(run));
  return median(std::move(times));
}

// A line of a table: the median and the range of all rounds.
inline void print_row(const std::string& what, const std::vector<double>& values, const std::string& unit,
                      const std::string& note = {}) {
  const auto [least, most] = std::ranges::minmax(values);
  fmt::print("{:<52} {:>11.1f} {:<10} ({:.1f} to {:.1f})  {}\n", what, median(values), unit, least, most, note);
  std::fflush(stdout);
}

}  // namespace allm::bench
