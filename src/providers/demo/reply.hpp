// The rules of the demo model: from a request to an answer.
#pragma once

#include <string>
#include <vector>

#include "allm/request.hpp"

namespace allm::demo_model {

// Text or calls, never both empty.
struct Reply {
  std::string reasoning = {};
  std::string text = {};
  std::vector<ToolCall> calls = {};
};

Reply reply_to(const Request& request);

}  // namespace allm::demo_model
