// Jobs: processes that the process supervisor starts for the program, and what the two tell each other about them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allm/json.hpp"
#include "allm/lane.hpp"

namespace allm {

// In the environment of a job and of what it starts: its id, by which the process supervisor knows processes that left
// its group.
inline constexpr const char* kJobVariable = "ALLM_JOB";

struct JobRequest {
  std::uint64_t id = 0;
  bool is_worker = false;              // this executable as a worker; program, argv and environment do not count then
  std::vector<std::string> argv = {};  // argv[0] is looked for in the PATH of `environment`
  std::vector<std::string> environment = {};  // "NAME=value"
  std::string directory = {};                 // empty for the process supervisor's own
  ToolLimits limits = {};
  std::vector<int> fds = {};  // the numbers that the descriptors sent with it get
};

struct JobEnd {
  std::uint64_t id = 0;
  std::optional<int> status = std::nullopt;
  std::optional<int> signal = std::nullopt;
  std::string problem = {};       // why it could not be started
  std::string error_output = {};  // the end of it
};

Json to_message(const JobRequest& request);
JobRequest job_request_from(const Json& message);
Json to_message(const JobEnd& end);
JobEnd job_end_from(const Json& message);
Json stop_message(std::uint64_t id, std::chrono::milliseconds grace);

// "SIGSEGV", or "signal 77".
std::string signal_name(int signal);
// "exited with status 3", "was killed by SIGSEGV".
std::string describe(const JobEnd& end);

}  // namespace allm
