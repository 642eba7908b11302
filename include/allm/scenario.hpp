// Scenarios: the agent loop as data. docs/scenario-format.md describes the files. A program can use
// them to pin down how its own agents behave.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/json.hpp"
#include "allm/lane.hpp"

namespace allm {

struct ScenarioOutcome {
  std::string name;
  // What did not match, one line each with the path of the observation; empty if all did.
  std::vector<std::string> mismatches;
  Json observations;  // one element per operation
  bool passed() const { return mismatches.empty(); }
};

struct ScenarioOptions {
  // Where the tools run. Those whose handlers end the process that runs them are in the worker lane always. It takes
  // a program that calls register_scenario_workers and run_as_worker_if_asked.
  Lane lane = Lane::thread;
};

// Runs one scenario (an object) or several (an array) and compares what is observed with what is
// expected. Fails with ValidationError `invalid_scenario` if the input is no scenario. Blocks.
Result<std::vector<ScenarioOutcome>> run_scenarios(const Json& scenarios, const ScenarioOptions& options = {});

// Lets workers run the tools of scenarios; before run_as_worker_if_asked.
void register_scenario_workers();

// Whether `observed` matches `pattern`; appends what does not to `mismatches`.
bool matches_pattern(const Json& pattern, const Json& observed, std::vector<std::string>* mismatches = nullptr);

}  // namespace allm
