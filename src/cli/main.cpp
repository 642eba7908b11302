// The program allm.
#include <cstdio>
#include <string>
#include <vector>

#include "allm/scenario.hpp"
#include "allm/workers.hpp"

#include "cli/command/parser.hpp"
#include "cli/commands.hpp"

int main(int argc, char** argv) {
  using namespace allm::cli;

  allm::register_scenario_workers();
  allm::run_as_worker_if_asked();

  const Terminal out(stdout);
  const Terminal errors(stderr);
  const CommandSpec root = all_commands();
  const std::string version = ALLM_VERSION;
  const std::vector<std::string> arguments(argc > 0 ? argv + 1 : argv, argv + argc);
  return run_command_line(arguments, {.in = stdin, .out = out, .errors = errors, .root = root, .version = version});
}
