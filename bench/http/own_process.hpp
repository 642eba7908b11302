// Runs a measurement in a process of its own, so that the threads of the two sides do not disturb each other.
#pragma once

#include <functional>
#include <vector>

namespace allm::bench {

// Returns the numbers that `work` returns in the child process. Exits if the child fails.
std::vector<double> in_own_process(const std::function<std::vector<double>()>& work);

}  // namespace allm::bench
