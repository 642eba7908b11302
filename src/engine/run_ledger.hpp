// What a run has spent of its budgets.
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

// Shared by the passes of a run, which come one after the other, and by nested runs as their parent: only the
// consumer's thread uses it.
class RunLedger {
 public:
  // Usage and tool calls count in `parent`, too, and its limits end this run.
  explicit RunLedger(const RunLimits& limits, std::shared_ptr<RunLedger> parent = nullptr)
      : limits_(limits), parent_(std::move(parent)) {}

  void add_usage(const Usage& usage);
  // Whether one more tool may be run; it counts as run then.
  bool take_tool_call();
  // After it was refused: the limit that is reached.
  std::int64_t tool_call_limit() const;
  // What the model was told of a call with these arguments: a failure's text, or nothing for a success.
  void note_outcome(const ToolCall& call, const std::optional<std::string>& failure);
  // The first limit that is reached, in the order in which they are listed above.
  std::optional<ended::Limit> exceeded() const;

 private:
  struct Failing {
    std::size_t failure = 0;  // hash of its text
    std::int64_t times = 0;
  };
  // Calls that failed last time, by the hash of name and arguments. A run that has more of them than this does not go
  // in circles, or not in ones that a count could find; they are forgotten then.
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
