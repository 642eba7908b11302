// Which executable the process supervisor and the workers are: the program itself, or a helper executable.
#pragma once

#include <expected>
#include <string>

namespace allm {

// Where the executable is taken from, in this order:
//   1. `option`, RuntimeOptions::helper
//   2. the program itself, if its main calls run_as_worker_if_asked
//   3. the environment variable ALLM_HELPER
//   4. allm-helper beside the program, beside the shared library that holds this code, in the bin folder next to that
//      library's folder, and where allm installs programs
// The error says where was looked. Safe to call from any thread.
std::expected<std::string, std::string> find_helper(const std::string& option);

inline constexpr const char* kHelperVariable = "ALLM_HELPER";

}  // namespace allm
