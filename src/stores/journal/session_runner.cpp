#include "allm/session_runner.hpp"

#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

#include "engine/observed_source.hpp"
#include "runtime/pulled_stream.hpp"
#include "stores/journal/job_end.hpp"
#include "stores/journal/session_journal.hpp"
#include "stores/journal/stored_run.hpp"

namespace allm {

namespace {

// Ends the job without a run. Returns `error`, or that of the store.
std::unexpected<Error> end_job(SessionStore& store, const Job& job, LogEntry last, const Error& error,
                               std::optional<Session> session = std::nullopt) {
  const Commit end{.session_id = job.session_id,
                   .fence = job.lease.fence,
                   .entries = {std::move(last)},
                   .session = std::move(session),
                   .finished_job = job.id,
                   .release = true};
  const Result<Committed> ended = store.commit(end);
  if (ended) return std::unexpected(error);
  [[maybe_unused]] const Status released = end_attempt(store, job.id, job.lease, ended.error());
  return std::unexpected(ended.error());
}

}  // namespace

struct StoredStream::State {
  std::optional<Result<StoredTurn>> turn;  // after the end
  std::optional<Error> error;              // the last ErrorEvent
};

// Owns the threads of the runs. Safe to call from any thread.
class SessionRunner::Impl {
 public:
  Impl(Engine used_engine, std::shared_ptr<SessionStore> used_store, RunnerOptions used_options)
      : engine(std::move(used_engine)), store(std::move(used_store)), options(used_options) {}

  void begin(const std::shared_ptr<StoredRun>& run) {
    const std::lock_guard lock(mutex_);
    std::erase_if(threads_, [](const Writer& writer) { return writer.run->is_over(); });
    try {
      threads_.push_back({run, std::jthread([run] { run->work(); })});
    } catch (const std::system_error& error) {
      run->fail_to_open(Error(StoreError{StoreError::Reason::unavailable},
                              std::string("no thread could be started for the journal: ") + error.what()));
    }
  }

  class Source;

  const Engine engine;
  const std::shared_ptr<SessionStore> store;
  const RunnerOptions options;

 private:
  struct Writer {
    std::shared_ptr<StoredRun> run;  // shared with the source of its events
    std::jthread thread;
  };
  std::mutex mutex_;
  std::vector<Writer> threads_;
};

// The events of a run: opens it on the run's thread, then passes on the events of the session operation.
class SessionRunner::Impl::Source : public EventSource {
 public:
  Source(std::shared_ptr<Impl> impl, RunRequest request, const CallOptions& options,
         std::shared_ptr<StoredStream::State> state)
      : impl_(std::move(impl)),
        options_(options),
        state_(std::move(state)),
        given_up_(request.given_up),
        run_(std::make_shared<StoredRun>(impl_->store, impl_->options, std::move(request),
                                         options.tool_result_encoder)) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() override {
    events_.drop();
    run_->queue()->close();
  }

  Poll poll(const Waker& waker) override {
    if (!std::exchange(has_begun_, true)) impl_->begin(run_);
    if (!is_open_) {
      std::optional<Result<OpenRun>> opened = run_->take_opened(waker);
      if (!opened) return Poll::pending();
      is_open_ = true;
      open(*std::move(opened));
    }
    Poll polled = events_.poll(waker);
    if (polled.is_end()) finish();
    if (!polled.has_event()) return polled;
    if (const auto* error = polled.event().get_if<ErrorEvent>()) state_->error = error->error;
    return polled;
  }

