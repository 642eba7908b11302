// Moves sessions between stores, as JSON lines: one session on each line. docs/stores.md describes the format.
//
//   std::ofstream file("sessions.jsonl");
//   auto exported = allm::export_sessions(*store, {}, [&](std::string_view line) { file << line << '\n'; return true;
//   }); auto imported = allm::import_sessions(*other, text);
//
// Both functions block while the store works, and are safe to call from any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/store.hpp"

namespace allm {

// The version of the lines that export_sessions writes, their member "allm_export".
inline constexpr int kSessionExportVersion = 1;

struct ExportFailure {
  std::string session_id = {};
  Error error;
};
struct ExportReport {
  std::size_t exported = 0;
  std::vector<ExportFailure> failures = {};  // sessions that cannot be read; all others are exported
};

// Gives each session that `query` finds to `sink`, as a line without a line feed; `sink` returns false to stop.
// `query.limit` is the size of a page, not a limit of the export. Each session that exists during the whole export is
// exported once, also if it changes meanwhile. The log is not exported, and a session whose run is going on is exported
// as it was before the run. Fails if the store cannot list its sessions.
Result<ExportReport> export_sessions(SessionStore& store, const SessionQuery& query,
                                     const std::function<bool(std::string_view line)>& sink);

struct ImportOptions {
  // The tenant of all imported sessions. Default: the tenant that the line names, else "".
  std::optional<std::string> tenant = std::nullopt;
  // What happens to a session whose id exists in the store: it is replaced, as a new version of it; or the line fails
  // with `already_exists`.
  bool replace = false;
};

struct ImportFailure {
  std::size_t line = 0;  // from 1
  Error error;
};
struct ImportReport {
  std::vector<std::string> imported = {};  // the ids of the sessions, in the order of the lines
  std::vector<ImportFailure> failures = {};
  // False if the store failed (`unavailable`, `full`, `read_only`): then the lines after the last failure were not
  // tried.
  bool complete = true;
};

// Imports sessions: lines of export_sessions, session files (allm/session_file.hpp), and sessions that another
// implementation of the format wrote, one on each line; empty lines are skipped. A text that is one JSON value over
// several lines is one session. A session without an id gets one; the store sets version and times. A bad line is
// reported, and all others are imported.
ImportReport import_sessions(SessionStore& store, std::string_view text, const ImportOptions& options = {});

}  // namespace allm
