// The logs of sessions in an SQLite file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "allm/store.hpp"

#include "stores/sqlite/connection.hpp"

namespace allm::sqlite {

// Appends the entries, with their bodies as JSON, to the log of the session with this key. Returns the number of the
// last entry of the log.
Result<std::int64_t> append_log(Connection& connection, std::int64_t key, const std::vector<LogEntry>& entries,
                                const std::vector<std::string>& bodies);
Result<std::vector<LogEntry>> read_log(Connection& connection, const std::string& id, std::int64_t after,
                                       std::size_t limit, std::string_view kind);
// Whether the log has an entry with a number greater than `after`. Fails with `not_found`.
Result<bool> log_is_longer(Connection& connection, const std::string& id, std::int64_t after);

}  // namespace allm::sqlite