 private:
  void open(Result<OpenRun> opened) {
    if (!opened) {
      state_->turn = std::unexpected(opened.error());
      events_ = failed_stream(opened.error(), options_);
      return;
    }
    if (opened->finished) return show_finished(*opened->finished);
    if (!options_.request_id && !opened->request_id.empty()) options_.request_id = opened->request_id;
    const Json& metadata = opened->before.metadata;
    const auto interrupted = metadata.is_object() ? metadata.find(kInterruptedCalls) : metadata.end();
    const bool has_interrupted = metadata.is_object() && interrupted != metadata.end();
    journal_ = std::make_shared<SessionJournal>(
        run_->queue(), SessionJournal::Settings{.session_id = opened->before.id.value_or(""),
                                                .version = opened->version,
                                                .recorded = std::move(opened->recorded),
                                                .interrupted = has_interrupted ? *interrupted : Json(nullptr),
                                                .log_events = impl_->options.log_events && !given_up_,
                                                .given_up = given_up_});
    OpenedSessionRun session_run =
        open_session_run(impl_->engine, std::move(opened->before), std::move(opened->run), options_, journal_);
    journal_->set_reducer(std::move(session_run.reducer));
    events_ = std::move(session_run.events);
  }

  // Nothing ran: calls are still pending.
  void show_finished(const Session& session) {
    ChatResult result;
    result.thread = session.thread;
    result.end = ended::Manual{.calls = session.pending_tool_calls};
    state_->turn = StoredTurn{session, run_->version(), std::move(result)};
  }

  void finish() {
    if (state_->turn) return;
    if (const std::optional<Error> failure = run_->queue()->failure()) {
      state_->turn = std::unexpected(*failure);
    } else if (journal_ && journal_->has_ended()) {
      const Result<SessionTurn>& turn = journal_->turn();
      state_->turn = turn ? Result<StoredTurn>(StoredTurn{turn->session, run_->version(), turn->result})
                          : std::unexpected(turn.error());
    }
  }

