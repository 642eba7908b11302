#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "allm/scenario.hpp"
#include "allm/tool_runner.hpp"

#include "testing/scenario/handlers.hpp"
#include "testing/scenario/pattern.hpp"
#include "testing/scenario/runner.hpp"
#include "testing/scenario/scenario.hpp"

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

// Starts workers before the first scenario, because the deadlines in scenarios can be shorter than the start of a
// process.
void warm_up_workers() {
  constexpr int kWorkers = 8;
  scenario::ScenarioErrors errors;
  const Tool waits{
      .name = "waits",
      .handler = scenario::make_handler({{"sleep", {{"ms", 20}, {"then", {{"ok", true}}}}}}, {}, Lane::worker, errors)};
  std::vector<ToolCall> calls;
  calls.reserve(kWorkers);
  for (int i = 0; i < kWorkers; ++i) calls.push_back({.id = std::to_string(i), .name = waits.name});
  // Errors are ignored here: if workers cannot start, the scenarios report it.
  for (EventStream events = stream_tool_calls(std::move(calls), {waits}, {.max_concurrency = kWorkers});
       events.next();) {
  }
}

}  // namespace

Result<std::vector<ScenarioOutcome>> run_scenarios(const Json& scenarios, const ScenarioOptions& options) {
  auto parsed = scenario::parse_scenarios(scenarios, options.lane);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  if (options.lane == Lane::worker) {
    static std::once_flag once;
    std::call_once(once, warm_up_workers);
  }
  std::vector<ScenarioOutcome> outcomes;
  outcomes.reserve(parsed->size());
  for (const scenario::Scenario& one : *parsed) outcomes.push_back(run_scenario(one));
  return outcomes;
}

}  // namespace allm
