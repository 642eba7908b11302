// Session stores keep sessions outside of the process that runs them: in memory, in an SQLite file or in a PostgreSQL
// database.
//
//   auto store = allm::open_store("sqlite:chats.db");
//   auto created = (*store)->create({.thread = {allm::user("Hello")}});
//
// A store keeps for each session its current state with a version, and a log: a numbered list of entries. A program
// that runs sessions uses a SessionRunner (allm/session_runner.hpp), which writes the log as a journal, so that a crash
// loses nothing. docs/stores.md describes the schema and how to write another store; check_store
// (allm/store_conformance.hpp) checks one.
//
// All functions block until the database has answered, fail with StoreError, and are safe to call from any thread.
// When a function that changes something returns without an error, the change is on disk. When it fails, nothing has
// changed, except with `unavailable`: then the connection may have been lost after the change was made.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/session.hpp"

namespace allm {

using StoreTime = std::chrono::sys_time<std::chrono::milliseconds>;

struct StoredSession {
  Session session = {};      // its id is set
  std::int64_t version = 0;  // starts at 1; each change of the session increases it by 1
  std::string tenant = {};   // for fair sharing in a work queue; may be empty
  StoreTime created_at = {};
  StoreTime updated_at = {};
};

// What a list shows of a session.
struct SessionSummary {
  std::string id = {};
  std::string title = {};  // the beginning of the first user message
  SessionStatus status = SessionStatus::idle;
  std::string tenant = {};
  std::int64_t version = 0;
  std::size_t messages = 0;
  StoreTime created_at = {};
  StoreTime updated_at = {};
};

struct SessionQuery {
  // Words that all occur in the texts of a session's messages; case does not matter. Empty: all sessions.
  std::string text = {};
  std::optional<SessionStatus> status = std::nullopt;
  std::optional<std::string> tenant = std::nullopt;
  std::size_t limit = 50;  // sessions on a page; at most 1,000
  std::string after = {};  // SessionPage::next of the page before
};

struct SessionPage {
  std::vector<SessionSummary> sessions = {};  // the one that changed last comes first
  std::string next = {};                      // empty on the last page
};

// An entry of a session's log. The numbers of a session start at 1 and have no gaps.
struct LogEntry {
  std::int64_t number = 0;  // the store sets it
  std::string kind = {};    // "event", or a kind of fact of the journal
  Json body = empty_object();
  StoreTime at = {};  // the store sets it
};

// The exclusive right to run a session, until it expires. `fence` is greater than that of every earlier lease of the
// session: a commit with an older fence is refused.
struct Lease {
  std::string session_id = {};
  std::int64_t fence = 0;
  StoreTime expires_at = {};
};

// An attempt at a job of the work queue that has failed: the job is tried again after a delay (allm/work_queue.hpp).
struct FailedAttempt {
  std::int64_t job = 0;
  std::string error = {};  // why; kept with the job
};

// A change of one session, made completely or not at all.
struct Commit {
  std::string session_id = {};
  // The fence of the lease. Default: the change is refused while somebody holds a lease.
  std::optional<std::int64_t> fence = std::nullopt;
  // Refused with `conflict` if the session has another version. Default: any version.
  std::optional<std::int64_t> expected_version = std::nullopt;
  std::vector<LogEntry> entries = {};                          // are appended to the log
  std::optional<Session> session = std::nullopt;               // replaces the session and increases its version
  std::optional<std::int64_t> finished_job = std::nullopt;     // a job of the work queue that ends with this change
  std::optional<FailedAttempt> failed_attempt = std::nullopt;  // at a job that does not end with this change
  bool release = false;                                        // the lease ends with this change
};

struct Committed {
  std::int64_t version = 0;      // of the session
  std::int64_t last_number = 0;  // of its log
};

struct NewSession {
  Session session = {};  // without an id, the store makes one; with one that exists: `already_exists`
  std::string tenant = {};
};

class SessionStore {
 public:
  virtual ~SessionStore() = default;

  // --- Sessions ---
  virtual Result<StoredSession> create(NewSession session) = 0;
  // Fails with `not_found`; with `corrupted` if the session cannot be read.
  virtual Result<StoredSession> load(const std::string& id) = 0;
  virtual Result<SessionPage> list(const SessionQuery& query) = 0;
  // Also removes its log and its jobs. Fails with `not_found`, and with `leased` while somebody holds a lease.
  virtual Status remove(const std::string& id) = 0;

  // --- Changes ---
  // Fails with `conflict` (see Commit), `fenced` if the lease has expired or belongs to somebody else by now, and
  // `leased` if the change has no fence and somebody holds a lease.
  virtual Result<Committed> commit(const Commit& change) = 0;

  // --- The log ---
  // Entries with numbers greater than `after`, in order, at most `limit`. If `kind` is not empty, only those of other
  // kinds than "event" (kind "facts") or only those of this kind.
  virtual Result<std::vector<LogEntry>> read_log(const std::string& id, std::int64_t after, std::size_t limit,
                                                 std::string_view kind = {}) = 0;
  // Waits until the log has an entry with a number greater than `after`, at most `timeout`. False on timeout. Notices
  // entries of other processes, too.
  virtual Result<bool> wait_for_log(const std::string& id, std::int64_t after, std::chrono::milliseconds timeout) = 0;

  // --- Leases ---
  // Fails with `leased` while somebody holds an unexpired lease. Times are those of the database, not of this machine.
  virtual Result<Lease> acquire(const std::string& id, std::chrono::milliseconds duration) = 0;
  // Extends the lease from now on. Fails with `fenced` if it has expired and somebody else has acquired the session, or
  // if it was released. If the lease of a job had expired, the attempt at the job has not failed after all.
  virtual Result<Lease> renew(const Lease& lease, std::chrono::milliseconds duration) = 0;
  // Ends the lease. If it is not valid any more, nothing happens except that an attempt at a job with this lease does
  // not count as failed.
  virtual Status release(const Lease& lease) = 0;
};

}  // namespace allm