  const std::shared_ptr<Impl> impl_;  // shared with the runner, which the program may destroy before the stream
  CallOptions options_;
  const std::shared_ptr<StoredStream::State> state_;
  const std::optional<Job> given_up_;
  const std::shared_ptr<StoredRun> run_;
  std::shared_ptr<SessionJournal> journal_;  // shared with the run
  EventStream events_;
  bool has_begun_ = false;
  bool is_open_ = false;
};

template class PulledStream<StoredStream>;

StoredStream::StoredStream(EventStream events, std::shared_ptr<State> state)
    : events_(std::move(events)), state_(std::move(state)) {}

Result<StoredTurn> StoredStream::finish() {
  while (next()) {
  }
  if (state_->turn) return *state_->turn;
  if (state_->error) return std::unexpected(*state_->error);
  return std::unexpected(Error(StreamError{.reason = StreamError::Reason::cancelled},
                               "the stream was dropped before its end; the run can be resumed"));
}

SessionRunner::SessionRunner(Engine engine, std::shared_ptr<SessionStore> store, RunnerOptions options)
    : impl_(std::make_shared<Impl>(std::move(engine), std::move(store), options)) {}

StoredStream SessionRunner::open(RunRequest request, const CallOptions& options) const {
  auto state = std::make_shared<StoredStream::State>();
  EventStream events(std::make_unique<Impl::Source>(impl_, std::move(request), options, state));
  return {std::move(events), std::move(state)};
}

StoredStream SessionRunner::stream(const std::string& id, SessionOrder order, const CallOptions& options) const {
  return open({.session_id = id, .order = std::move(order)}, options);
}

StoredStream SessionRunner::stream_resume(const std::string& id, const CallOptions& options) const {
  return open({.session_id = id}, options);
}

Result<StoredTurn> SessionRunner::start(const std::string& id, const CallOptions& options) const {
  return stream(id, {.kind = SessionOrder::Kind::start}, options).finish();
}

Result<StoredTurn> SessionRunner::reply(const std::string& id, Content reply, std::optional<std::int64_t> epoch,
                                        const CallOptions& options) const {
  return stream(id, {.kind = SessionOrder::Kind::message, .message = user(std::move(reply)), .epoch = epoch}, options)
      .finish();
}

Result<StoredTurn> SessionRunner::continue_run(const std::string& id, const CallOptions& options) const {
  return stream(id, {.kind = SessionOrder::Kind::continue_run}, options).finish();
}

Result<StoredTurn> SessionRunner::submit(const std::string& id, std::int64_t epoch,
                                         std::vector<SubmittedResult> results, const CallOptions& options) const {
  return stream(id, {.kind = SessionOrder::Kind::results, .results = std::move(results), .epoch = epoch}, options)
      .finish();
}

Result<StoredTurn> SessionRunner::approve(const std::string& id, std::int64_t epoch,
                                          std::vector<CallDecision> decisions, const CallOptions& options) const {
  return stream(id, {.kind = SessionOrder::Kind::decisions, .decisions = std::move(decisions), .epoch = epoch}, options)
      .finish();
}

Result<StoredTurn> SessionRunner::resume(const std::string& id, const CallOptions& options) const {
  return stream_resume(id, options).finish();
}

Result<StoredTurn> SessionRunner::run_job(const Job& job, const CallOptions& options) const {
  return run_job(job, std::chrono::nanoseconds(0), options);
}

Result<StoredTurn> SessionRunner::run_job(const Job& job, std::chrono::nanoseconds lease_end,
                                          const CallOptions& options) const {
  if (job.is_given_up()) return give_up(job, options);
  const Result<StoredSession> stored = impl_->store->load(job.session_id);
  if (!stored) {
    [[maybe_unused]] const Status ended = end_attempt(*impl_->store, job.id, job.lease, stored.error());
    return std::unexpected(stored.error());
  }
  RunRequest request{.session_id = job.session_id,
                     .lease = job.lease,
                     .lease_end = LeaseClock::time_point(lease_end),
                     .job = job.id,
                     .attempt_of = job.id};
  const std::optional<OpenRunMark> mark = open_run_mark(stored->session);
  if (mark && mark->job == job.id) return open(request, options).finish();
  if (mark) {
    // It belongs to somebody else. How it ends does not matter for this job, unless the store fails.
    const Result<StoredTurn> other = open({.session_id = job.session_id,
                                           .lease = job.lease,
                                           .lease_end = request.lease_end,
                                           .keep_lease = true,
                                           .attempt_of = job.id},
                                          options)
                                         .finish();
    if (!other && other.error().get_if<StoreError>() != nullptr) return other;
  }
  Result<SessionOrder> order = session_order_from_json(job.order);
  if (!order) return end_job(*impl_->store, job, order_refused_fact(job.id, order.error()), order.error());
  request.order = *std::move(order);
  return open(std::move(request), options).finish();
}

Result<StoredTurn> SessionRunner::give_up(const Job& job, const CallOptions& options) const {
  SessionStore& store = *impl_->store;
  const Error error = given_up_error(job);
  // If giving up has failed before, the session is left as it is.
  const bool is_first = job.failures == job.max_attempts;
  const Result<StoredSession> stored = is_first ? store.load(job.session_id) : std::unexpected(error);
  if (!stored && is_first && !is_fault_of_job(stored.error())) {
    [[maybe_unused]] const Status released = store.release(job.lease);
    return std::unexpected(stored.error());
  }
  if (!stored) return end_job(store, job, given_up_fact(job), error);
  if (!open_run_mark(stored->session)) {
    return end_job(store, job, given_up_fact(job), error, with_given_up(without_given_up(stored->session), job));
  }
  // The steps that are recorded stay in the session.
  const Result<StoredTurn> settled =
      open({.session_id = job.session_id, .lease = job.lease, .job = job.id, .attempt_of = job.id, .given_up = job},
           options)
          .finish();
  if (!settled && settled.error().get_if<StoreError>() != nullptr) return settled;
  return std::unexpected(error);
}

bool has_open_run(const Session& session) { return open_run_mark(session).has_value(); }

}  // namespace allm
