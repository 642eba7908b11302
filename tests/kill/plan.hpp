// Which session is killed where.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "tests/kill/life.hpp"
#include "tests/kill/report.hpp"
#include "tests/kill/trial.hpp"

namespace allm::kill_matrix {

// Turns between sessions that are killed at each commit in turn and sessions that are killed at random places.
class Plan {
 public:
  // `stride`: only every n-th commit point is used.
  Plan(const std::array<Undisturbed, kCells.size()>& undisturbed, std::size_t stride);

  struct Session {
    std::size_t cell = 0;
    bool keeps_store_open = false;
    std::function<Death(int)> death_of;  // how the n-th life ends
  };
  // The n-th session. The same plan gives the same sessions. Safe to call from any thread.
  Session session(std::size_t number) const;
  // The number of sessions with which each commit point has had its turn.
  std::size_t sessions_of_all_commits() const { return 2 * points_ / stride_; }

 private:
  Session at_commits(std::size_t number) const;
  Session at_random(std::size_t number) const;

  const std::array<Undisturbed, kCells.size()>& undisturbed_;
  const std::size_t stride_;
  std::size_t commits_ = 0;  // of a life
  std::size_t points_ = 0;   // before and after each commit, in each cell
};

}  // namespace allm::kill_matrix
