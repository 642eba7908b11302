#include "stores/journal/session_journal.hpp"

#include <utility>

#include "allm/executor.hpp"
#include "allm/serialize.hpp"

#include "data/tool_errors.hpp"
#include "stores/journal/approval_json.hpp"
#include "stores/journal/job_end.hpp"
#include "stores/journal/logged_event.hpp"

namespace allm {
namespace {

// The same error as that of a run without a journal.
Error unrecordable(const ToolCall& call, const ToolOutcome& outcome, const Error& error) {
  if (std::holds_alternative<AskUser>(outcome)) return invalid_question_error(call);
  const auto* value = std::get_if<ToolOk>(&outcome);
  const auto* halt = std::get_if<Halt>(&outcome);
  if (value != nullptr || halt != nullptr) {
    const auto text = JsonToolResultEncoder().encode(value != nullptr ? value->value : halt->result);
    if (!text) return unwritable_result_error(call, text.error().message());
  }
  return unwritable_result_error(call, error.message());
}

}  // namespace

SessionJournal::SessionJournal(std::shared_ptr<JournalQueue> queue, Settings settings)
    : queue_(std::move(queue)), settings_(std::move(settings)) {}

std::optional<std::vector<Event>> SessionJournal::next_response() {
  ++step_;
  message_ = StreamCollector();
  const auto recorded = settings_.recorded.responses.find(step_);
  if (recorded != settings_.recorded.responses.end()) return response_events(recorded->second);
  if (!settings_.given_up) return std::nullopt;
  return std::vector<Event>{ErrorEvent{given_up_error(*settings_.given_up)}};
}

void SessionJournal::note_model_event(const Event& event) {
  message_.apply(event);
  if (event.tag() != EventTag::message_completed) return;
  if (const Result<Response> response = std::exchange(message_, StreamCollector()).response()) {
    queue_->add(make_fact(fact::response, {{"step", step_}, {"response", to_json_value(*response)}}));
  }
}

std::optional<std::vector<Approval>> SessionJournal::recorded_decisions() const {
  const auto recorded = settings_.recorded.decisions.find(step_);
  if (recorded == settings_.recorded.decisions.end()) return std::nullopt;
  return recorded->second;
}

void SessionJournal::record_decisions(std::span<const Approval> decisions) {
  Json list = Json::array();
  for (const Approval& decision : decisions) list.push_back(approval_to_json(decision));
  queue_->add(make_fact(fact::decided, {{"step", step_}, {"decisions", std::move(list)}}));
}

std::optional<RunJournal::RecordedAnswer> SessionJournal::recorded_answer(const ToolCall& call) const {
  const auto recorded = settings_.recorded.answers.find(key_of(call));
  if (recorded != settings_.recorded.answers.end()) return recorded->second;
  if (!settings_.given_up) return std::nullopt;
  if (settings_.recorded.dispatched.contains(key_of(call))) {
    return RecordedAnswer{ToolFailure{interrupted_error(call)}, Answered::by_handler};
  }
  return RecordedAnswer{ToolFailure{not_run_error(call, "the run was given up")}, Answered::as_refused};
}

bool SessionJournal::was_interrupted(const ToolCall& call) const {
  return !settings_.given_up && settings_.recorded.dispatched.contains(key_of(call)) &&
         !settings_.recorded.answers.contains(key_of(call));
}

std::string SessionJournal::idempotency_key(const ToolCall& call) const {
  // A call of step 0 was pending before the run, and may have been started by an earlier run.
  if (step_ == 0 && settings_.interrupted.is_object()) {
    const auto key = settings_.interrupted.find(call.id);
    if (key != settings_.interrupted.end() && key->is_string()) return key->get<std::string>();
  }
  return settings_.session_id + ":" + std::to_string(settings_.version) + ":" + std::to_string(step_) + ":" + call.id;
}

RunJournal::Position SessionJournal::record_dispatched(const ToolCall& call) {
  return queue_->add(make_fact(
      fact::dispatched, {{"step", step_}, {"call_id", call.id}, {"name", call.name}, {"key", idempotency_key(call)}}));
}

ToolOutcome SessionJournal::record_answer(const ToolCall& call, RecordedAnswer answer) {
  Result<Json> body = finished_fact(step_, call, answer);
  if (!body) {
    answer.outcome = ToolFailure{unrecordable(call, answer.outcome, body.error())};
    body = finished_fact(step_, call, answer);
  }
  if (body) queue_->add(make_fact(fact::finished, *std::move(body)));
  return std::move(answer.outcome);
}

void SessionJournal::note_event(const Event& event) {
  if (settings_.log_events) log(event);
  if (reducer_) reducer_->apply(event);
  if (event.tag() == EventTag::step_completed) {
    queue_->add(make_fact(fact::step_completed, {{"step", step_}}));
  } else if (const auto* completed = event.get_if<ChatCompleted>()) {
    end_run({{"end", completed->result->halted_reason()}});
  }
}

void SessionJournal::note_end() {
  if (settings_.log_events) log_text();
  if (has_ended() || !reducer_) return;
  const Result<SessionTurn> turn = reducer_->turn();
  end_run(turn ? Json{{"end", turn->result.halted_reason()}} : Json{{"error", to_json_value(turn.error())}});
}

void SessionJournal::end_run(Json end) {
  turn_ = reducer_->turn();
  Session session = reducer_->session();
  reducer_.reset();
  keep_interrupted_calls(session);
  if (*turn_) (*turn_)->session = session;
  const bool waits = session.status == SessionStatus::awaiting_user || session.status == SessionStatus::awaiting_tools;
  if (waits) end["epoch"] = settings_.version + 1;
  LogEntry last = make_fact(waits ? fact::suspended : fact::run_ended, std::move(end));
  if (settings_.given_up) last = given_up_fact(*settings_.given_up);
  queue_->end(std::move(last), std::move(session));
}

void SessionJournal::keep_interrupted_calls(Session& session) const {
  Json keys = Json::object();
  for (const PendingToolCall& call : session.pending_tool_calls) {
    const bool was_before = settings_.interrupted.is_object() && settings_.interrupted.contains(call.id);
    if (was_interrupted(call)) {
      keys[call.id] = idempotency_key(call);
    } else if (was_before) {
      keys[call.id] = settings_.interrupted[call.id];
    }
  }
  if (!session.metadata.is_object()) return;
  if (keys.empty()) {
    session.metadata.erase(kInterruptedCalls);
  } else {
    session.metadata[kInterruptedCalls] = std::move(keys);
  }
}

void SessionJournal::log(const Event& event) {
  if (const auto* delta = event.get_if<TextDelta>()) {
    text_ += delta->delta;
    // Long texts are logged while they are written, so that a follower sees them grow.
    constexpr std::size_t kPiece = 256;
    if (text_.size() >= kPiece) log_text();
    return;
  }
  const EventTag tag = event.tag();
  if (tag == EventTag::raw_chunk || tag == EventTag::tool_call_delta) return;
  log_text();
  queue_->add_event({.kind = "event", .body = logged_event(event)});
}

void SessionJournal::log_text() {
  if (text_.empty()) return;
  queue_->add_event({.kind = "event", .body = logged_event(TextDelta{.delta = std::exchange(text_, {})})});
}

}  // namespace allm
