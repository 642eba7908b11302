#include "tests/kill/plan.hpp"

#include <algorithm>
#include <memory>
#include <random>

namespace allm::kill_matrix {
namespace {

// Facts share commits differently in each life, so a life may have more commits than the measured one.
constexpr std::size_t kMoreCommits = 2;

std::int64_t random_number(std::mt19937& random, std::int64_t last) {
  return std::uniform_int_distribution<std::int64_t>(1, std::max<std::int64_t>(1, last))(random);
}

}  // namespace

Plan::Plan(const std::array<Undisturbed, kCells.size()>& undisturbed, std::size_t stride)
    : undisturbed_(undisturbed), stride_(stride) {
  for (const Undisturbed& cell : undisturbed) {
    commits_ = std::max(commits_, static_cast<std::size_t>(cell.commits) + kMoreCommits);
  }
  points_ = commits_ * 2 * kCells.size();
}

Plan::Session Plan::session(std::size_t number) const {
  Session session = number % 2 == 0 ? at_commits(number / 2) : at_random(number / 2);
  session.keeps_store_open = number / 2 % 2 == 0;
  return session;
}

Plan::Session Plan::at_commits(std::size_t number) const {
  const std::size_t point = number * stride_ % points_;
  const std::size_t place = point / kCells.size();
  const DeathKind kind = place % 2 == 0 ? DeathKind::before_commit : DeathKind::after_commit;
  const auto commit = static_cast<std::int64_t>(1 + place / 2);
  // The resumed run is killed as well, once.
  return {.cell = point % kCells.size(),
          .death_of = [kind, commit](int life) { return life <= 1 ? Death{kind, commit} : Death(); }};
}

Plan::Session Plan::at_random(std::size_t number) const {
  // Lives with workers take three times as long.
  constexpr std::array<std::size_t, 8> kShares = {0, 2, 0, 2, 1, 0, 2, 3};
  const std::size_t cell = kShares[number % kShares.size()];
  const Undisturbed& whole = undisturbed_[cell];
  const bool is_moment = whole.stops == 0 || number / kShares.size() % 4 == 3;
  const DeathKind kind = is_moment ? DeathKind::at_moment : DeathKind::at_system_call;
  const std::int64_t last = is_moment ? whole.microseconds : whole.stops;
  const auto random = std::make_shared<std::mt19937>(static_cast<unsigned>(number) + 1U);
  return {.cell = cell, .death_of = [=](int life) {
            constexpr int kMostDeaths = 12;
            return life < kMostDeaths ? Death{kind, random_number(*random, last)} : Death();
          }};
}

}  // namespace allm::kill_matrix
