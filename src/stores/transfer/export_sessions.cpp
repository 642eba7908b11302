#include <set>
#include <utility>

#include "allm/serialize.hpp"
#include "allm/session_export.hpp"

namespace allm {
namespace {

Result<std::string> export_line(const StoredSession& stored) {
  return write_json({{"allm_export", kSessionExportVersion},
                     {"tenant", stored.tenant},
                     {"version", stored.version},
                     {"created_at", stored.created_at.time_since_epoch().count()},
                     {"updated_at", stored.updated_at.time_since_epoch().count()},
                     {"session", to_json_value(stored.session)}});
}

// One export. Remembers what is exported, because sessions move to the front of the list when they change.
class SessionExport {
 public:
  SessionExport(SessionStore& store, const std::function<bool(std::string_view)>& sink) : store_(store), sink_(sink) {}

  Result<ExportReport> run(SessionQuery query) {
    query.after.clear();
    if (auto done = pass(query, {}); !done) return std::unexpected(done.error());
    // Sessions that changed before their page was read are at the front now.
    if (!stopped_ && newest_) {
      if (auto done = pass(query, newest_); !done) return std::unexpected(done.error());
    }
    return std::move(report_);
  }

 private:
  // Exports the pages up to sessions that are older than `oldest`.
  Status pass(SessionQuery query, std::optional<StoreTime> oldest) {
    do {
      const auto page = store_.list(query);
      if (!page) return std::unexpected(page.error());
      for (const SessionSummary& summary : page->sessions) {
        if (oldest && summary.updated_at < *oldest) return {};
        if (!newest_) newest_ = summary.updated_at;
        if (seen_.insert(summary.id).second) add(summary.id);
        if (stopped_) return {};
      }
      query.after = page->next;
    } while (!query.after.empty());
    return {};
  }

  void add(const std::string& id) {
    const auto stored = store_.load(id);
    if (!stored && stored.error().is<StoreError>(StoreError::Reason::not_found)) return;  // removed meanwhile
    const auto line = stored ? export_line(*stored) : std::unexpected(stored.error());
    if (!line) {
      report_.failures.push_back({id, line.error()});
    } else if (sink_(*line)) {
      ++report_.exported;
    } else {
      stopped_ = true;
    }
  }

  SessionStore& store_;
  const std::function<bool(std::string_view)>& sink_;
  ExportReport report_;
  std::set<std::string> seen_;
  std::optional<StoreTime> newest_;  // when the export began, by the clock of the store
  bool stopped_ = false;
};

}  // namespace

Result<ExportReport> export_sessions(SessionStore& store, const SessionQuery& query,
                                     const std::function<bool(std::string_view line)>& sink) {
  return SessionExport(store, sink).run(query);
}

}  // namespace allm
