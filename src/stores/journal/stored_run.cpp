#include "stores/journal/stored_run.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "engine/request_id.hpp"
#include "stores/journal/job_end.hpp"
#include "stores/journal/session_journal.hpp"

namespace allm {
namespace {

using StoreReason = StoreError::Reason;

constexpr std::size_t kFactsPerRead = 1'000;

bool is_store_error(const Error& error, StoreReason reason) { return error.is<StoreError>(reason); }

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

Session without_mark(Session session) {
  if (session.metadata.is_object()) session.metadata.erase(kOpenRun);
  return session;
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

std::optional<OpenRunMark> open_run_mark(const Session& session) {
  if (!session.metadata.is_object()) return std::nullopt;
  const auto mark = session.metadata.find(kOpenRun);
  if (mark == session.metadata.end() || !mark->is_object()) return std::nullopt;
  const auto version = mark->find("version");
  if (version == mark->end() || !version->is_number_integer()) return std::nullopt;
  OpenRunMark open{.version = version->get<std::int64_t>()};
  if (const auto job = mark->find("job"); job != mark->end() && job->is_number_integer()) {
    open.job = job->get<std::int64_t>();
  }
  return open;
}

StoredRun::StoredRun(std::shared_ptr<SessionStore> store, const RunnerOptions& options, RunRequest request,
                     std::shared_ptr<ToolResultEncoder> encoder)
    : store_(std::move(store)),
      options_(options),
      request_(std::move(request)),
      encoder_(std::move(encoder)),
      queue_(std::make_shared<JournalQueue>()) {}

void StoredRun::work() noexcept {
  Result<OpenRun> opened = open();
  if (!opened) {
    fail_to_begin(opened.error());
    publish(std::move(opened));
  } else {
    const bool is_finished = opened->finished.has_value();
    publish(std::move(opened));
    if (!is_finished) write();
  }
  over_.store(true, std::memory_order_release);
}

std::optional<Result<OpenRun>> StoredRun::take_opened(const Waker& waker) {
  queue_->watch(waker);
  const std::lock_guard lock(mutex_);
  return std::exchange(opened_, std::nullopt);
}

void StoredRun::publish(Result<OpenRun> opened) {
  {
    const std::lock_guard lock(mutex_);
    opened_ = std::move(opened);
  }
  queue_->wake();
}

void StoredRun::fail_to_begin(const Error& error) {
  if (!lease_) return;
  const bool is_refused = error.get_if<StoreError>() == nullptr || is_store_error(error, StoreReason::conflict);
  if (request_.job && is_refused) {
    Commit refusal = change({order_refused_fact(*request_.job, error)});
    refusal.finished_job = request_.job;
    refusal.release = true;
    if (commit_surely(refusal)) return;
  }
  end_lease(error);
}

// If this fails, the lease expires.
void StoredRun::end_lease(const Error& error) {
  // Whoever is fenced off has failed, unless the store was out of reach: releasing takes the failure back.
  if (is_store_error(error, StoreReason::fenced) && !had_outage_) return;
  [[maybe_unused]] const Status ended =
      request_.attempt_of ? end_attempt(*store_, *request_.attempt_of, *lease_, error) : store_->release(*lease_);
}

Status StoredRun::hold_lease() {
  if (request_.lease) {
    lease_ = request_.lease;
    return {};
  }
  Result<Lease> lease = store_->acquire(request_.session_id, options_.lease);
  if (lease) {
    lease_ = *std::move(lease);
    return {};
  }
  // Whoever holds the lease may have answered the same epoch.
  if (request_.order && request_.order->epoch && is_store_error(lease.error(), StoreReason::leased)) {
    if (const Result<StoredSession> stored = store_->load(request_.session_id)) {
      if (Status current = check_epoch(request_.session_id, request_.order->epoch, stored->version); !current) {
        return current;
      }
    }
  }
  return std::unexpected(lease.error());
}

Result<OpenRun> StoredRun::open() {
  if (Status held = hold_lease(); !held) return std::unexpected(held.error());
  Result<StoredSession> stored = store_->load(request_.session_id);
  if (!stored) return std::unexpected(stored.error());
  version_.store(stored->version, std::memory_order_release);
  const std::optional<OpenRunMark> mark = open_run_mark(stored->session);
  if (!request_.order) {
    if (mark) return reopen(*stored, mark->version);
    return std::unexpected(Error(SessionError{SessionError::Reason::invalid_status_for_operation},
                                 "session '" + request_.session_id + "' has no interrupted run"));
  }
  if (Status current = check_epoch(request_.session_id, request_.order->epoch, stored->version); !current) {
    return std::unexpected(current.error());
  }
  if (mark) return std::unexpected(conflict(request_.session_id, "its last run was interrupted; resume it first"));
  return begin(*std::move(stored));
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
  const Result<Committed> committed = store_->commit(start);
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
  const Result<Committed> committed = store_->commit(resumed);
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

Commit StoredRun::change(std::vector<LogEntry> entries) const {
  return {.session_id = request_.session_id, .fence = lease_->fence, .entries = std::move(entries)};
}

void StoredRun::write() {
  const auto pause = std::max(options_.lease / 3, std::chrono::milliseconds(1));
  auto renew_at = JournalQueue::Clock::now() + pause;
  while (true) {
    JournalQueue::Batch batch = queue_->take(renew_at);
    const bool is_last = batch.session.has_value();
    const bool is_closed = batch.closed;
    if (!batch.entries.empty() && !commit(std::move(batch))) return;
    if (is_last) return;
    if (is_closed) {
      [[maybe_unused]] const Status released = store_->release(*lease_);
      return;
    }
    if (JournalQueue::Clock::now() < renew_at) continue;
    if (!renew()) return;
    renew_at = JournalQueue::Clock::now() + pause;
  }
}

bool StoredRun::commit(JournalQueue::Batch batch) {
  const JournalQueue::Position last = batch.last;
  Commit facts = change(std::move(batch.entries));
  if (batch.session) {
    facts.expected_version = version();
    facts.session = without_mark(*std::move(batch.session));
    if (request_.given_up) facts.session = with_given_up(*std::move(facts.session), *request_.given_up);
    facts.finished_job = request_.job;
    facts.release = !request_.keep_lease;
    if (request_.job) facts.entries.back().body["job"] = *request_.job;
  }
  const Result<Committed> committed = commit_surely(facts);
  if (!committed) {
    queue_->fail(committed.error());
    end_lease(committed.error());
    return false;
  }
  last_number_ = committed->last_number;
  version_.store(committed->version, std::memory_order_release);
  queue_->committed(last);
  return true;
}

Result<Committed> StoredRun::commit_surely(const Commit& change) {
  using std::chrono::milliseconds;
  const auto give_up_at = JournalQueue::Clock::now() + options_.lease;
  milliseconds pause(20);
  Result<Committed> committed = store_->commit(change);
  while (!committed && is_store_error(committed.error(), StoreReason::unavailable) &&
         JournalQueue::Clock::now() < give_up_at) {
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, milliseconds(1'000));
    had_outage_ = true;
    const Result<bool> made = was_made(change);
    if (!made) continue;
    if (*made) {
      return Committed{version() + (change.session ? 1 : 0),
                       last_number_ + static_cast<std::int64_t>(change.entries.size())};
    }
    committed = store_->commit(change);
  }
  return committed;
}

Result<bool> StoredRun::was_made(const Commit& change) {
  const Result<std::vector<LogEntry>> next = store_->read_log(request_.session_id, last_number_, 1);
  if (!next) return std::unexpected(next.error());
  return !next->empty() && next->front().kind == change.entries.front().kind &&
         next->front().body == change.entries.front().body;
}

bool StoredRun::renew() {
  Result<Lease> renewed = store_->renew(*lease_, options_.lease);
  if (renewed) {
    lease_ = *std::move(renewed);
    return true;
  }
  // While the database cannot be reached, the lease may still be valid: the next commit decides.
  if (is_store_error(renewed.error(), StoreReason::unavailable)) {
    had_outage_ = true;
    return true;
  }
  queue_->fail(renewed.error());
  end_lease(renewed.error());
  return false;
}

}  // namespace allm
