// `allm budgets`: the budgets of a store. Each function returns the exit code: 0, or 1 if something failed. All block.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "allm/work_queue.hpp"

#include "cli/command/spec.hpp"
#include "cli/terminal.hpp"

namespace allm::cli {

struct BudgetArguments {
  enum class What : std::uint8_t { list, show, create, raise, forget, remove };
  What what = What::list;
  std::string name = {};
  // create: the limits. raise: the new limits; one that is not given stays.
  std::optional<double> max_cost = std::nullopt;
  std::optional<std::int64_t> max_tokens = std::nullopt;
  bool lenient = false;  // create: BudgetOptions::strict is false
  bool lower = false;    // raise: allows limits below the present ones
  // forget: see ReservationQuery.
  std::optional<std::string> holder = std::nullopt;
  std::optional<double> older_than_seconds = std::nullopt;
  bool json = false;  // JSON lines instead of text for people
};

int budgets_command(Store& store, const BudgetArguments& arguments, const Terminal& out, const Terminal& errors);

CommandSpec budgets_spec();

// Writes "allm budgets: message" and returns 1.
int fail_budgets(const Terminal& errors, const std::string& message);

}  // namespace allm::cli
