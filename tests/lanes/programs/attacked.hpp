// Programs that tests attack: modes of allm_misbehave.
#pragma once

#include <string>

namespace allm::testing {

// Starts a worker and a command, prints the id of a child that it forks and that waits for ever, and waits too.
[[noreturn]] void fork_and_wait();

// Uses the library in that way when the system refuses every thread, and prints "as expected" and the error.
int use_without_threads(const std::string& use);

}  // namespace allm::testing
