// Jobs: processes that the process supervisor starts for the program, and the messages about them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "allm/json.hpp"
#include "allm/lane.hpp"

namespace allm {

// Environment variable with the job's id, for people who look at processes. Nothing relies on it.
inline constexpr const char* kJobVariable = "ALLM_JOB";

struct JobRequest {
  std::uint64_t id = 0;
  bool is_worker = false;              // start this executable as a worker; argv is ignored
  std::vector<std::string> argv = {};  // argv[0] is looked for in the PATH of `environment`
  // "NAME=value" each. A worker also has the variables of the process supervisor, after these.
  std::vector<std::string> environment = {};
  std::string directory = {};  // empty: the process supervisor's directory
  ToolLimits limits = {};
  std::vector<int> fds = {};  // descriptor numbers in the new process, one for each descriptor sent with the request
  // Whether the program needs the error output of a process that exits with status 0. If not, it knows that end sooner.
  bool needs_error_output = true;
};

struct JobEnd {
  std::uint64_t id = 0;
  std::optional<int> status = std::nullopt;
  std::optional<int> signal = std::nullopt;
  std::string error = {};         // why it could not be started
  std::string lost = {};          // why it ended, if that was not its own doing: "the process supervisor was stopped"
  std::string error_output = {};  // the last lines
};

// Whether the kernel could run a program with these arguments and this environment: one text has at most 128 KiB, and
// all together at most 6 MiB. The error names the size.
std::expected<void, std::string> check_size(const JobRequest& request);

Json to_message(const JobRequest& request);
JobRequest job_request_from(const Json& message);
Json to_message(const JobEnd& end);
JobEnd job_end_from(const Json& message);
// A place is where the program sends the jobs of one guard.
Json stop_message(std::uint64_t place, std::chrono::milliseconds grace);
inline constexpr const char* kLostPlace = "lost_place";  // in the end of the job that a place may have had

// "SIGSEGV", or "signal 77".
std::string signal_name(int signal);
// "exited with status 3", "was killed by SIGSEGV".
std::string describe(const JobEnd& end);

}  // namespace allm
