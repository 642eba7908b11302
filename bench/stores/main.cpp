// The cost of session stores:
//
//   steps     a journaled step on SQLite, beside the same bytes written and synced by a bare program
//   workers   sessions per second on PostgreSQL
//   loads     loads of long sessions, beside parsing their bytes
//   lists     lists and searches of many sessions
//
// --peer: a command that runs the steps with another library; bench/peers/README.md says how it is called.
// Files are made in a folder below the current one, which is removed afterwards. docs/benchmarks.md has figures.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "stores/bench.hpp"

namespace {

constexpr std::string_view kUsage =
    "usage: allm_store_bench [--rounds N] [--sessions N] [--peer COMMAND] [steps|workers|loads|lists]...\n";

struct Arguments {
  allm::bench::Settings settings = {};
  std::vector<std::string> parts = {};
};

Arguments read_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--")) {
      arguments.parts.push_back(word);
      continue;
    }
    if (++i == words.size()) throw std::invalid_argument(word);
    if (word == "--rounds") {
      arguments.settings.rounds = std::stoi(words[i]);
    } else if (word == "--sessions") {
      arguments.settings.sessions = std::stoi(words[i]);
    } else if (word == "--peer") {
      arguments.settings.peer = words[i];
    } else {
      throw std::invalid_argument(word);
    }
  }
  if (arguments.parts.empty()) arguments.parts = {"steps", "workers", "loads", "lists"};
  return arguments;
}

void measure(const Arguments& arguments) {
  using Workload = void (*)(const allm::bench::Settings&);
  const std::map<std::string, Workload> workloads = {{"steps", allm::bench::measure_steps},
                                                     {"workers", allm::bench::measure_workers},
                                                     {"loads", allm::bench::measure_loads},
                                                     {"lists", allm::bench::measure_lists}};
  for (const std::string& part : arguments.parts) {
    if (!workloads.contains(part)) throw std::invalid_argument(part);
  }
  for (const std::string& part : arguments.parts) workloads.at(part)(arguments.settings);
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = "build-store-bench-XXXXXX";
  int status = 0;
  try {
    Arguments arguments = read_arguments({argv + 1, argv + argc});
    if (mkdtemp(folder.data()) == nullptr) {
      std::perror("no folder could be made");
      return 1;
    }
    arguments.settings.folder = std::filesystem::absolute(folder);
    measure(arguments);
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "not understood: {}\n{}", error.what(), kUsage);
    status = 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    status = 1;
  }
  std::filesystem::remove_all(folder);
  return status;
}
