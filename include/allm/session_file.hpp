// Sessions on disk: one JSON file for each session, in the format of docs/session-format.md.
//
//   if (auto saved = allm::save_session("chat.json", session); !saved) report(saved.error());
//   auto session = allm::load_session("chat.json");
//
// Both functions block while they read or write, and are safe to call from any thread. If two programs save to one path
// at the same time, the file has one of the two sessions, never a mixture.
#pragma once

#include <string>

#include "allm/session.hpp"

namespace allm {

// Writes the session to a new file in the same folder, flushes it to disk and renames it to `path`. At every moment,
// also after a crash or a power failure, `path` holds either the old session or the new one. A killed program may leave
// a file named `<path>.XXXXXX` behind. A new file can be read and written by its owner only; an existing file keeps its
// permissions, and a symbolic link stays a link.
//
// Fails with ValidationError `invalid_session` whose message names the file: the folder does not exist or is read-only,
// the disk is full, or the session cannot be written as JSON. The old file is then unchanged.
Status save_session(const std::string& path, const Session& session);

// Reads a session. Fails with ValidationError `invalid_session` if the file cannot be read, and as from_json<Session>
// does; the message names the file.
Result<Session> load_session(const std::string& path, const ReadLimits& limits = {});

}  // namespace allm
