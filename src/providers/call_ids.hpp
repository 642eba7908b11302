// Ids of tool calls. Some servers send two calls of one message under one id; both have to be run and answered, so the
// second gets a new id. Pure; safe to call from any thread.
#pragma once

#include <cstddef>
#include <string>

namespace allm {

// `wanted`, or if it is taken, `wanted` with the first of the suffixes -2, -3, … that gives a free id.
template <class IsTaken>
std::string unique_call_id(std::string wanted, IsTaken is_taken) {
  if (!is_taken(wanted)) return wanted;
  for (std::size_t number = 2;; ++number) {
    std::string id = wanted + '-' + std::to_string(number);
    if (!is_taken(id)) return id;
  }
}

}  // namespace allm
