// Rules of the work queue: attempts that fail, and jobs that are given up.
#include "testing/conformance/store_check.hpp"

namespace allm::conformance {
namespace {

using std::chrono::milliseconds;

// A job of a new session, with this many attempts.
std::int64_t submit_with_attempts(StoreCheck& check, int attempts, milliseconds retry_delay = milliseconds(0)) {
  return check.value(
      check.a().submit({.session_id = check.create(), .max_attempts = attempts, .retry_delay = retry_delay}), "submit");
}

void fail(StoreCheck& check, const Job& job, const std::string& error) {
  Commit failed = append_commit(job.session_id, {"failed"});
  failed.fence = job.lease.fence;
  failed.failed_attempt = FailedAttempt{.job = job.id, .error = error};
  failed.release = true;
  check.value(check.a().commit(failed), "a commit with a failed attempt");
}

// Claims the only job with a short lease, and waits until that has expired.
Job lose(StoreCheck& check) {
  const Job job = check.claim(check.a(), {.lease = check.options().short_lease});
  check.wait_for_expiry();
  return job;
}

void a_failed_attempt_is_counted_and_delayed(StoreCheck& check) {
  const std::int64_t id = submit_with_attempts(check, 5, check.options().short_lease);
  fail(check, check.claim(check.b()), "first \"error\" ä");
  check.expect(check.value(check.b().wait_for_job(check.options().timeout), "wait_for_job"),
               "wait_for_job does not notice that the delay after a failed attempt is over");
  const Job job = check.claim(check.b());
  check.expect(job.id == id && job.attempt == 2 && job.failures == 1 && job.last_error == "first \"error\" ä",
               "a job whose attempt has failed is not claimed with the number and the error of its failures");
  check.finish(check.b(), job);
  check.submit(job.session_id);
  check.expect(check.claim(check.b()).failures == 0, "the failures of a job are counted for the next one");
}

void a_failed_attempt_waits_for_its_delay(StoreCheck& check) {
  submit_with_attempts(check, 5, std::chrono::minutes(10));
  fail(check, check.claim(check.b()), "x");
  check.expect(!check.value(check.a().claim({}), "claim"),
               "a job is claimed before the delay after its failure is over");
  const QueueCounts counts = check.value(check.a().count_jobs(), "count_jobs");
  check.expect(counts.delayed == 1 && counts.ready + counts.running == 0, "a failed job is not counted as delayed");
}

void a_job_that_fails_too_often_is_given_up(StoreCheck& check) {
  const std::int64_t id = submit_with_attempts(check, 3);
  for (const char* error : {"one", "two"}) {
    const Job job = check.claim(check.b());
    check.expect(!job.is_given_up(), "a job is given up too early");
    fail(check, job, error);
  }
  lose(check);
  const Job last = check.claim(check.b());
  check.expect(last.id == id && last.is_given_up() && last.failures == 3 && last.attempt == 3 &&
                   !last.last_error.empty() && last.last_error != "two",
               "a job is not claimed to be given up after as many failures as it may have");
  const std::string next = last.session_id;
  const std::int64_t later = check.submit(next);
  check.finish(check.b(), last);
  check.expect(check.claim(check.a()).id == later, "a job that was given up blocks the next one of its session");
}

void a_job_may_have_any_number_of_attempts(StoreCheck& check) {
  submit_with_attempts(check, 0);
  for (int i = 0; i < 8; ++i) fail(check, check.claim(check.b()), "x");
  const Job job = check.claim(check.b());
  check.expect(job.failures == 8 && !job.is_given_up(), "a job without a limit of its attempts is given up");
}

void released_attempts_do_not_count(StoreCheck& check) {
  submit_with_attempts(check, 1);
  for (int i = 0; i < 3; ++i) check.done(check.b().release(check.claim(check.a()).lease), "release");
  Job job = check.claim(check.a());
  Commit released = append_commit(job.session_id, {"released"});
  released.fence = job.lease.fence;
  released.release = true;
  check.value(check.a().commit(released), "a commit with `release`");
  job = check.claim(check.a());
  check.expect(job.attempt == 5 && job.failures == 0 && !job.is_given_up(), "a released attempt is counted as failed");
}

void a_late_renewal_takes_a_lost_attempt_back(StoreCheck& check) {
  submit_with_attempts(check, 1, std::chrono::minutes(10));
  const Job lost = lose(check);
  check.expect(!check.value(check.b().claim({}), "claim"), "a lost job is claimed before the delay is over");
  const Lease lease = check.value(check.a().renew(lost.lease, kLongLease), "renew of a lost lease");
  check.expect(check.value(check.b().count_jobs(), "count_jobs").running == 1,
               "a job whose lost lease was renewed does not run");
  check.done(check.a().release(lease), "release");
  const Job job = check.claim(check.b());
  check.expect(job.failures == 0 && !job.is_given_up(),
               "an attempt is counted as failed although its lease was renewed before anyone else claimed the job");
}

void a_late_release_takes_a_lost_attempt_back(StoreCheck& check) {
  submit_with_attempts(check, 2);
  const Job lost = lose(check);
  const Job next = check.claim(check.b());
  check.expect(next.failures == 1, "a lost attempt is not counted");
  check.done(check.a().release(lost.lease), "release of a lost lease");
  check.done(check.a().release(lost.lease), "a second release of a lost lease");
  check.done(check.b().release(next.lease), "release");
  const Job job = check.claim(check.b());
  check.expect(job.failures == 0, "a lost attempt is counted although its worker released the lease later");
}

}  // namespace

std::vector<StoreRule> store_attempt_rules() {
  return {{"a_failed_attempt_is_counted_and_delayed", a_failed_attempt_is_counted_and_delayed},
          {"a_failed_attempt_waits_for_its_delay", a_failed_attempt_waits_for_its_delay},
          {"a_job_that_fails_too_often_is_given_up", a_job_that_fails_too_often_is_given_up},
          {"a_job_may_have_any_number_of_attempts", a_job_may_have_any_number_of_attempts},
          {"released_attempts_do_not_count", released_attempts_do_not_count},
          {"a_late_renewal_takes_a_lost_attempt_back", a_late_renewal_takes_a_lost_attempt_back},
          {"a_late_release_takes_a_lost_attempt_back", a_late_release_takes_a_lost_attempt_back}};
}

}  // namespace allm::conformance
