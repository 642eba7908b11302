// The agent whose sessions the kill matrix runs. Its model is scripted:
//
//   step-0   a, b       run
//   step-1   c, q       c runs, q asks the user
//   step-2   d, w       run
//   step-3   g, h       wait for approval; g is allowed, h is denied
//   step-4   e, m       e runs, m is answered by the program
//   done
#pragma once

#include <string>
#include <vector>

#include "allm/engine.hpp"
#include "allm/session_runner.hpp"

#include "tests/kill/life.hpp"

namespace allm::kill_matrix {

// The tools of the program; also those of its worker processes.
std::vector<Tool> agent_tools(const std::string& lane);

// The calls whose handlers run, and what is to happen to them when they are interrupted.
struct RunCall {
  std::string id;
  OnInterrupted on_interrupted;
};
const std::vector<RunCall>& run_calls();

Engine make_agent(const Life& life);

// What the program does next with a session that has no open run.
SessionOrder next_order(const StoredSession& stored);

}  // namespace allm::kill_matrix
