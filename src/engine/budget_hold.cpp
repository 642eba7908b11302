#include "engine/budget_hold.hpp"

#include <exception>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/pool.hpp"
#include "runtime/runtime_impl.hpp"

namespace allm {
namespace {

Error budget_error(const std::string& why) {
  return Error(EngineError{.reason = EngineError::Reason::invalid_engine}, "the budget cannot be used: " + why);
}

// An exception of the ledger becomes an error.
template <class Value, class Function>
Value guarded(Function function) {
  try {
    return function();
  } catch (const std::exception& exception) {
    return std::unexpected(budget_error(exception.what()).with_cause(std::current_exception()));
  } catch (...) {
    return std::unexpected(
        budget_error("an exception that is not a std::exception").with_cause(std::current_exception()));
  }
}

// Runs a function on a pool thread. `refused` is called instead if the system refuses the thread.
template <class Function, class Refused>
class BudgetTask : public Pool::Task {
 public:
  BudgetTask(Function function, Refused refused) : function_(std::move(function)), refused_(std::move(refused)) {}
  void run() noexcept override { function_(); }
  void fail_to_start() noexcept override { refused_(); }

 private:
  Function function_;
  Refused refused_;
};

}  // namespace

class BudgetHold::Work : public std::enable_shared_from_this<Work> {
 public:
  explicit Work(std::shared_ptr<BudgetLedger> ledger) : ledger_(std::move(ledger)) {}

  void reserve(Runtime& runtime, const Spend& worst_case) {
    {
      const std::lock_guard lock(mutex_);
      reserved_.reset();
    }
    run(
        runtime,
        [self = shared_from_this(), worst_case] {
          self->note_reserved(guarded<Result<Reserved>>([&] { return self->ledger_->reserve(worst_case); }));
        },
        [self = shared_from_this()] {
          self->note_reserved(std::unexpected(budget_error("no thread could be started")));
        });
  }

  void settle(Runtime& runtime, const Spend& actual) {
    const std::optional<ReservationId> id = take_id();
    if (!id) return note_settled({});
    run(
        runtime,
        [self = shared_from_this(), id = *id, actual] {
          self->note_settled(guarded<Status>([&] { return self->ledger_->settle(id, actual); }));
        },
        [self = shared_from_this()] {
          self->note_settled(std::unexpected(budget_error("no thread could be started")));
        });
  }

  // The owner is gone: whatever is reserved is settled, and nobody is woken any more.
  void abandon(Runtime& runtime) {
    {
      const std::lock_guard lock(mutex_);
      abandoned_ = true;
      waker_ = Waker();
    }
    settle(runtime, {});
  }

  std::optional<Result<Reserved>> reserved(const Waker& waker) {
    const std::lock_guard lock(mutex_);
    if (!reserved_) waker_ = waker;
    return reserved_;
  }
  std::optional<Status> settled(const Waker& waker) {
    const std::lock_guard lock(mutex_);
    if (!settled_) waker_ = waker;
    return settled_;
  }

 private:
  template <class Function, class Refused>
  void run(Runtime& runtime, Function function, Refused refused) {
    if (!ledger_->may_block()) return function();
    RuntimeAccess::impl(runtime).pool->submit(
        std::make_shared<BudgetTask<Function, Refused>>(std::move(function), std::move(refused)));
  }

  std::optional<ReservationId> take_id() {
    const std::lock_guard lock(mutex_);
    return std::exchange(id_, std::nullopt);
  }

  void note_reserved(Result<Reserved> reserved) noexcept {
    const ReservationId* id = reserved ? std::get_if<ReservationId>(&*reserved) : nullptr;
    Waker woken;
    {
      const std::lock_guard lock(mutex_);
      if (!abandoned_) {
        if (id != nullptr) id_ = *id;
        reserved_ = std::move(reserved);
        id = nullptr;
        std::swap(woken, waker_);
      }
    }
    // This is a pool thread, or the ledger does not block.
    if (id != nullptr) {
      [[maybe_unused]] const Status released = guarded<Status>([&] { return ledger_->release(*id); });
    }
    woken.wake();
  }

  void note_settled(Status settled) noexcept {
    Waker woken;
    {
      const std::lock_guard lock(mutex_);
      settled_ = std::move(settled);
      std::swap(woken, waker_);
    }
    woken.wake();
  }

  const std::shared_ptr<BudgetLedger> ledger_;  // shared with other runs
  std::mutex mutex_;
  Waker waker_;
  std::optional<Result<Reserved>> reserved_;
  std::optional<ReservationId> id_;  // reserved and not yet given to settle
  std::optional<Status> settled_;
  bool abandoned_ = false;
};

BudgetHold::BudgetHold(std::shared_ptr<BudgetLedger> ledger, std::shared_ptr<Runtime> runtime)
    : work_(std::make_shared<Work>(std::move(ledger))), runtime_(std::move(runtime)) {}

BudgetHold::~BudgetHold() { work_->abandon(*runtime_); }

void BudgetHold::reserve(const Spend& worst_case) { work_->reserve(*runtime_, worst_case); }

std::optional<Result<Reserved>> BudgetHold::poll_reserved(const Waker& waker) { return work_->reserved(waker); }

void BudgetHold::settle(const Spend& actual) {
  is_settling_ = true;
  work_->settle(*runtime_, actual);
}

std::optional<Status> BudgetHold::poll_settled(const Waker& waker) { return work_->settled(waker); }

}  // namespace allm
