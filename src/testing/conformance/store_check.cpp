#include "testing/conformance/store_check.hpp"

#include <algorithm>
#include <mutex>
#include <thread>

namespace allm {
namespace conformance {

StoreCheck::StoreCheck(const StoreFactory& factory, const StoreConformanceOptions& options, std::string name)
    : factory_(factory), options_(options), name_(std::move(name)), a_(open()), b_(open()) {}

std::shared_ptr<Store> StoreCheck::open() { return value(factory_(), "opening the store"); }

void StoreCheck::expect(bool kept, const std::string& finding) {
  if (!kept && !finding_) finding_ = finding;
}

void StoreCheck::expect_reason(const Error* error, StoreReason reason, const std::string& call) {
  const std::string wanted = "StoreError " + std::string(to_string(reason));
  if (error == nullptr) {
    expect(false, call + " succeeded; it must fail with " + wanted);
  } else {
    expect(error->is<StoreError>(reason), call + " must fail with " + wanted + ", and failed with " +
                                              std::string(error->kind()) + " " + std::string(error->reason()) + ": " +
                                              error->message());
  }
}

StoredSession StoreCheck::create(NewSession session) {
  StoredSession stored = value(a().create(std::move(session)), "create");
  if (stored.session.id) sessions_.push_back(*stored.session.id);
  expect(stored.session.id.has_value(), "create returned a session without an id");
  return stored;
}

std::string StoreCheck::create(const std::string& text, const std::string& tenant) {
  return create({.session = session_saying(text), .tenant = tenant}).session.id.value_or("");
}

Lease StoreCheck::acquire(Store& store, const std::string& id) {
  leases_.push_back(value(store.acquire(id, kLongLease), "acquire"));
  return leases_.back();
}

Job StoreCheck::claim(Store& store, ClaimOptions options) {
  std::optional<Job> job = value(store.claim(options), "claim");
  expect(job.has_value(), "claim returned no job although one is ready");
  if (!job) return {};
  leases_.push_back(job->lease);
  return *std::move(job);
}

std::int64_t StoreCheck::submit(const std::string& session_id, int priority) {
  return value(a().submit({.session_id = session_id, .order = {{"message", "go"}}, .priority = priority}), "submit");
}

void StoreCheck::finish(Store& store, const Job& job) {
  value(store.commit({.session_id = job.session_id, .fence = job.lease.fence, .finished_job = job.id, .release = true}),
        "a commit that finishes a job");
}

void StoreCheck::wait_for_expiry() const { std::this_thread::sleep_for(options_.short_lease * 2); }

void StoreCheck::next_millisecond() { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }

void StoreCheck::on_threads(const std::function<std::string(Store&, std::size_t)>& work) {
  std::vector<std::shared_ptr<Store>> stores;
  stores.reserve(options_.threads);
  for (std::size_t i = 0; i < options_.threads; ++i) stores.push_back(open());
  if (finding_) return;
  std::mutex mutex;
  std::vector<std::string> findings;
  std::vector<std::jthread> threads;
  threads.reserve(stores.size());
  for (std::size_t i = 0; i < stores.size(); ++i) {
    threads.emplace_back([&, i] {
      std::string finding = work(*stores[i], i);
      const std::lock_guard lock(mutex);
      if (!finding.empty()) findings.push_back(std::move(finding));
    });
  }
  threads.clear();
  if (!findings.empty()) expect(false, findings.front());
}

Finding StoreCheck::conclude() {
  for (const Lease& lease : leases_) done(a().release(lease), "release");
  for (const std::string& id : sessions_) {
    [[maybe_unused]] const Status removed = a().remove(id);
  }
  return std::move(finding_);
}

Commit append_commit(const std::string& session_id, const std::vector<std::string>& texts) {
  Commit commit{.session_id = session_id};
  for (const std::string& text : texts) commit.entries.push_back({.kind = "event", .body = {{"text", text}}});
  return commit;
}

Session session_saying(const std::string& text) { return {.thread = Thread({user(text)})}; }

namespace {

// Whether the suite can be run at all.
Finding store_is_usable(const StoreFactory& factory) {
  const auto first = factory();
  if (!first) return "the factory failed: " + first.error().message();
  const auto second = factory();
  if (!second) return "the factory failed when it was called again: " + second.error().message();
  if (*first == nullptr || *second == nullptr) return "the factory returned a null pointer";
  const auto counts = (*first)->count_jobs();
  if (!counts) return "count_jobs failed: " + counts.error().message();
  if (counts->ready + counts->delayed + counts->running == 0) return std::nullopt;
  return "the queue has jobs; use a database of its own for the suite";
}

}  // namespace
}  // namespace conformance

ConformanceReport check_store(const StoreFactory& factory, const StoreConformanceOptions& options) {
  using namespace conformance;
  ReportBuilder report("store");
  Finding unusable = store_is_usable(factory);
  report.add("factory_opens_a_store", unusable);
  if (unusable) return report.take();
  for (const auto& rules : {store_session_rules(), store_commit_rules(), store_lease_rules(), store_list_rules(),
                            store_queue_rules(), store_sharing_rules(), store_attempt_rules(), store_budget_rules()}) {
    for (const StoreRule& rule : rules) {
      if (!options.only.empty() && std::ranges::find(options.only, rule.name) == options.only.end()) continue;
      StoreCheck check(factory, options, rule.name);
      rule.check(check);
      report.add(rule.name, check.conclude());
    }
  }
  return report.take();
}

}  // namespace allm
