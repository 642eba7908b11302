#include "allm/repair.hpp"

#include <utility>

#include "data/history.hpp"

namespace allm {

std::string_view to_string(ThreadProblem::Kind kind) {
  switch (kind) {
    case ThreadProblem::Kind::call_without_result:
      return "call_without_result";
    case ThreadProblem::Kind::cut_off_call:
      return "cut_off_call";
    case ThreadProblem::Kind::missing_call_id:
      return "missing_call_id";
    case ThreadProblem::Kind::duplicate_call_id:
      return "duplicate_call_id";
    case ThreadProblem::Kind::result_without_call:
      return "result_without_call";
    case ThreadProblem::Kind::missing_result_id:
      return "missing_result_id";
    case ThreadProblem::Kind::duplicate_result:
      return "duplicate_result";
    case ThreadProblem::Kind::separated_result:
      return "separated_result";
    case ThreadProblem::Kind::result_before_call:
      return "result_before_call";
    case ThreadProblem::Kind::empty_message:
      return "empty_message";
    case ThreadProblem::Kind::invalid_content:
      return "invalid_content";
  }
  return "unknown";
}

std::vector<ThreadProblem> diagnose(const Thread& thread) {
  std::vector<ThreadProblem> problems;
  const History history(thread, {});
  for (const RepairAction& action : history.actions()) problems.push_back(action.problem);
  return problems;
}

RepairedThread repair(const Thread& thread, const RepairOptions& options) {
  const History history(thread, options);
  RepairedThread repaired{.thread = thread, .actions = history.actions()};
  repaired.thread.messages = history.repaired();
  return repaired;
}

}  // namespace allm
