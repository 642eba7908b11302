// Outcomes as JSON, between processes: {"ok": value}, {"failure": value}, {"ask_user": {question, options}},
// {"halt": {reason, result}}, and {"error": …} for what a runner of ours established.
#pragma once

#include <string>

#include "allm/tool.hpp"

namespace allm {

// Fails if JSON cannot carry the outcome.
Result<std::string> write_outcome(const ToolOutcome& outcome);

// Fails with ValidationError `invalid_request` saying what is wrong. `error` is read only if `trusted`.
Result<ToolOutcome> read_outcome(const Json& json, bool trusted);

}  // namespace allm
