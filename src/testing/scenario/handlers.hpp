// Canned tool handlers: what a scenario's tools do, as data.
#pragma once

#include "allm/tool.hpp"

#include "testing/scenario/problems.hpp"

namespace allm::scenario {

// The handler that a form such as {"ok": 1} describes; an empty one, and a report, if there is no
// such form. `sequence` counts the invocations of the handler returned here. The handler may be
// called from several threads at once; one that sleeps ends early when its call is asked to stop. In the worker lane,
// and always where the form ends the process that runs it, it runs in a worker.
Handler make_handler(const Json& form, const Path& path, Lane lane, Problems& problems);

// What the workers run.
void register_handler_entry();

}  // namespace allm::scenario
