// The counts of the kill matrix. Safe to use from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "tests/kill/trial.hpp"

namespace allm::kill_matrix {

// One store with the tools in one lane.
struct Cell {
  std::string store;  // "sqlite" or "postgresql"
  std::string lane;   // "thread" or "worker"
};
inline const std::array<Cell, 4> kCells = {
    {{"sqlite", "thread"}, {"sqlite", "worker"}, {"postgresql", "thread"}, {"postgresql", "worker"}}};

class Report {
 public:
  // Counts the trial and prints what is wrong with it, and from time to time how many deaths there were.
  void add(std::size_t cell, const Trial& trial);
  void add_loss(std::size_t cell, const std::string& session, const std::string& what);
  int deaths() const;
  // Prints a line for each cell and the sum. Returns whether there were no duplicates and no losses.
  bool print() const;

 private:
  struct Counts {
    int sessions = 0;
    std::array<int, 3> deaths = {};
    int resumes = 0;
    int duplicates = 0;
    int losses = 0;
  };
  int all_deaths() const;
  static void print_line(const std::string& name, const Counts& counts);

  mutable std::mutex mutex_;
  std::array<Counts, kCells.size()> cells_ = {};
  std::set<std::int64_t> calls_;
  std::set<std::string> facts_;
};

}  // namespace allm::kill_matrix
