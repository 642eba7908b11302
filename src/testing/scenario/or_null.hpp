// Optional values in observations: nullopt becomes null. Pure functions; safe to call from any thread.
#pragma once

#include <optional>

#include "allm/json.hpp"
#include "allm/response.hpp"

namespace allm::scenario {

template <class T>
Json or_null(const std::optional<T>& value) {
  if (!value) return nullptr;
  return *value;
}

inline Json or_null(const std::optional<FinishReason>& reason) {
  if (!reason) return nullptr;
  return to_string(*reason);
}

}  // namespace allm::scenario
