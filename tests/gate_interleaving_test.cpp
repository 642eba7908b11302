// A call that the gate did not allow never runs, for random decisions, concurrency and moments of cancellation.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

#include "tests/generators.hpp"

namespace allm::gate_interleaving_test {
namespace {

// The calls of one case. Shared with the handlers, which may run after the case has ended.
struct Turn {
  explicit Turn(std::size_t size) : decisions(size), runs(size) {}
  bool may_run(std::size_t i) const {
    return !gate_breaks && decisions[i].kind() == Approval::Kind::allow && (!decisions[i].arguments() || fits(i));
  }
  bool fits(std::size_t i) const { return decisions[i].arguments()->is_object(); }

  std::vector<Approval> decisions;
  std::vector<std::atomic<int>> runs;
  bool gate_breaks = false;
};

class Case {
 public:
  explicit Case(const gen::Source& source) : random_(source), turn_(std::make_shared<Turn>(1 + random_.below(8))) {
    for (Approval& decision : turn_->decisions) decision = any_decision();
    options_.max_concurrency = static_cast<std::int64_t>(1 + random_.below(4));
    options_.tool_timeout = std::chrono::seconds(20);
    if (random_.chance(4)) options_.max_tool_calls = static_cast<std::int64_t>(1 + random_.below(4));
    if (random_.chance(8)) options_.run_timeout = std::chrono::milliseconds(1 + random_.below(3));
    if (random_.chance(4)) options_.on_tool_error = ToolErrorAction::halt;
    options_.approve = gate();
    cancel_at_ = random_.below(24);
    options_.on_event = [this](const Event&) {
      if (events_++ == cancel_at_ && from_consumer_) cancel();
    };
  }

  std::shared_ptr<Turn> run() {
    const std::size_t how = random_.below(3);
    std::jthread other;
    if (random_.chance()) {
      const std::size_t mode = random_.below(3);
      options_.cancel = {now_.get_token(), after_tools_.get_token(), after_step_.get_token()};
      mode_ = mode;
      from_consumer_ = random_.chance();
      if (!from_consumer_) {
        other = std::jthread([this, turns = random_.below(10'000)] {
          // Spins, because yielding costs a whole time slice on a busy machine.
          for (std::atomic<std::size_t> i = 0; i < turns; ++i) {
          }
          cancel();
        });
      }
    }
    const bool dropped = random_.chance(8);
    if (how == 0) {
      const auto batch = run_tool_calls(calls(), tools(), options_);
      EXPECT_TRUE(batch.has_value());
    } else if (how == 1) {
      read(stream_tool_calls(calls(), tools(), options_), dropped);
    } else {
      FakeCallScript script;
      for (const ToolCall& call : calls()) script.push_back(fake_tool_call(call.id, call.name, call.arguments));
      script.push_back(fake_finish(FinishReason::tool_calls));
      const Engine engine(
          {.adapter = fake({script, {fake_text("done"), fake_finish(FinishReason::stop)}}), .tools = tools()});
      if (dropped) {
        read(stream(engine, {user("hi")}, options_), true);
      } else {
        const auto result = chat(engine, {user("hi")}, options_);
        EXPECT_TRUE(result.has_value());
        if (result) {
          EXPECT_TRUE(validate(result->thread).has_value());
        }
      }
    }
    return turn_;
  }

 private:
  Approval any_decision() {
    switch (random_.below(6)) {
      case 0:
        return Approval::deny("no");
      case 1:
        return Approval::suspend();
      case 2:
        return {};
      case 3:
        return Approval::allow_with(random_.chance() ? Json::array() : Json({{"rewritten", true}}));
      default:
        return Approval::allow();
    }
  }

  ApprovalGate gate() {
    const std::size_t kind = random_.below(8);
    turn_->gate_breaks = kind < 2;
    return [kind, turn = turn_](std::span<const ToolCall>) -> std::vector<Approval> {
      if (kind == 0) throw std::runtime_error("the gate broke");
      if (kind == 1) return std::vector(turn->decisions.size() + 1, Approval::allow());
      return turn->decisions;
    };
  }

  std::vector<ToolCall> calls() const {
    std::vector<ToolCall> made;
    for (std::size_t i = 0; i < turn_->decisions.size(); ++i) {
      made.push_back({.id = "c" + std::to_string(i), .name = "tool", .arguments = {{"i", i}}});
    }
    return made;
  }

  std::vector<Tool> tools() const {
    return {{.name = "tool", .handler = [turn = turn_](const Json&, const ToolContext& context, ToolCompletion done) {
               const std::size_t i = std::stoul(context.tool_call().id.substr(1));
               ++turn->runs[i];
               if (i % 3 == 0) return static_cast<void>(done(failure("no")));
               // Some answer from another thread, so that calls end in any order.
               if (i % 3 == 1) return context.engine().runtime()->post_after({}, [done] { done(ok("later")); });
               done(ok("at once"));
             }}};
  }

  void read(EventStream events, bool drop) {
    std::size_t left = drop ? random_.below(12) : static_cast<std::size_t>(-1);
    while (left-- > 0 && events.next()) {
    }
  }

  void cancel() {
    if (mode_ == 0) now_.request_stop();
    if (mode_ == 1) after_tools_.request_stop();
    after_step_.request_stop();
    if (mode_ == 2) now_.request_stop();
  }

  gen::Random random_;
  std::shared_ptr<Turn> turn_;
  CallOptions options_;
  std::stop_source now_;
  std::stop_source after_tools_;
  std::stop_source after_step_;
  std::size_t mode_ = 0;
  std::size_t cancel_at_ = 0;
  std::size_t events_ = 0;
  bool from_consumer_ = false;
};

void check(const Turn& turn) {
  for (std::size_t i = 0; i < turn.runs.size(); ++i) {
    const int runs = turn.runs[i];
    const int most = turn.may_run(i) ? 1 : 0;
    RC_ASSERT(runs <= most);
  }
}

RC_GTEST_PROP(GateInterleaving, WhatIsNotAllowedNeverRuns, (const gen::Source& source)) {
  // Handlers may run after their case has ended, so earlier cases are checked again.
  static std::vector<std::shared_ptr<Turn>> earlier;
  Case random_case(source);
  earlier.push_back(random_case.run());
  check(*earlier.back());
  if (earlier.size() == 100) {
    for (const auto& turn : earlier) check(*turn);
    earlier.clear();
  }
}

}  // namespace
}  // namespace allm::gate_interleaving_test
