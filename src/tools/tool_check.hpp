// Finds errors in the program's tools before a model or a handler is called.
#pragma once

#include "engine/run.hpp"
#include "tools/outside_call.hpp"

namespace allm {

// Fails with ValidationError `invalid_request` if two tools have one name or the schema of a tool that the run may call
// does not compile, and with EngineError `invalid_engine` if a tool needs another process and none can be started.
// Schemas are compiled once for each tool set. Only for the consumer's thread.
Status check_tools(const Run& run, const OutsideCalls& outside);

}  // namespace allm
