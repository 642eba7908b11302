// Merges options from several places: the call, the request and the engine.
#pragma once

#include "allm/options.hpp"

namespace allm {

// Takes every option that `options` leaves out from `lower`. Tools and params are merged by name.
// The second form copies only what is used.
void fill_options(CallOptions& options, CallOptions&& lower);
void fill_options(CallOptions& options, const CallOptions& lower);

// Moves the settings of a request into options. Its messages, model, metadata and unknown fields stay.
CallOptions take_settings(Request& request);

}  // namespace allm
