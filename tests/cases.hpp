// How many cases the tests with random or repeated cases run.
#pragma once

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "process/sanitized.hpp"

namespace allm::testing {

// The number in the environment variable ALLM_TEST_SCALE, 1 if it is not set. Ends the program if it is not a positive
// number: a test that silently runs fewer cases than it was asked to would prove nothing.
inline int test_scale() {
  const char* text = std::getenv("ALLM_TEST_SCALE");
  if (text == nullptr) return 1;
  const std::string_view digits = text;
  int scale = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), scale);
  if (error != std::errc() || end != digits.data() + digits.size() || scale < 1 || scale > 10'000) {
    std::cerr << "ALLM_TEST_SCALE must be a number from 1 to 10000, not \"" << digits << "\"\n";
    std::exit(2);
  }
  return scale;
}

// `usual` cases in `make test`, ten times as many in `make test-long`.
inline int cases(int usual) { return usual * test_scale(); }

// The same for tests that compute on one thread: a sanitizer makes them three to four times as slow, so its build runs
// a third of the cases. The release build runs them all.
inline int computed_cases(int usual) {
  constexpr int kShare = kSanitized ? 3 : 1;
  return (cases(usual) + kShare - 1) / kShare;
}

// Makes RapidCheck run computed_cases(usual) cases of each property, unless RC_PARAMS is set already.
// RapidCheck reads RC_PARAMS at the first property, so the initialiser of a global variable must call this function.
inline int set_property_cases(int usual) {
  return setenv("RC_PARAMS", ("max_success=" + std::to_string(computed_cases(usual))).c_str(), 0);
}

}  // namespace allm::testing
