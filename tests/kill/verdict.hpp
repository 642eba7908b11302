// What may not have happened to a session whose program was killed.
#pragma once

#include <string>
#include <vector>

#include "allm/session.hpp"

#include "tests/kill/effects.hpp"
#include "tests/kill/records.hpp"

namespace allm::kill_matrix {

struct Verdict {
  std::vector<std::string> duplicates = {};  // something was done or paid again
  std::vector<std::string> losses = {};      // something that was reported or done is not recorded
};

// A complete session and how it became complete.
struct History {
  std::vector<Records> after_lives = {};  // `after_lives[n]`: after the end of life n, when it could write no more
  Records at_end = {};
  std::vector<Effect> effects = {};
};

// `undisturbed` is the session of a run that nobody killed.
Verdict judge(const History& history, const Session& undisturbed);

// The session as text, without its id.
std::string comparable(const Session& session);

}  // namespace allm::kill_matrix
