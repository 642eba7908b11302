// Converts the options of a scenario to call options: plain values as call_options_from_json reads them, and the forms
// of `on_tool_error` and `halt_when` that describe functions. Safe to call from any thread.
#pragma once

#include "allm/options.hpp"

namespace allm::scenario {

// The options of one operation: each key of `own` replaces that of `defaults`. Fails with ValidationError
// `invalid_option` and the option's path. The functions in the result count their calls, so each operation needs new
// options.
Result<CallOptions> make_call_options(const Json& defaults, const Json& own);

}  // namespace allm::scenario
