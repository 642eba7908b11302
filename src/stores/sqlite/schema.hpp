// The tables of a store and their versions. docs/stores.md describes them.
//
// A file has its schema version in `user_version`, and a fixed `application_id`. Each migration leads from one version
// to the next; the first one creates the tables. A schema that was released is never edited: a change is a new
// migration at the end of the list, and a file of the version before it becomes a fixture in tests/data/stores.
#pragma once

#include <cstdint>
#include <span>

#include "stores/sqlite/connection.hpp"

namespace allm::sqlite {

inline constexpr std::int64_t kApplicationId = 0x616C6C6D;  // "allm"

// Migration n (from 0) leads from version n to version n + 1. Several statements, which run in one transaction.
using Migration = const char*;
std::span<const Migration> migrations();

// Brings the file to the newest version; creates the tables in an empty file. Several processes may do it at the same
// time. Fails with `future_version` if a newer allm wrote the file, and with `invalid_url` if another program did.
Status migrate(Connection& connection, std::span<const Migration> steps = migrations());

}  // namespace allm::sqlite
