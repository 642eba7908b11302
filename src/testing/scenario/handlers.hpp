// Makes the tool handlers that a scenario describes as data.
#pragma once

#include "allm/tool.hpp"

#include "testing/scenario/scenario_errors.hpp"

namespace allm::scenario {

// The handler that a form such as {"ok": 1} describes. An invalid form is reported to `errors`, and the handler is
// empty. The handler is safe to call from any thread; all its calls share the position in a `sequence`. A handler that
// sleeps ends early when its call is asked to stop. The handler runs in a worker if `lane` is the worker lane or the
// form ends its process.
Handler make_handler(const Json& form, const Path& path, Lane lane, ScenarioErrors& errors);

// Registers the entry that runs the handlers in workers.
void register_handler_entry();

}  // namespace allm::scenario
