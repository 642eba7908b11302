// Ids of tool calls. Some servers send two calls of one message under one id; both have to be run and answered, so the
// second gets an id of its own. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>

namespace allm {

// `wanted`, or `wanted` with the first of -2, -3, … that `is_taken` does not know.
template <class IsTaken>
std::string unique_call_id(std::string wanted, IsTaken is_taken) {
  if (!is_taken(wanted)) return wanted;
  for (std::size_t number = 2;; ++number) {
    std::string id = wanted + '-' + std::to_string(number);
    if (!is_taken(id)) return id;
  }
}

}  // namespace allm
