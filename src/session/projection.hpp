// What a result makes of a session.
#pragma once

#include "allm/result.hpp"
#include "allm/session.hpp"

namespace allm {

// The session after a whole run or a step: thread replaced, pending things cleared and set anew, the
// result's metadata merged into the session's.
Session after_chat(Session session, const ChatResult& result);
Session after_step(Session session, const StepResult& result);

}  // namespace allm
