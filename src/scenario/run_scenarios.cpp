#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "allm/scenario.hpp"

#include "scenario/pattern.hpp"
#include "scenario/runner.hpp"
#include "scenario/scenario.hpp"

namespace allm {
namespace {

ScenarioOutcome run_scenario(const scenario::Scenario& scenario) {
  ScenarioOutcome outcome{.name = scenario.name, .observations = Json::array()};
  scenario::Runner runner(scenario);
  for (std::size_t i = 0; i < scenario.run.size(); ++i) {
    Json observation = runner.run(scenario.run[i]);
    const Json& expected = scenario.expect[i];
    if (!expected.is_null()) {
      scenario::match_pattern(expected, observation, fmt::format("expect[{}]", i), &outcome.mismatches);
    }
    outcome.observations.push_back(std::move(observation));
  }
  return outcome;
}

}  // namespace

Result<std::vector<ScenarioOutcome>> run_scenarios(const Json& scenarios, const ScenarioOptions& options) {
  auto parsed = scenario::parse_scenarios(scenarios, options.lane);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  std::vector<ScenarioOutcome> outcomes;
  outcomes.reserve(parsed->size());
  for (const scenario::Scenario& one : *parsed) outcomes.push_back(run_scenario(one));
  return outcomes;
}

}  // namespace allm
