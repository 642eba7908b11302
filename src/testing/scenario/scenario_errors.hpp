// The errors of a scenario file, collected while it is read. One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "allm/error.hpp"

namespace allm::scenario {

class ScenarioErrors {
 public:
  // `reason` is a word for programs (`unknown_key`); `what` describes the error for people, without the path.
  void add(Path path, std::string reason, const std::string& what);

  bool empty() const { return errors_.empty(); }
  // ValidationError `invalid_scenario` with all errors. Must not be called when empty.
  Error to_error() const;

 private:
  std::vector<FieldError> errors_;
  std::string message_;
};

}  // namespace allm::scenario
