// Texts of the demo model.
#pragma once

#include <string>
#include <vector>

#include "allm/tool.hpp"

#include "providers/demo/conversation.hpp"

namespace allm::demo_model {

// The answer to a turn in which no tool is left to call.
std::string answer_to(const Turn& turn, const std::vector<Tool>& tools);

}  // namespace allm::demo_model
