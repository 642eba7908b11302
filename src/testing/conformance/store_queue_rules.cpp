// Rules of the work queue: what is claimed when.
#include <thread>

#include "testing/conformance/store_check.hpp"

namespace allm::conformance {
namespace {

QueueCounts counts_of(StoreCheck& check) { return check.value(check.b().count_jobs(), "count_jobs"); }

void expect_counts(StoreCheck& check, std::size_t ready, std::size_t delayed, std::size_t running,
                   const std::string& when) {
  const QueueCounts counts = counts_of(check);
  check.expect(counts.ready == ready && counts.delayed == delayed && counts.running == running,
               "count_jobs " + when + " is ready " + std::to_string(counts.ready) + ", delayed " +
                   std::to_string(counts.delayed) + ", running " + std::to_string(counts.running));
}

void expect_no_job(StoreCheck& check, const std::string& finding) {
  check.expect(!check.value(check.b().claim({.lease = kLongLease}), "claim"), finding);
}

void a_job_carries_its_order(StoreCheck& check) {
  expect_no_job(check, "claim returns a job although there is none");
  const std::string id = check.create("x", check.own("tenant"));
  const Json order = {{"message", "Hello \"ä\""}, {"epoch", 3}, {"nested", {1, {{"a", nullptr}}}}};
  const auto submitted = check.value(check.a().submit({.session_id = id, .order = order, .priority = -2}), "submit");
  expect_counts(check, 1, 0, 0, "with one job");
  const Job job = check.claim(check.b());
  check.expect(job.id == submitted && job.session_id == id && job.tenant == check.own("tenant") && job.order == order &&
                   job.priority == -2 && job.attempt == 1,
               "a claimed job differs from the submitted one");
  check.expect(job.lease.session_id == id && job.lease.fence > 0, "a claimed job has no lease of its session");
  check.refused(check.a().acquire(id, kLongLease), StoreReason::leased, "acquire of a session whose job is claimed");
  expect_counts(check, 0, 0, 1, "with one running job");
  check.value(check.a().renew(job.lease, kLongLease), "renew of the lease of a job");
  check.finish(check.b(), job);
  expect_counts(check, 0, 0, 0, "after the only job has been finished");
  expect_no_job(check, "a finished job is claimed again");
}

void a_higher_priority_comes_first(StoreCheck& check) {
  std::vector<std::int64_t> expected(5);
  expected[2] = check.submit(check.create());
  expected[0] = check.submit(check.create(), 5);
  expected[3] = check.submit(check.create());
  expected[4] = check.submit(check.create(), -1);
  expected[1] = check.submit(check.create(), 5);
  for (const std::int64_t id : expected) {
    check.expect(check.claim(check.b()).id == id,
                 "jobs of a tenant do not come by priority, and in the order of submission within a priority");
  }
}

void delayed_jobs_wait(StoreCheck& check) {
  const std::string later = check.create();
  const std::string soon = check.create();
  check.value(check.a().submit({.session_id = later, .delay = std::chrono::hours(1)}), "submit");
  expect_no_job(check, "a job is claimed before its delay is over");
  expect_counts(check, 0, 1, 0, "with a delayed job");
  check.value(check.a().submit({.session_id = soon, .delay = check.options().short_lease}), "submit");
  check.expect(check.value(check.b().wait_for_job(check.options().timeout), "wait_for_job"),
               "wait_for_job does not notice that the delay of a job is over");
  check.expect(check.claim(check.b()).session_id == soon, "a job is not claimed after its delay");
}

void a_session_runs_one_job_at_a_time(StoreCheck& check) {
  const std::string id = check.create();
  const std::int64_t first = check.submit(id);
  const std::int64_t second = check.submit(id, 9);
  expect_counts(check, 1, 1, 0, "with two jobs of a session");
  const Job running = check.claim(check.a());
  check.expect(running.id == first, "jobs of a session do not come in the order of their submission");
  expect_no_job(check, "a second job of a session is claimed while the first is running");
  expect_counts(check, 0, 1, 1, "with a running and a waiting job of a session");
  check.finish(check.a(), running);
  check.expect(check.claim(check.b()).id == second, "the second job of a session is not claimed after the first");
}

void a_leased_session_runs_no_job(StoreCheck& check) {
  const std::string id = check.create();
  check.submit(id);
  const Lease lease = check.acquire(check.a(), id);
  expect_no_job(check, "the job of a session is claimed while somebody else has its lease");
  expect_counts(check, 0, 1, 0, "with a job of a leased session");
  check.done(check.a().release(lease), "release");
  check.claim(check.b());
}

void commits_finish_jobs(StoreCheck& check) {
  const std::string id = check.create();
  check.submit(id);
  const Job job = check.claim(check.a());
  Commit commit = append_commit(id, {"x"});
  commit.finished_job = job.id;
  commit.fence = job.lease.fence - 1;
  check.refused(check.a().commit(commit), StoreReason::fenced, "commit with an old fence");
  expect_counts(check, 0, 0, 1, "after a refused commit");
  commit.fence = job.lease.fence;
  commit.session = session_saying("done");
  commit.release = true;
  const auto committed = check.value(check.a().commit(commit), "commit");
  check.expect(committed.version == 2 && committed.last_number == 1, "a commit that finishes a job is not made whole");
  expect_counts(check, 0, 0, 0, "after a commit that finishes the job");
  check.value(check.b().commit(append_commit(id, {"y"})), "commit without a fence after the job's lease was released");
}

void a_lost_job_is_claimed_again(StoreCheck& check) {
  const std::string id = check.create();
  const auto submitted =
      check.value(check.a().submit({.session_id = id, .retry_delay = std::chrono::milliseconds(0)}), "submit");
  const auto lost = check.value(check.a().claim({.lease = check.options().short_lease}), "claim");
  check.expect(lost && lost->id == submitted, "claim does not return the only job");
  check.expect(check.value(check.b().wait_for_job(check.options().timeout), "wait_for_job"),
               "wait_for_job does not notice that the lease of a job has expired");
  const Job job = check.claim(check.b());
  check.expect(job.id == submitted && job.attempt == 2,
               "the job of a lost worker is not claimed as its second attempt");
  check.expect(job.failures == 1 && !job.last_error.empty() && !job.is_given_up(),
               "the attempt of a lost worker is not counted as failed");
  if (!lost) return;
  check.refused(check.a().commit({.session_id = id, .fence = lost->lease.fence, .finished_job = submitted}),
                StoreReason::fenced, "a commit of a worker that lost its job");
  expect_counts(check, 0, 0, 1, "after a lost job was claimed again");
}

void a_released_job_is_ready_again(StoreCheck& check) {
  const std::string id = check.create();
  const std::int64_t submitted = check.submit(id);
  check.done(check.a().release(check.claim(check.a()).lease), "release");
  expect_counts(check, 1, 0, 0, "after the lease of a job was released");
  check.expect(check.claim(check.b()).id == submitted, "a job is not claimed again after its lease was released");
}

void wait_for_job_notices_other_handles(StoreCheck& check) {
  check.expect(!check.value(check.b().wait_for_job(std::chrono::milliseconds(1)), "wait_for_job"),
               "wait_for_job returns true although no job is ready");
  const std::string id = check.create();
  bool noticed = false;
  std::thread waiter([&] { noticed = check.b().wait_for_job(check.options().timeout).value_or(false); });
  const auto submitted = check.a().submit({.session_id = id});
  waiter.join();
  check.value(submitted, "submit");
  check.expect(noticed, "wait_for_job does not notice a job that another handle has submitted");
  check.expect(check.value(check.b().wait_for_job(std::chrono::milliseconds(0)), "wait_for_job"),
               "wait_for_job returns false although a job is ready");
}

}  // namespace

std::vector<StoreRule> store_queue_rules() {
  return {{"a_job_carries_its_order", a_job_carries_its_order},
          {"a_higher_priority_comes_first", a_higher_priority_comes_first},
          {"delayed_jobs_wait", delayed_jobs_wait},
          {"a_session_runs_one_job_at_a_time", a_session_runs_one_job_at_a_time},
          {"a_leased_session_runs_no_job", a_leased_session_runs_no_job},
          {"commits_finish_jobs", commits_finish_jobs},
          {"a_lost_job_is_claimed_again", a_lost_job_is_claimed_again},
          {"a_released_job_is_ready_again", a_released_job_is_ready_again},
          {"wait_for_job_notices_other_handles", wait_for_job_notices_other_handles}};
}

}  // namespace allm::conformance
