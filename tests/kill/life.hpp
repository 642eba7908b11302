// What the two sides of the kill matrix share: the program that is killed, and the one that kills it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "process/sanitized.hpp"

namespace allm::kill_matrix {

// The duration of a lease. Short, because others sometimes have to wait for its end; sanitizers need more time.
inline constexpr std::chrono::milliseconds kLease = std::chrono::seconds(kSanitized ? 5 : 1);

// How one life of the program ends.
enum class DeathKind : std::uint8_t {
  never,
  before_commit,   // of the journal
  after_commit,    // before anyone knows that it was made
  at_system_call,  // at the entry or the exit of one
  at_moment,
};

struct Death {
  DeathKind kind = DeathKind::never;
  // The number of the commit, or of the entry or exit of a system call, both from 1; or microseconds after the store
  // was opened.
  std::int64_t at = 0;
};

// One start of the program.
struct Life {
  std::string store = {};    // URL
  std::string session = {};  // id
  std::string effects = {};  // the file of effects.hpp
  std::string lane = {};     // "thread" or "worker"
  int number = 0;            // among the lives of the session, from 0
  Death death = {};
};

// Exit statuses of the program.
inline constexpr int kComplete = 0;     // the session is complete
inline constexpr int kTryAgain = 3;     // somebody else has the session, or the database is not available
inline constexpr int kFailed = 4;       // anything else; the reason is on stderr
inline constexpr int kUntraceable = 5;  // this system does not let a program trace its children

// The program that is killed: runs the session to its end. Returns its exit status.
int live(const Life& life);

}  // namespace allm::kill_matrix
