// How a run is opened: a new one from an order, or an interrupted one from its journal.
#include <utility>

#include "engine/request_id.hpp"
#include "stores/journal/job_end.hpp"
#include "stores/journal/session_journal.hpp"
#include "stores/journal/store_attempts.hpp"
#include "stores/journal/stored_run.hpp"

namespace allm {
namespace {

constexpr std::size_t kFactsPerRead = 1'000;

Error conflict(const std::string& id, const std::string& why) {
  return Error(StoreError{StoreReason::conflict, id}, "session '" + id + "': " + why);
}

Status check_epoch(const std::string& id, const std::optional<std::int64_t>& epoch, std::int64_t version) {
  if (!epoch || *epoch == version) return {};
  const std::string name = "epoch " + std::to_string(*epoch);
  if (*epoch > version) return std::unexpected(conflict(id, name + " does not exist yet"));
  return std::unexpected(
      conflict(id, name + " was answered already; the session has version " + std::to_string(version) + " now"));
}

SessionRun run_of(const SessionOrder& order) {
  SessionRun run;
  switch (order.kind) {
    case SessionOrder::Kind::start:
      break;
    case SessionOrder::Kind::results:
    case SessionOrder::Kind::continue_run:
      run.operation = SessionOperation::continue_run;
      break;
    case SessionOrder::Kind::message: {
      const Message message = order.message.value_or(user(""));
      run.operation = message.role == Role::user ? SessionOperation::reply : SessionOperation::continue_run;
      run.request.messages.push_back(message);
      break;
    }
    case SessionOrder::Kind::decisions:
      run.operation = SessionOperation::approve;
      run.decisions = order.decisions;
      break;
  }
  return run;
}

// The session that the run starts from: `session` with the results of the order.
Result<OpenRun> prepare_run(Session session, const SessionOrder& order, ToolResultEncoder* encoder) {
  OpenRun open{.before = std::move(session), .run = run_of(order)};
  if (order.kind == SessionOrder::Kind::results) {
    Result<Session> answered = submit_tool_results(std::move(open.before), order.results, encoder);
    if (!answered) return std::unexpected(answered.error());
    open.before = *std::move(answered);
    if (!open.before.pending_tool_calls.empty()) {
      open.finished = open.before;
      return open;
    }
  }
  if (Status allowed = check_session_run(open.before, open.run); !allowed) return std::unexpected(allowed.error());
  return open;
}

}  // namespace

Result<OpenRun> StoredRun::open() {
  Result<StoredSession> stored = load();
  if (!stored) return std::unexpected(stored.error());
  if (request_.order) return open_order(*std::move(stored));
  if (open_run_mark(stored->session)) {
    if (Status held = hold_lease(); !held) return std::unexpected(held.error());
    // Somebody else may have ended the run meanwhile.
    stored = load();
    if (!stored) return std::unexpected(stored.error());
    if (const auto mark = open_run_mark(stored->session)) return reopen(*stored, mark->version);
  }
  return std::unexpected(Error(SessionError{SessionError::Reason::invalid_status_for_operation},
                               "session '" + request_.session_id + "' has no interrupted run"));
}

// The order is one for the session as it was loaded. If somebody changes the session before the lease is held, the
// first commit fails.
Result<OpenRun> StoredRun::open_order(StoredSession stored) {
  const std::string& id = request_.session_id;
  if (Status current = check_epoch(id, request_.order->epoch, stored.version); !current) {
    return std::unexpected(current.error());
  }
  if (Status held = hold_lease(); !held) {
    if (!is_store_error(held.error(), StoreReason::leased)) return std::unexpected(held.error());
    // Whoever holds the lease may have answered the same epoch.
    const Result<StoredSession> now = load();
    if (now && request_.order->epoch) {
      if (Status current = check_epoch(id, request_.order->epoch, now->version); !current) {
        return std::unexpected(current.error());
      }
    }
    return std::unexpected(held.error());
  }
  if (!open_run_mark(stored.session)) return begin(std::move(stored));
  const Result<StoredSession> now = load();
  if (!now) return std::unexpected(now.error());
  if (now->version != stored.version) return std::unexpected(start_conflict(now->version));
  return std::unexpected(conflict(id, "its last run was interrupted; resume it first"));
}

Error StoredRun::start_conflict(std::int64_t version) {
  const std::string& id = request_.session_id;
  if (const Status current = check_epoch(id, request_.order->epoch, version); !current) return current.error();
  return conflict(id, "somebody else has changed or answered it since this call began; it has version " +
                          std::to_string(version) + " now");
}

Result<OpenRun> StoredRun::begin(StoredSession stored) {
  stored.session = without_given_up(std::move(stored.session));
  Result<OpenRun> open = prepare_run(stored.session, *request_.order, encoder_.get());
  if (!open) return open;
  open->version = stored.version + 1;
  open->request_id = make_request_id();
  Json body = {
      {"version", open->version}, {"order", session_order_to_json(*request_.order)}, {"request_id", open->request_id}};
  Json mark = {{"version", open->version}};
  if (request_.job) mark["job"] = body["job"] = *request_.job;
  Commit start = change({make_fact(fact::run_started, std::move(body))});
  start.expected_version = stored.version;
  if (open->finished) {
    start.entries.push_back(make_fact(fact::suspended, {{"epoch", open->version}}));
    start.session = open->finished;
    start.finished_job = request_.job;
    start.release = !request_.keep_lease;
  } else {
    start.session = std::move(stored.session);
    if (!start.session->metadata.is_object()) start.session->metadata = Json::object();
    start.session->metadata[kOpenRun] = std::move(mark);
  }
  const Result<Committed> committed = commit_surely(start);
  if (!committed && is_store_error(committed.error(), StoreReason::conflict)) {
    const Result<StoredSession> now = load();
    return std::unexpected(now ? start_conflict(now->version) : now.error());
  }
  if (!committed) return std::unexpected(committed.error());
  last_number_ = committed->last_number;
  version_.store(committed->version, std::memory_order_release);
  return open;
}

Result<OpenRun> StoredRun::reopen(const StoredSession& stored, std::int64_t version) {
  const std::string& id = request_.session_id;
  const Result<LogEntry> start = find_start(version);
  if (!start) return std::unexpected(start.error());
  const Result<SessionOrder> order = session_order_from_json(start->body.value("order", Json(nullptr)));
  if (!order) return std::unexpected(corrupted_journal(id, order.error().message()));
  Result<OpenRun> open = prepare_run(without_mark(stored.session), *order, encoder_.get());
  if (!open) return std::unexpected(corrupted_journal(id, open.error().message()));
  open->version = version;
  open->request_id = start->body.value("request_id", std::string());
  if (Status read = read_facts(start->number, open->recorded); !read) return std::unexpected(read.error());
  if (request_.given_up) return open;
  Commit resumed = change({make_fact(fact::run_resumed, Json::object())});
  if (request_.job) resumed.entries.front().body["job"] = *request_.job;
  if (options_.log_events) resumed.entries.push_back({.kind = "event", .body = {{"type", "run_resumed"}}});
  const Result<Committed> committed = commit_surely(resumed);
  if (!committed) return std::unexpected(committed.error());
  last_number_ = committed->last_number;
  return open;
}

Result<LogEntry> StoredRun::find_start(std::int64_t version) {
  std::int64_t after = 0;
  while (true) {
    Result<std::vector<LogEntry>> starts =
        store_->read_log(request_.session_id, after, kFactsPerRead, fact::run_started);
    if (!starts) return std::unexpected(starts.error());
    for (LogEntry& entry : *starts) {
      after = entry.number;
      if (entry.body.is_object() && entry.body.value("version", Json(0)) == version) return std::move(entry);
    }
    if (starts->size() < kFactsPerRead) {
      return std::unexpected(corrupted_journal(request_.session_id, "the beginning of the run is missing"));
    }
  }
}

Status StoredRun::read_facts(std::int64_t after, RecordedRun& recorded) {
  while (true) {
    const Result<std::vector<LogEntry>> facts = store_->read_log(request_.session_id, after, kFactsPerRead, "facts");
    if (!facts) return std::unexpected(facts.error());
    if (Status added = add_facts(recorded, request_.session_id, *facts); !added) return added;
    if (facts->size() < kFactsPerRead) return {};
    after = facts->back().number;
  }
}

}  // namespace allm
