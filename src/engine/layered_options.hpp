// Options from several places: the call's, the request's, the engine's.
#pragma once

#include "allm/options.hpp"

namespace allm {

// Sets what `options` leaves out to what `lower` says. Tools and params are merged by name.
void fill_options(CallOptions& options, CallOptions lower);

// The settings of a request as options; they are moved out of it, so that its messages, model, metadata and unknown
// fields are left.
CallOptions take_settings(Request& request);

}  // namespace allm
