// Rules of the work queue: tenants, and many workers at once.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "testing/conformance/store_check.hpp"

namespace allm::conformance {
namespace {

// Submits a job for each of `count` new sessions of the tenant.
void submit_for_tenant(StoreCheck& check, const std::string& tenant, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) check.submit(check.create("x", check.own(tenant)));
}

// The tenants of the next claims, one letter each.
std::string claim_tenants(StoreCheck& check, std::size_t count) {
  std::string tenants;
  for (std::size_t i = 0; i < count; ++i) {
    const Job job = check.claim(check.b());
    if (!job.tenant.empty()) tenants += job.tenant.back();
  }
  return tenants;
}

void the_tenant_with_the_fewest_running_jobs_comes_next(StoreCheck& check) {
  submit_for_tenant(check, "a", 6);
  submit_for_tenant(check, "b", 2);
  submit_for_tenant(check, "c", 1);
  std::string tenants = claim_tenants(check, 9);
  const std::string order = tenants;
  tenants.resize(9, '?');
  // Equals may come in any order.
  std::sort(tenants.begin(), tenants.begin() + 3);
  std::sort(tenants.begin() + 3, tenants.begin() + 5);
  check.expect(tenants == "abcabaaaa",
               "jobs of tenants a (6), b (2) and c (1) are claimed in the order " + order + " instead of abcabaaaa");
}

void among_equals_the_longest_unserved_tenant_comes_next(StoreCheck& check) {
  submit_for_tenant(check, "a", 4);
  submit_for_tenant(check, "b", 4);
  std::string tenants;
  for (int i = 0; i < 6; ++i) {
    const Job job = check.claim(check.a());
    if (!job.tenant.empty()) tenants += job.tenant.back();
    check.finish(check.a(), job);
    StoreCheck::next_millisecond();
  }
  check.expect(tenants == "ababab" || tenants == "bababa",
               "jobs of two tenants that finish at once are claimed in the order " + tenants + " instead of ababab");
}

void priorities_do_not_starve_other_tenants(StoreCheck& check) {
  for (int i = 0; i < 3; ++i) check.submit(check.create("x", check.own("a")), 100);
  check.submit(check.create("x", check.own("b")), 0);
  const std::string tenants = claim_tenants(check, 2);
  check.expect(tenants == "ab" || tenants == "ba", "a tenant's high priority comes before another tenant's share");
}

void the_limit_of_a_tenant_holds(StoreCheck& check) {
  submit_for_tenant(check, "a", 3);
  submit_for_tenant(check, "b", 1);
  const ClaimOptions limited{.lease = kLongLease, .max_per_tenant = 2};
  std::vector<Job> jobs;
  jobs.reserve(3);
  for (int i = 0; i < 3; ++i) jobs.push_back(check.claim(check.b(), limited));
  check.expect(!check.value(check.a().claim(limited), "claim"), "more jobs of a tenant are claimed than its limit");
  for (const Job& job : jobs) {
    if (job.tenant == check.own("a")) {
      check.finish(check.b(), job);
      break;
    }
  }
  check.expect(check.claim(check.a(), limited).tenant == check.own("a"),
               "a job is not claimed after its tenant is below the limit again");
}

void each_job_is_claimed_once(StoreCheck& check) {
  const std::size_t count = check.options().rounds;
  for (std::size_t i = 0; i < count; ++i) {
    check.submit(check.create("x", check.own(std::string(1, static_cast<char>('a' + i % 3)))));
  }
  std::mutex mutex;
  std::map<std::int64_t, int> claims;
  std::atomic<std::size_t> finished = 0;
  const auto deadline = std::chrono::steady_clock::now() + check.options().timeout;
  check.on_threads([&](Store& store, std::size_t) -> std::string {
    while (finished < count) {
      if (std::chrono::steady_clock::now() > deadline) return "several threads could not claim all jobs in time";
      const auto job = store.claim({.lease = kLongLease});
      if (!job) return "a claim that competes with others failed: " + job.error().message();
      if (!*job) continue;  // the last jobs are running
      {
        const std::lock_guard lock(mutex);
        ++claims[(*job)->id];
      }
      Commit commit = append_commit((*job)->session_id, {"ran"});
      commit.fence = (*job)->lease.fence;
      commit.finished_job = (*job)->id;
      commit.release = true;
      if (auto done = store.commit(commit); !done) return "a commit of a worker failed: " + done.error().message();
      ++finished;
    }
    return {};
  });
  for (const auto& [id, times] : claims) {
    check.expect(times == 1, "a job was claimed " + std::to_string(times) + " times by several threads");
  }
  check.expect(claims.size() == count, "not every job was claimed");
}

}  // namespace

std::vector<StoreRule> store_sharing_rules() {
  return {{"the_tenant_with_the_fewest_running_jobs_comes_next", the_tenant_with_the_fewest_running_jobs_comes_next},
          {"among_equals_the_longest_unserved_tenant_comes_next", among_equals_the_longest_unserved_tenant_comes_next},
          {"priorities_do_not_starve_other_tenants", priorities_do_not_starve_other_tenants},
          {"the_limit_of_a_tenant_holds", the_limit_of_a_tenant_holds},
          {"each_job_is_claimed_once", each_job_is_claimed_once}};
}

}  // namespace allm::conformance
