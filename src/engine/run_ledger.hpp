// Counts what a run has used of its limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "allm/end.hpp"
#include "allm/message.hpp"
#include "allm/response.hpp"

namespace allm {

struct RunLimits {
  std::optional<std::int64_t> max_total_tokens;
  std::optional<double> max_cost;
  std::optional<std::int64_t> max_tool_calls;
  std::optional<std::int64_t> max_repeated_failures;

  bool any() const { return max_total_tokens || max_cost || max_tool_calls || max_repeated_failures; }
};

// Shared by the passes of a run, which run one after the other, and by nested runs, whose ledgers point to their
// parent's. Only the consumer's thread uses it.
class RunLedger {
 public:
  // Usage and tool calls count in `parent`, too, and reaching a limit of `parent` ends this run.
  explicit RunLedger(const RunLimits& limits, std::shared_ptr<RunLedger> parent = nullptr)
      : limits_(limits), parent_(std::move(parent)) {}

  void add_usage(const Usage& usage);
  // Counts one more tool call and returns true, or returns false if the limit is reached.
  bool take_tool_call();
  // The limit that is reached, after take_tool_call() returned false.
  std::int64_t tool_call_limit() const;
  // Records the result of a call that was sent to the model: the text of a failure, or nullopt for a success.
  void note_outcome(const ToolCall& call, const std::optional<std::string>& failure);
  // The first limit that is reached, in the order of RunLimits.
  std::optional<ended::Limit> exceeded() const;

 private:
  struct Failing {
    std::size_t failure = 0;  // hash of its text
    std::int64_t times = 0;
  };
  // Calls whose last result was a failure, by the hash of name and arguments. A run with more of them than this is not
  // repeating itself, so they are forgotten.
  static constexpr std::size_t kMaxFailing = 1'024;

  RunLimits limits_;
  std::shared_ptr<RunLedger> parent_;  // shared with the calling run, which may be dropped first
  std::int64_t tokens_ = 0;
  double cost_ = 0;
  bool cost_unknown_ = false;
  std::int64_t tool_calls_ = 0;
  bool tool_call_refused_ = false;
  std::unordered_map<std::size_t, Failing> failing_;
  std::optional<ended::Limit> repeated_;
};

}  // namespace allm
