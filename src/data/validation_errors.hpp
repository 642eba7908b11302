// Messages for validation errors. Pure functions, safe to call from any thread.
#pragma once

#include <string>
#include <vector>

#include "allm/error.hpp"
#include "allm/json.hpp"

namespace allm {

// Details for the message beyond path and reason, where known.
struct ErrorDetails {
  std::string duplicate_name = {};  // for duplicate_name
  std::string part_type = {};       // for invalid_part_type
};

// A ValidationError whose message names all errors and what to do: "invalid request:
// messages[1].tool_call_id is required: …; tools: two tools are named 'a'".
Error validation_errors(ValidationError::Reason reason, std::vector<FieldError> errors,
                        const ErrorDetails& details = {}, Json metadata = Json::object());

}  // namespace allm
