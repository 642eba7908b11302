#include "testing/scenario/scenario_errors.hpp"

#include <utility>

namespace allm::scenario {

void ScenarioErrors::add(Path path, std::string reason, const std::string& what) {
  if (!message_.empty()) message_ += "; ";
  message_ += (path.empty() ? std::string("scenario") : to_string(path)) + ": " + what;
  errors_.push_back({std::move(path), std::move(reason)});
}

Error ScenarioErrors::to_error() const {
  return {ValidationError{ValidationError::Reason::invalid_scenario, errors_}, message_};
}

}  // namespace allm::scenario
