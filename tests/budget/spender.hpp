// A process that spends a budget of a store: runs of a scripted model whose usage is random.
#pragma once

#include <cstdint>
#include <string>

#include "process/sanitized.hpp"

namespace allm::testing {

inline constexpr int kRunsOfProcess = 8;
// Fewer and larger calls where everything is slow.
inline constexpr std::int64_t kMaxTokens = kSanitized ? 1'000 : 400;
// In billionths.
inline constexpr std::int64_t kInputPrice = 1;
inline constexpr std::int64_t kOutputPrice = 10'000;
inline constexpr std::int64_t kInputTokens = 100;

// What an answer with that many tokens costs.
inline std::int64_t price_of(std::int64_t output_tokens) {
  return kInputTokens * kInputPrice + output_tokens * kOutputPrice;
}

struct SpenderOptions {
  std::string url = {};
  std::string budget = {};
  std::string effects = {};  // the file to which each answer appends the number of its output tokens
  std::uint64_t seed = 0;
  // In which answer of the process it kills itself with SIGKILL, from 1 on; 0: it lives.
  int dies_in_answer = 0;
  // Whether model calls reserve. If not, a call is made as long as the budget is not spent.
  bool reserves = true;
};

// Runs until the budget refuses every run. Returns the exit code: 0, or 3 if a run ended otherwise.
int spend(const SpenderOptions& options);

}  // namespace allm::testing
