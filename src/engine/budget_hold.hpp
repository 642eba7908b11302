// The reservation of one attempt of a model call: made before the call is sent, settled after it.
#pragma once

#include <memory>
#include <optional>

#include "allm/budget.hpp"
#include "allm/runtime.hpp"
#include "allm/stream.hpp"

namespace allm {

// Calls a ledger that may block on a pool thread, and any other ledger at once. The functions are called in this order,
// by one thread at a time: reserve, poll_reserved until it answers, settle, poll_settled. After a refusal, reserve may
// be called again.
//
// The destructor does not wait. A reservation that was not settled is settled as its worst case, because the call may
// have been paid; one that is still being made is released as soon as it is made, because the call was not sent.
class BudgetHold {
 public:
  BudgetHold(std::shared_ptr<BudgetLedger> ledger, std::shared_ptr<Runtime> runtime);
  BudgetHold(const BudgetHold&) = delete;
  BudgetHold& operator=(const BudgetHold&) = delete;
  ~BudgetHold();

  void reserve(const Spend& worst_case);
  // The answer of the ledger; nullopt if there is none yet, and then `waker` is called when there is.
  std::optional<Result<Reserved>> poll_reserved(const Waker& waker);

  bool is_settling() const { return is_settling_; }
  void settle(const Spend& actual);
  // The result of settle(); nullopt if there is none yet, and then `waker` is called when there is.
  std::optional<Status> poll_settled(const Waker& waker);

 private:
  class Work;
  // Shared: a pool thread holds it while the ledger works.
  std::shared_ptr<Work> work_;
  std::shared_ptr<Runtime> runtime_;
  bool is_settling_ = false;
};

}  // namespace allm
