// The facts of the journal: entries of a session's log, of these kinds.
//
//   run_started     {"version", "order", "request_id", "job"}   `version` is that of the session while it runs
//   run_resumed     {"job"}
//   response        {"step", "response"}                        a complete response of the model, with its tool calls
//   decided         {"step", "decisions": […]}                  by the approval gate
//   dispatched      {"step", "call_id", "name", "key"}          before a tool call is run; `key`: idempotency key
//   finished        {"step", "call_id", "how", "outcome"}       how: by_handler, at_once, as_refused, over_limit
//   step_completed  {"step"}
//   suspended       {"epoch", "job"}                            the end of a run: the session waits for an answer
//   run_ended       {"end", "job"} or {"error", "job"}          the end of a run
//   order_refused   {"job", "error"}                            a job whose order is not allowed
//   attempt_failed  {"job", "error"}                            the job is tried again
//   job_given_up    {"job", "attempts", "error"}                the end of a job, and of its run
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allm/response.hpp"
#include "allm/store.hpp"

#include "engine/run_journal.hpp"

namespace allm {

namespace fact {
inline constexpr std::string_view run_started = "run_started";
inline constexpr std::string_view run_resumed = "run_resumed";
inline constexpr std::string_view response = "response";
inline constexpr std::string_view decided = "decided";
inline constexpr std::string_view dispatched = "dispatched";
inline constexpr std::string_view finished = "finished";
inline constexpr std::string_view step_completed = "step_completed";
inline constexpr std::string_view suspended = "suspended";
inline constexpr std::string_view run_ended = "run_ended";
inline constexpr std::string_view order_refused = "order_refused";
inline constexpr std::string_view attempt_failed = "attempt_failed";
inline constexpr std::string_view job_given_up = "job_given_up";
}  // namespace fact

LogEntry make_fact(std::string_view kind, Json body);

// The recorded part of an interrupted run.
struct RecordedRun {
  using CallKey = std::pair<int, std::string>;  // step and id of a call
  std::map<int, Response> responses = {};       // by step
  std::map<int, std::vector<Approval>> decisions = {};
  std::set<CallKey> dispatched = {};
  std::map<CallKey, RunJournal::RecordedAnswer> answers = {};
};
// Adds facts that follow run_started. Fails with StoreError `corrupted` if one cannot be read.
Status add_facts(RecordedRun& run, const std::string& session_id, std::span<const LogEntry> facts);

// The events of a response that is known as a whole.
std::vector<Event> response_events(const Response& response);

// The body of a fact; an error if JSON cannot carry the outcome.
Result<Json> finished_fact(int step, const ToolCall& call, const RunJournal::RecordedAnswer& answer);

LogEntry order_refused_fact(std::int64_t job, const Error& error);
LogEntry attempt_failed_fact(std::int64_t job, const Error& error);

Error corrupted_journal(const std::string& session_id, const std::string& what);

}  // namespace allm
