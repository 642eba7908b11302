// What a hostile tool tries in its sandbox: system calls that run in a worker.
#pragma once

#include "allm/tool.hpp"

namespace allm::testing {

// Tools in the worker lane.
// {kind, …}: one of the attacks of sandbox_attacks.cpp. Answers with what each way gave.
const Tool& sandbox_attack_tool();
// {calls: [{number, arguments}]}: the errno of each system call, 0 if it succeeded. An argument is a number, a text
// (its address is passed) or {"bytes": [u32, …]} (the address of these words).
const Tool& system_calls_tool();
// The worker's environment, and that of its ancestors as far as /proc shows them.
const Tool& environment_tool();

}  // namespace allm::testing
