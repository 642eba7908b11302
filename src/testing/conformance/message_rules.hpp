// The rules for the events of one model call. Each function checks one rule and returns what is wrong, or nullopt.
// Pure functions; safe to call from any thread.
#pragma once

#include "testing/conformance/reading.hpp"
#include "testing/conformance/report.hpp"

namespace allm::conformance {

// Rules of poll().
Finding throws_nothing(const Reading& reading);
Finding pending_calls_the_waker(const Reading& reading);
Finding latest_waker_is_called(const Reading& reading);
Finding end_is_final(const Reading& reading);

// Rules of every message.
Finding answers_the_request(const Reading& reading);
Finding message_started_is_first(const Reading& reading);
Finding message_completed_is_last(const Reading& reading);
Finding only_model_events(const Reading& reading);
Finding text_is_utf8(const Reading& reading);
Finding text_deltas_match_the_text(const Reading& reading);
Finding nothing_follows_an_error(const Reading& reading);

// Rules of an answer that calls tools.
Finding calls_tools(const Reading& reading);
Finding call_ids_are_unique(const Reading& reading);
Finding calls_are_started_and_completed(const Reading& reading);
Finding call_deltas_match_the_arguments(const Reading& reading);
Finding finish_reason_is_tool_calls(const Reading& reading);

// Rules of a request that must fail.
Finding failures_are_errors(const Reading& reading);

}  // namespace allm::conformance
