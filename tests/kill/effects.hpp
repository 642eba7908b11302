// What a program under test has really done: a file of lines outside of it, to which its processes append.
#pragma once

#include <string>
#include <vector>

namespace allm::kill_matrix {

struct Effect {
  // "run": a handler ran the call `subject`. "model": the model was paid for the message `subject`. "told": the
  // consumer got an event, which `key` names, about `subject`. "turn": the consumer got the session of version
  // `subject`. "lease": the program got a lease with the fence `subject`. "commits": the life made `subject` commits.
  // "killed": the program was killed `key` ("before" or "after") the commit of a fact of the kind `subject`.
  std::string what = {};
  int life = 0;
  std::string subject = {};
  std::string key = {};
};

// Ends the process if the line cannot be written.
void note_effect(const std::string& file, const Effect& effect);
std::vector<Effect> read_effects(const std::string& file);

}  // namespace allm::kill_matrix
