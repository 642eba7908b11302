// Outcomes as JSON, between processes: {"ok": value}, {"ok_parts": [parts]}, {"failure": value},
// {"ask_user": {question, options}}, {"halt": {reason, result}}, and {"error": …} for an error that allm itself found.
#pragma once

#include <string>

#include "allm/tool.hpp"

namespace allm {

// Fails if JSON cannot carry the outcome. Parts that name a file are written with the bytes of the file, because the
// other process may not be allowed to read the file or may find another one there.
Result<std::string> write_outcome(const ToolOutcome& outcome);

// Fails with ValidationError `invalid_request` saying what is wrong. `error` is read only if `trusted`. Parts that name
// a file are refused: a tool in a sandbox must not choose what this process reads.
Result<ToolOutcome> read_outcome(const Json& json, bool trusted);

}  // namespace allm
