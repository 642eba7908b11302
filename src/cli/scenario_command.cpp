#include "cli/scenario_command.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "allm/json.hpp"
#include "allm/scenario.hpp"

#include "cli/files.hpp"

namespace allm::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMismatchesShown = 20;

struct ScenarioReport {
  std::string name;
  std::string about;
  std::vector<std::string> errors;  // empty if it passed
  Json observations;
};

struct FileReport {
  fs::path path;
  std::string error;  // why none of its scenarios could run, or empty
  std::vector<ScenarioReport> scenarios;
};

// A text member of a scenario; "" if it is missing.
std::string member(const Json& document, std::size_t index, const char* key) {
  const Json& scenario = document.is_array() ? document[index] : document;
  return scenario.value(key, "");
}

FileReport check_file(const fs::path& path, Lane lane) {
  FileReport report{.path = path};
  // An internal error must not lose the results of the other files.
  try {
    const Result<Json> document = read_json_file(path);
    if (!document) {
      report.error = document.error().message();
      return report;
    }
    Result<std::vector<ScenarioOutcome>> outcomes = run_scenarios(*document, {.lane = lane});
    if (!outcomes) {
      report.error = "not a scenario: " + outcomes.error().message();
      return report;
    }
    for (std::size_t i = 0; i < outcomes->size(); ++i) {
      ScenarioOutcome& outcome = (*outcomes)[i];
      report.scenarios.push_back({.name = outcome.name,
                                  .about = member(*document, i, "about"),
                                  .errors = std::move(outcome.mismatches),
                                  .observations = std::move(outcome.observations)});
    }
  } catch (const std::exception& exception) {
    report.error = fmt::format("internal error: {}", exception.what());
  }
  return report;
}

// Checks the files on as many threads as there are jobs.
class Checks {
 public:
  Checks(std::vector<fs::path> files, std::size_t jobs, Lane lane)
      : files_(std::move(files)), lane_(lane), reports_(files_.size()) {
    for (std::size_t i = 0; i < std::min(std::max<std::size_t>(jobs, 1), files_.size()); ++i) {
      threads_.emplace_back([this] { work(); });
    }
  }

  // Blocks until the report of that file is there.
  FileReport report(std::size_t index) { return reports_[index].get_future().get(); }

 private:
  void work() {
    for (std::size_t i = next_++; i < files_.size(); i = next_++) reports_[i].set_value(check_file(files_[i], lane_));
  }

  std::vector<fs::path> files_;
  const Lane lane_;
  std::vector<std::promise<FileReport>> reports_;
  std::atomic<std::size_t> next_ = 0;
  std::vector<std::jthread> threads_;
};

std::string heading(const Terminal& out, const fs::path& path, const std::string& name) {
  std::string line = out.paint(Style::red, "FAIL") + " " + out.paint(Style::bold, printable(path.string()));
  if (!name.empty()) line += "  " + printable(name);
  return line + "\n";
}

void print_failure(const Terminal& out, const fs::path& path, const ScenarioReport& scenario) {
  std::string text = heading(out, path, scenario.name);
  if (!scenario.about.empty()) text += "  " + out.paint(Style::dim, printable(scenario.about)) + "\n";
  const std::size_t shown = std::min(scenario.errors.size(), kMismatchesShown);
  for (std::size_t i = 0; i < shown; ++i) text += "    " + printable(scenario.errors[i]) + "\n";
  if (shown < scenario.errors.size()) text += fmt::format("    … and {} more\n", scenario.errors.size() - shown);
  out.write(text + "\n");
}

struct Totals {
  std::size_t passed = 0;
  std::size_t failed = 0;
};

void print_observations(const FileReport& report, const Terminal& out, const Terminal& errors, Totals& totals) {
  if (!report.error.empty()) {
    ++totals.failed;
    errors.write(fmt::format("allm scenario: {}: {}\n", printable(report.path.string()), printable(report.error)));
  }
  for (const ScenarioReport& scenario : report.scenarios) {
    ++totals.passed;
    out.write(scenario.observations.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }
}

void print_verdicts(const FileReport& report, const Terminal& out, bool quiet, Totals& totals) {
  if (!report.error.empty()) {
    ++totals.failed;
    if (!quiet) out.write(heading(out, report.path, "") + "    " + printable(report.error) + "\n\n");
  }
  for (const ScenarioReport& scenario : report.scenarios) {
    ++(scenario.errors.empty() ? totals.passed : totals.failed);
    if (!scenario.errors.empty() && !quiet) print_failure(out, report.path, scenario);
  }
}

}  // namespace

int scenario_command(const ScenarioArguments& arguments, const Terminal& out, const Terminal& errors) {
  const std::vector<fs::path> files = find_json_files(arguments.paths);
  if (files.empty()) {
    errors.write("allm scenario: no scenario files found; name a *.json file or a directory that holds some\n");
    return 2;
  }
  Checks checks(files, arguments.jobs, arguments.lane);
  Totals totals;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const FileReport report = checks.report(i);
    if (arguments.observe) {
      print_observations(report, out, errors, totals);
    } else {
      print_verdicts(report, out, arguments.quiet, totals);
    }
  }
  if (!arguments.observe) {
    const std::string line = fmt::format("{} passed, {} failed", totals.passed, totals.failed);
    out.write(out.paint(totals.failed == 0 ? Style::green : Style::red, line) + "\n");
  }
  return totals.failed == 0 ? 0 : 1;
}

CommandSpec scenario_spec() {
  auto arguments = std::make_shared<ScenarioArguments>();
  CommandSpec spec{
      .name = "scenario",
      .summary = "Check scenario files: agent runs as data",
      .description =
          "A scenario is a JSON file that contains the answers of a model, tools with predefined behaviour, the "
          "operations to run, and the expected results; it needs no network and no code. Each scenario that fails is "
          "shown with the places where the result differs from the expected result. A file that cannot be read, or is "
          "not a scenario, counts as failed. docs/scenario-format.md describes the files.\n\n"
          "The last line is \"N passed, M failed\".",
      .examples = {{"allm scenario tests/scenarios", "Check all scenarios of a project."},
                   {"allm scenario --observe weather.json",
                    "Print the actual results of a scenario, from which its expected results can be written."}},
      .exit_codes = {{0, "All scenarios passed; with --observe: ran."},
                     {1, "A scenario failed."},
                     {2, "The command line is wrong, or there is no file."}}};
  spec.options = {
      {.names = "path",
       .value = "FILE|DIR",
       .help = "Files, and directories that are searched for *.json, in sorted order.",
       .target = &arguments->paths,
       .required = true,
       .completion = Completion::files},
      {.names = "--observe",
       .help = "Print the actual results of each scenario as a JSON array, one element for each operation, instead of "
               "checking them.",
       .target = &arguments->observe},
      {.names = "-q,--quiet", .help = "Print only the numbers of passed and failed.", .target = &arguments->quiet},
      {.names = "--lane",
       .help = "Where tools run: in a thread (the default), or in a worker process. Handlers that end their process "
               "always run in a worker.",
       .target = std::function<void(const std::string&)>(
           [arguments](const std::string& lane) { arguments->lane = lane == "worker" ? Lane::worker : Lane::thread; }),
       .choices = {"thread", "worker"}},
      {.names = "-j,--jobs",
       .value = "N",
       .help = "Files to check at once. The order of the output does not depend on it.",
       .target = &arguments->jobs,
       .minimum = 1,
       .maximum = 256,
       .show_default = true}};
  spec.run = [arguments](const CommandContext& context) {
    return scenario_command(*arguments, context.out, context.errors);
  };
  return spec;
}

}  // namespace allm::cli
