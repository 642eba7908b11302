// One check of a store: two handles on the database, and the first promise that was found broken.
//
// A check continues after a broken promise, with default values for the results that it did not get; only the first
// finding is reported. One thread at a time, except where a function says otherwise.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "allm/store_conformance.hpp"

#include "testing/conformance/report.hpp"

namespace allm::conformance {

using StoreReason = StoreError::Reason;

// A lease that does not expire during a check.
inline constexpr std::chrono::milliseconds kLongLease = std::chrono::minutes(10);

class StoreCheck {
 public:
  StoreCheck(const StoreFactory& factory, const StoreConformanceOptions& options, std::string name);

  // The two handles. They stand for two processes.
  Store& a() { return *a_; }
  Store& b() { return *b_; }
  const StoreConformanceOptions& options() const { return options_; }
  // Another handle.
  std::shared_ptr<Store> open();
  // A name that no other check uses.
  std::string own(const std::string& name) const { return name_ + "/" + name; }

  // Records `finding` if `kept` is false.
  void expect(bool kept, const std::string& finding);
  // The result of `call`, or a default value, which is recorded.
  template <class T>
  T value(Result<T> result, const std::string& call) {
    if (result) return *std::move(result);
    expect(false, call + " failed: " + result.error().message());
    return T{};
  }
  void done(const Status& status, const std::string& call) {
    if (!status) expect(false, call + " failed: " + status.error().message());
  }
  // Expects that `call` failed with this reason.
  template <class T>
  void refused(const Result<T>& result, StoreReason reason, const std::string& call) {
    expect_reason(result ? nullptr : &result.error(), reason, call);
  }

  // Creates a session that is removed after the check. Returns its id.
  std::string create(const std::string& text = "hello", const std::string& tenant = "conformance");
  StoredSession create(NewSession session);
  // Acquires a lease for 10 minutes that is released after the check.
  Lease acquire(Store& store, const std::string& id);
  // Claims a job that must be ready; its lease is released after the check.
  Job claim(Store& store, ClaimOptions options = {.lease = kLongLease});
  std::int64_t submit(const std::string& session_id, int priority = 0);
  // Finishes the job with a commit.
  void finish(Store& store, const Job& job);
  // Blocks until leases that `short_lease` was the duration of have expired.
  void wait_for_expiry() const;
  // Times have a resolution of a millisecond: after this, the next change has a later time.
  static void next_millisecond();
  // Calls `work` on `options().threads` threads at once, each with a handle of its own, and waits for all of them.
  // `work` reports through the returned text; empty: nothing is wrong.
  void on_threads(const std::function<std::string(Store&, std::size_t)>& work);

  // Removes the sessions of the check and returns the first finding.
  Finding conclude();

 private:
  void expect_reason(const Error* error, StoreReason reason, const std::string& call);

  const StoreFactory& factory_;
  const StoreConformanceOptions& options_;
  std::string name_;
  std::shared_ptr<Store> a_;
  std::shared_ptr<Store> b_;
  std::vector<std::string> sessions_;
  std::vector<Lease> leases_;
  Finding finding_;
};

struct StoreRule {
  const char* name;
  void (*check)(StoreCheck& check);
};

// The rules, by subject.
std::vector<StoreRule> store_session_rules();
std::vector<StoreRule> store_commit_rules();
std::vector<StoreRule> store_lease_rules();
std::vector<StoreRule> store_list_rules();
std::vector<StoreRule> store_queue_rules();
std::vector<StoreRule> store_sharing_rules();
std::vector<StoreRule> store_budget_rules();
std::vector<StoreRule> store_attempt_rules();

// A change that appends entries of kind "event" with these texts.
Commit append_commit(const std::string& session_id, const std::vector<std::string>& texts);
// A session with one user message.
Session session_saying(const std::string& text);

}  // namespace allm::conformance
