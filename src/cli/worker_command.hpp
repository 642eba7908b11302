// `allm worker`: runs the sessions of a store for which messages were submitted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command/spec.hpp"
#include "cli/terminal.hpp"

namespace allm::cli {

struct WorkerArguments {
  std::string store = {};  // empty: the user's store
  std::string model = {};  // provider:model, or provider@base_url:model
  std::optional<std::string> base_url = std::nullopt;
  std::vector<std::string> tools = {};  // tools files
  std::size_t jobs = 4;
  std::optional<std::size_t> max_per_tenant = std::nullopt;
  std::int64_t max_turns = 8;
  std::optional<std::string> budget = std::nullopt;  // of the store
  std::optional<std::int64_t> max_tokens = std::nullopt;
  double lease_seconds = 30;
  double grace_seconds = 20;  // after SIGTERM or SIGINT
  bool until_empty = false;
  bool json = false;
};

// Runs until SIGTERM or SIGINT; then claims no more jobs and waits for those that are running. After the grace time, or
// at a second signal, it releases the others, which other workers resume, and ends the process. Returns the exit code:
// 0, or 1 if it could not start. Blocks.
int worker_command(const WorkerArguments& arguments, const Terminal& out, const Terminal& errors);

CommandSpec worker_spec();

}  // namespace allm::cli
