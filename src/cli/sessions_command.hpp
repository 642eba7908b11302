// `allm sessions`: the sessions of a store. Each function returns the exit code: 0, or 1 if something failed. Errors
// are written to `errors`. All block.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "allm/work_queue.hpp"

#include "cli/command/spec.hpp"
#include "cli/terminal.hpp"

namespace allm::cli {

// Where a command reads and writes.
struct SessionsOutput {
  const Terminal& out;
  const Terminal& errors;
  bool json = false;  // JSON lines instead of text for people
};

// The sessions of `query`: a line each.
int list_sessions(Store& store, SessionQuery query, bool all, const SessionsOutput& output);
int show_session(Store& store, const std::string& id, const SessionsOutput& output);
int delete_sessions(Store& store, const std::vector<std::string>& ids, const SessionsOutput& output);

struct FollowArguments {
  std::string id = {};
  std::int64_t after = 0;  // entries of the log with greater numbers are shown
  // Ends after the run of this job. Default: after the last run in the log.
  std::optional<std::int64_t> job = std::nullopt;
  bool stay = false;  // goes on after the end of a run
};
// Shows the log of a session while it is written. Returns 1 if the last run failed.
int follow_session(Store& store, const FollowArguments& arguments, const SessionsOutput& output);

struct SubmitArguments {
  std::string id = {};                              // empty: a new session
  std::string text = {};                            // "-": standard input
  std::optional<std::string> order = std::nullopt;  // JSON, instead of a text
  std::optional<std::string> system = std::nullopt;
  std::string tenant = {};
  std::optional<std::int64_t> epoch = std::nullopt;
  int priority = 0;
  double delay_seconds = 0;
  int attempts = 5;  // failed attempts until the job is given up; 0: no limit
  double retry_delay_seconds = 1;
  bool follow = false;
};
int submit_message(Store& store, const SubmitArguments& arguments, std::FILE* input, const SessionsOutput& output);

// `path`: a file, or empty for `out`.
int export_to_file(Store& store, const SessionQuery& query, const std::string& path, const SessionsOutput& output);

struct ImportArguments {
  std::vector<std::string> files = {};  // "-": standard input
  std::optional<std::string> tenant = std::nullopt;
  bool replace = false;
};
int import_files(Store& store, const ImportArguments& arguments, std::FILE* input, const SessionsOutput& output);

// "job 7 was given up at attempt 5: …", from the body of a log entry `job_given_up`.
std::string given_up_text(const Json& body);

// Writes "allm sessions: message" and returns 1.
int fail_sessions(const SessionsOutput& output, const std::string& message);

// `allm sessions` with all its commands.
CommandSpec sessions_spec();
CommandSpec follow_spec();
CommandSpec submit_spec();
CommandSpec export_spec();
CommandSpec import_spec();

// What a command of `allm sessions` does with the store. The last parameter is its input.
using StoreWork = std::function<int(Store&, const SessionsOutput&, std::FILE*)>;
// Adds the options --store and --json, and runs `work` on the store that they name.
CommandSpec on_store(CommandSpec spec, StoreWork work);

// The options --status and --tenant.
std::vector<OptionSpec> filter_options(SessionQuery& query);
// A session id as an argument.
OptionSpec id_argument(OptionTarget target, std::string help);

}  // namespace allm::cli
