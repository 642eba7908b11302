// Paths of validation errors. Pure functions, safe to call from any thread.
#pragma once

#include <utility>

#include "allm/error.hpp"

namespace allm {

// `path` with one more step.
inline Path extended(Path path, PathStep step) {
  path.push_back(std::move(step));
  return path;
}

}  // namespace allm
