// A measurement in a process of its own, so that threads of what is compared do not disturb one another.
#pragma once

#include <functional>
#include <vector>

namespace allm::bench {

// The numbers that `work` gives there. Ends this process if that one fails.
std::vector<double> in_own_process(const std::function<std::vector<double>()>& work);

}  // namespace allm::bench
