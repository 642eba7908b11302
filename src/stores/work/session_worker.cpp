#include "stores/work/session_worker.hpp"

#include <utility>

namespace allm {
namespace {

// A wait is short, so that stop() does not take longer.
constexpr std::chrono::milliseconds kJobWait{500};
// A job is ready but cannot be claimed, because its tenant is at its limit or another worker is faster.
constexpr std::chrono::milliseconds kBusyPause{20};
// After an error of the store.
constexpr std::chrono::milliseconds kErrorPause{1'000};

// Whether the next job would fail in the same way now.
bool is_store_out_of_order(const Error& error) {
  using Reason = StoreError::Reason;
  const auto* failure = error.get_if<StoreError>();
  return failure != nullptr && (failure->reason == Reason::unavailable || failure->reason == Reason::full ||
                                failure->reason == Reason::read_only);
}

}  // namespace

SessionWorker::SessionWorker(SessionRunner runner, std::shared_ptr<Store> store, SessionWorkerOptions options)
    : runner_(std::move(runner)), store_(std::move(store)), options_(std::move(options)), active_(options_.jobs) {
  threads_.reserve(options_.jobs);
  for (std::size_t i = 0; i < options_.jobs; ++i) threads_.emplace_back([this] { work(); });
}

SessionWorker::~SessionWorker() {
  stop();
  threads_.clear();
}

void SessionWorker::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  stopped_.notify_all();
}

bool SessionWorker::is_stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

bool SessionWorker::has_ended() {
  const std::lock_guard lock(mutex_);
  return active_ == 0;
}

std::size_t SessionWorker::release_jobs() {
  std::map<std::int64_t, Lease> running;
  {
    const std::lock_guard lock(mutex_);
    running = running_;
  }
  std::size_t released = 0;
  for (const auto& [id, lease] : running) {
    if (store_->release(lease)) ++released;
  }
  return released;
}

void SessionWorker::pause(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  stopped_.wait_for(lock, time, [&] { return stopping_; });
}

void SessionWorker::report(const Error& error) {
  const std::lock_guard lock(callbacks_);
  if (options_.on_store_error) options_.on_store_error(error);
}

bool SessionWorker::is_empty() {
  const auto counts = store_->count_jobs();
  return counts && counts->ready + counts->delayed + counts->running == 0;
}

void SessionWorker::wait_for_job() {
  const auto ready = store_->wait_for_job(kJobWait);
  if (!ready) {
    report(ready.error());
    pause(kErrorPause);
  } else if (*ready) {
    pause(kBusyPause);
  }
}

void SessionWorker::run(const Job& job, LeaseClock::time_point claimed_at) {
  {
    const std::lock_guard lock(mutex_);
    running_[job.id] = job.lease;
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto lease = lease_end(claimed_at, options_.claim.lease);
  const auto turn = runner_.run_job(job, lease.time_since_epoch(), options_.call);
  {
    const std::lock_guard lock(mutex_);
    running_.erase(job.id);
  }
  WorkedJob worked{
      .job = job,
      .took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin)};
  if (turn) worked.status = turn->session.status;
  if (!turn) worked.error = turn.error();
  {
    const std::lock_guard lock(callbacks_);
    if (options_.on_job) options_.on_job(worked);
  }
  if (worked.error && is_store_out_of_order(*worked.error)) pause(kErrorPause);
}

void SessionWorker::work() {
  while (!is_stopping()) {
    const auto claimed_at = LeaseClock::now();
    const auto job = store_->claim(options_.claim);
    if (!job) {
      report(job.error());
      pause(kErrorPause);
    } else if (*job) {
      run(**job, claimed_at);
    } else if (options_.until_empty && is_empty()) {
      break;
    } else {
      wait_for_job();
    }
  }
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    last = --active_ == 0;
  }
  const std::lock_guard lock(callbacks_);
  if (last && options_.on_end) options_.on_end();
}

}  // namespace allm
