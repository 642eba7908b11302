// Applies the result of a run or a step to a session.
#pragma once

#include "allm/result.hpp"
#include "allm/session.hpp"

namespace allm {

// The session after a whole run or a step: its thread is replaced, its pending question and calls are set from the
// result, and the result's metadata are merged into the session's.
Session after_chat(Session session, const ChatResult& result);
Session after_step(Session session, const StepResult& result);

}  // namespace allm
