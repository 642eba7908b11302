// One of two processes that answer the same suspensions at the same moments.
#include <chrono>
#include <cstdio>
#include <memory>
#include <sched.h>
#include <thread>

#include "allm/session_runner.hpp"

#include "tests/contest/board.hpp"
#include "tests/contest/contest.hpp"

namespace allm::contest {
namespace {

class Answerer {
 public:
  Answerer(const std::shared_ptr<Store>& store, const std::string& board, int index)
      : board_(board), effects_(effects_of(board)), index_(index), runner_(engine(), store) {}

  bool run(int rounds) {
    for (round_ = 0; round_ < rounds; ++round_) {
      if (!meet()) return false;
      const Answer answer = answer_round();
      board_->answers[static_cast<std::size_t>(round_)][static_cast<std::size_t>(index_)] = answer;
      if (answer == Answer::wrong) return false;
    }
    return true;
  }

 private:
  Engine engine() {
    const Tool note{.name = "note", .handler = [this](const Json& /*arguments*/) {
                      append_line(effects_, "tool " + std::to_string(round_));
                      return ok("noted");
                    }};
    return Engine({.adapter = fake([this](const AdapterCall& /*call*/) -> FakeCallScript {
                     append_line(effects_, "model " + std::to_string(round_));
                     // Without an epoch, the other answer must come while this one is being run.
                     if (kind_of(round_) == Kind::reply_without_epoch) wait_for_other();
                     return {fake_text("Thanks."), fake_finish(FinishReason::stop)};
                   }),
                   .tools = {note, {.name = "manual", .manual = true}}});
  }

  // Both processes see it within a few microseconds, if each has a core of its own.
  template <typename Condition>
  void wait_until(const Condition& condition) const {
    for (int i = 0; !condition() && !board_->given_up; ++i) {
      i < 50 ? static_cast<void>(::sched_yield()) : std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  bool meet() {
    board_->arrived.fetch_add(1);
    wait_until([&] { return board_->arrived.load() >= 2 * (round_ + 1); });
    return !board_->given_up;
  }
  void wait_for_other() const {
    const auto& other = board_->answers[static_cast<std::size_t>(round_)][static_cast<std::size_t>(1 - index_)];
    wait_until([&] { return other.load() != Answer::none; });
  }

  Result<StoredTurn> answer_once() const {
    const std::string id = session_of(round_);
    switch (kind_of(round_)) {
      case Kind::reply:
        return runner_.reply(id, "Yes.", 1);
      case Kind::reply_without_epoch:
        return runner_.reply(id, "Yes.");
      case Kind::submit:
        return runner_.submit(id, 1, {{"a", "yes"}});
      case Kind::approve:
        return runner_.approve(id, 1, {{"a", Approval::allow()}});
    }
    return runner_.resume(id);
  }

  Answer answer_round() const {
    using Reason = StoreError::Reason;
    while (true) {
      const Result<StoredTurn> turn = answer_once();
      if (turn) return Answer::won;
      const bool has_epoch = kind_of(round_) != Kind::reply_without_epoch;
      const std::string& message = turn.error().message();
      if (turn.error().is<StoreError>(Reason::leased)) {
        // The other one is answering, or runs what it has answered.
        if (!has_epoch) return Answer::leased;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        continue;
      }
      const char* expected = has_epoch ? "epoch 1 was answered already" : "has changed or answered it";
      if (turn.error().is<StoreError>(Reason::conflict) && message.find(expected) != std::string::npos) {
        return Answer::conflict;
      }
      std::fprintf(stderr, "round %d: %s\n", round_, message.c_str());
      return Answer::wrong;
    }
  }

  const SharedBoard board_;
  const std::string effects_;
  const int index_;
  int round_ = 0;
  const SessionRunner runner_;
};

}  // namespace

int answer(const std::string& url, const std::string& board, int index, int rounds) {
  const Result<std::shared_ptr<Store>> store = open_store(url);
  if (store && Answerer(*store, board, index).run(rounds)) return 0;
  if (!store) std::fprintf(stderr, "%s\n", store.error().message().c_str());
  SharedBoard(board)->given_up = true;  // or the other one would wait for ever
  return 4;
}

}  // namespace allm::contest
