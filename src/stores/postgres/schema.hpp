// The tables and functions of a store, in the schema `allm`; docs/stores.md describes them.
#pragma once

#include "stores/postgres/connection.hpp"

namespace allm::postgres {

inline constexpr int kSchemaVersion = 3;

// Creates the schema, or changes an older one to the current version, in one transaction. Many processes may do this at
// the same time: one of them does the work. Needs no rights to create anything if the schema is current already.
// Fails with `future_version` if a newer allm has changed the schema.
Status prepare_schema(Connection& connection);

// The statements that change a schema of the version before to this version. `version` is from 1 to kSchemaVersion.
const char* migration_to(int version);

}  // namespace allm::postgres
