// Events of a run as they are written to the log for followers: {"type": "text_delta", "delta": "Hello"}.
#pragma once

#include "allm/event.hpp"
#include "allm/json.hpp"

namespace allm {

Json logged_event(const Event& event);

}  // namespace allm
