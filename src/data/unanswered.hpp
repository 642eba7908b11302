// The result that stands for one that is not known.
#pragma once

#include <string>

#include "allm/json.hpp"
#include "allm/message.hpp"

#include "data/tool_errors.hpp"

namespace allm {

inline Message unknown_result(std::string tool_call_id) {
  const Json content = {{"error", "no result of this call is known"}, {"reason", "not_run"}};
  return failed_result(std::move(tool_call_id), content.dump());
}

}  // namespace allm
