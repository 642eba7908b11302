// A scenario's options as call options: plain values as call_options_from_json reads them, and the
// function forms of `on_tool_error` and `halt_when`.
#pragma once

#include "allm/options.hpp"

namespace allm::scenario {

// The options of one operation: `own` over `defaults`, key by key. Fails with ValidationError
// `invalid_option` and the option's path. The functions in the result count from their first call,
// so each operation needs options of its own.
Result<CallOptions> make_call_options(const Json& defaults, const Json& own);

}  // namespace allm::scenario
