// One session: its program is killed again and again, until the session is complete.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "allm/work_queue.hpp"

#include "tests/kill/life.hpp"
#include "tests/kill/lives.hpp"
#include "tests/kill/verdict.hpp"

namespace allm::kill_matrix {

// How a test reaches a store. One thread at a time.
class StoreAccess {
 public:
  // `keeps_open`: whether the store stays open while programs under test run. If not, the first program that opens it
  // after a kill finds it as the killed program left it.
  StoreAccess(std::string url, bool keeps_open) : url_(std::move(url)), keeps_open_(keeps_open) {}
  const std::string& url() const { return url_; }
  std::shared_ptr<Store> open();

 private:
  std::string url_;
  bool keeps_open_;
  std::shared_ptr<Store> kept_;
};

// A run that nobody kills, for comparison and for the choice of the places to kill at.
struct Undisturbed {
  Session session = {};
  std::int64_t commits = 0;
  std::int64_t microseconds = 0;  // after the store was opened
  std::int64_t stops = 0;         // see LifeEnd; 0 if this system does not let a program trace its children
};

struct Trial {
  std::string id = {};                            // of the session
  std::optional<Session> session = std::nullopt;  // when it was complete
  std::array<int, 3> deaths = {};                 // at commits, at system calls, at moments
  std::set<std::int64_t> calls = {};              // the system calls at whose entries it was killed
  std::set<std::string> facts = {};               // the kinds of facts at whose commits, with "before" or "after"
  std::string course = {};                        // its deaths, for messages
  int resumes = 0;                                // of runs that a death had interrupted
  LifeEnd last = {};                              // of the last life
  std::string error = {};                         // why the session did not become complete
  Verdict verdict = {};
};

// Runs a new session to its end. `lane`: of its tools. `effects`: the name of a new file. `death_of`: how the n-th life
// ends, from 0. The verdict compares with `undisturbed` if that is not null.
Trial run_trial(StoreAccess& access, const std::string& lane, const std::string& effects,
                const std::function<Death(int)>& death_of, const Session* undisturbed);

// Runs new sessions to their ends without kills. `effects`: the beginning of the names of new files. `traces`: whether
// system calls are counted. Throws std::runtime_error if a session does not become complete.
Undisturbed run_undisturbed(StoreAccess& access, const std::string& lane, const std::string& effects, bool traces);

}  // namespace allm::kill_matrix
