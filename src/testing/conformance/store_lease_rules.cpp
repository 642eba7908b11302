// Rules of leases and of commits with a fence.
#include "testing/conformance/store_check.hpp"

namespace allm::conformance {
namespace {

Commit fenced_commit(const Lease& lease) {
  Commit commit = append_commit(lease.session_id, {"x"});
  commit.fence = lease.fence;
  return commit;
}

void a_lease_excludes_others(StoreCheck& check) {
  const std::string id = check.create();
  const Lease lease = check.acquire(check.a(), id);
  check.expect(lease.session_id == id && lease.fence > 0 && lease.expires_at > StoreTime(),
               "acquire returns a lease without its session, fence or time");
  check.refused(check.b().acquire(id, kLongLease), StoreReason::leased, "acquire of a leased session");
  check.refused(check.b().commit(append_commit(id, {"x"})), StoreReason::leased,
                "commit without a fence to a leased session");
  check.refused(check.b().remove(id), StoreReason::leased, "remove of a leased session");
  Commit wrong = fenced_commit(lease);
  *wrong.fence += 1;
  check.refused(check.b().commit(wrong), StoreReason::fenced, "commit with another fence than that of the lease");
  const auto committed = check.value(check.b().commit(fenced_commit(lease)), "commit with the fence of the lease");
  check.expect(committed.last_number == 1, "a refused commit has changed the log");
  check.expect(check.value(check.b().load(id), "load").version == 1, "a lease has changed the version of the session");
}

void release_ends_a_lease(StoreCheck& check) {
  const std::string id = check.create();
  const Lease lease = check.acquire(check.a(), id);
  check.done(check.b().release(lease), "release");
  check.done(check.a().release(lease), "a second release");
  check.refused(check.a().commit(fenced_commit(lease)), StoreReason::fenced, "commit with a released lease");
  check.refused(check.a().renew(lease, kLongLease), StoreReason::fenced, "renew of a released lease");
  check.value(check.b().commit(append_commit(id, {"x"})), "commit without a fence after release");
  const Lease next = check.acquire(check.b(), id);
  check.expect(next.fence > lease.fence, "the fence of a later lease is not greater");
}

void a_commit_can_release(StoreCheck& check) {
  const std::string id = check.create();
  Commit last = fenced_commit(check.acquire(check.a(), id));
  last.release = true;
  check.value(check.a().commit(last), "a commit with `release`");
  check.refused(check.a().commit(last), StoreReason::fenced, "commit with a lease that a commit has released");
  check.acquire(check.b(), id);
}

void renew_extends_a_lease(StoreCheck& check) {
  const std::string id = check.create();
  // Already the first lease may expire before it is renewed; nobody else takes it, so renew succeeds nevertheless.
  const Lease lease = check.value(check.a().acquire(id, check.options().short_lease), "acquire");
  const Lease renewed = check.value(check.b().renew(lease, kLongLease), "renew");
  check.expect(renewed.fence == lease.fence, "renew has changed the fence");
  check.expect(renewed.expires_at > lease.expires_at, "renew returns the old time");
  check.wait_for_expiry();
  check.value(check.a().commit(fenced_commit(lease)), "commit with a renewed lease");
  check.refused(check.b().acquire(id, kLongLease), StoreReason::leased, "acquire of a session with a renewed lease");
  check.done(check.a().release(renewed), "release");
}

void an_expired_lease_is_fenced(StoreCheck& check) {
  const std::string id = check.create();
  const Lease lease = check.value(check.a().acquire(id, check.options().short_lease), "acquire");
  check.wait_for_expiry();
  check.refused(check.a().commit(fenced_commit(lease)), StoreReason::fenced,
                "commit with an expired lease that nobody has taken over");
  check.value(check.b().commit(append_commit(id, {"x"})), "commit without a fence after the lease has expired");
  check.value(check.a().renew(lease, kLongLease), "renew of an expired lease that nobody has taken over");
  check.value(check.a().commit(fenced_commit(lease)), "commit after renew");
  check.done(check.a().release(lease), "release");
}

void a_takeover_fences_the_old_holder(StoreCheck& check) {
  const std::string id = check.create();
  const Lease old = check.value(check.a().acquire(id, check.options().short_lease), "acquire");
  check.wait_for_expiry();
  const Lease taken = check.acquire(check.b(), id);
  check.expect(taken.fence > old.fence, "the fence of a takeover is not greater than that of the old lease");
  check.refused(check.a().commit(fenced_commit(old)), StoreReason::fenced, "commit with a lease that was taken over");
  check.refused(check.a().renew(old, kLongLease), StoreReason::fenced, "renew of a lease that was taken over");
  check.done(check.a().release(old), "release of a lease that was taken over");
  check.value(check.b().commit(fenced_commit(taken)), "commit with the new lease after release of the old one");
}

void a_session_made_again_fences_old_leases(StoreCheck& check) {
  NewSession session{.session = session_saying("x")};
  session.session.id = check.own("id");
  check.create(session);
  const Lease old = check.acquire(check.a(), check.own("id"));
  check.done(check.a().release(old), "release");
  check.done(check.a().remove(check.own("id")), "remove");
  check.create(session);
  const Lease lease = check.acquire(check.b(), check.own("id"));
  check.expect(lease.fence > old.fence, "a session with the id of a removed one repeats the fences of the removed one");
}

void one_of_many_gets_the_lease(StoreCheck& check) {
  const std::string id = check.create();
  for (std::size_t round = 0; round < 5; ++round) {
    std::vector<std::optional<Lease>> leases(check.options().threads);
    check.on_threads([&](Store& store, std::size_t thread) -> std::string {
      auto lease = store.acquire(id, kLongLease);
      if (lease) leases[thread] = *lease;
      if (lease || lease.error().is<StoreError>(StoreReason::leased)) return {};
      return "an acquire that competes with others failed: " + lease.error().message();
    });
    std::size_t holders = 0;
    for (const auto& lease : leases) {
      if (!lease) continue;
      ++holders;
      check.done(check.a().release(*lease), "release");
    }
    check.expect(holders == 1, std::to_string(holders) + " of several threads got the lease of one session");
  }
}

}  // namespace

std::vector<StoreRule> store_lease_rules() {
  return {{"a_lease_excludes_others", a_lease_excludes_others},
          {"release_ends_a_lease", release_ends_a_lease},
          {"a_commit_can_release", a_commit_can_release},
          {"renew_extends_a_lease", renew_extends_a_lease},
          {"an_expired_lease_is_fenced", an_expired_lease_is_fenced},
          {"a_takeover_fences_the_old_holder", a_takeover_fences_the_old_holder},
          {"a_session_made_again_fences_old_leases", a_session_made_again_fences_old_leases},
          {"one_of_many_gets_the_lease", one_of_many_gets_the_lease}};
}

}  // namespace allm::conformance
