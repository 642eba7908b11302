// Scenarios: tests of the agent loop, written as JSON. docs/scenario-format.md describes the files. A program can use
// them to test its own agents.
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
  // One line for each observation that did not match, with its path; empty if all matched.
  std::vector<std::string> mismatches;
  Json observations;  // one element per operation
  bool passed() const { return mismatches.empty(); }
};

struct ScenarioOptions {
  // Where the tools run. Tools whose handlers end their process always run in the worker lane. The worker lane needs a
  // program that calls register_scenario_workers and run_as_worker_if_asked.
  Lane lane = Lane::thread;
};

// Runs one scenario (an object) or several (an array) and compares the observations with the expectations. Fails with
// ValidationError `invalid_scenario` if the input is not a scenario. Blocks.
Result<std::vector<ScenarioOutcome>> run_scenarios(const Json& scenarios, const ScenarioOptions& options = {});

// Lets workers run the tools of scenarios. Call it before run_as_worker_if_asked.
void register_scenario_workers();

// Whether `observed` matches `pattern`; docs/scenario-format.md describes patterns. Appends a line for each difference
// to `mismatches`, unless that is null.
bool matches_pattern(const Json& pattern, const Json& observed, std::vector<std::string>* mismatches = nullptr);

}  // namespace allm
