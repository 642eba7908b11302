// Model calls reserve their worst case before they are sent, and settle it after.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "allm/agent_tool.hpp"
#include "allm/budget.hpp"
#include "allm/fallback.hpp"
#include "allm/steps.hpp"

#include "runtime/test_waits.hpp"
#include "tests/run_control_rig.hpp"

namespace allm::reservation_test {
namespace {

using testing::can_go_on;
using testing::Form;
using testing::kAnswer;
using testing::kGood;
using testing::kHangs;
using testing::run_in;
using testing::usual_tools;

// Input 1, output 1,000 per million tokens: an output token costs 0.001.
std::shared_ptr<const Catalogue> prices() {
  ModelRef model("m");
  model.limits = {{"context_tokens", 100'000}, {"output_tokens", 1'000}};
  model.pricing = {{"input", 1.0}, {"output", 1'000.0}};
  return std::make_shared<const Catalogue>(std::vector<ModelRef>{model});
}

Usage used(std::int64_t output) { return {.input_tokens = 10, .output_tokens = output}; }

Engine engine_of(std::shared_ptr<Adapter> adapter, CallOptions defaults = {}) {
  return Engine({.adapter = std::move(adapter),
                 .model = "m",
                 .tools = usual_tools(),
                 .defaults = std::move(defaults),
                 .retry = {.max_attempts = 3, .base_delay = std::chrono::milliseconds(0), .jitter = {}},
                 .catalogue = prices()});
}

std::shared_ptr<Budget> budget_of(double cost) { return std::make_shared<Budget>(BudgetOptions{.max_cost = cost}); }

double spent(const Budget& budget) { return nanos_to_cost(*budget.spent().nanos); }
bool has_reservations(Budget& budget, double limit) {
  return *budget.left()->nanos + *budget.spent().nanos != cost_to_nanos(limit);
}

const ended::Limit* limit_in(const ChatResult& result) { return std::get_if<ended::Limit>(&result.end); }

class Reservation : public ::testing::TestWithParam<Form> {
 protected:
  ChatResult run(const Engine& engine, const CallOptions& options) const {
    ChatResult result = run_in(GetParam(), engine, {user("hi")}, options);
    EXPECT_TRUE(can_go_on(result.thread));
    return result;
  }
};
INSTANTIATE_TEST_SUITE_P(Forms, Reservation, ::testing::Values(Form::folded, Form::streamed), testing::name_of);

TEST_P(Reservation, ACallThatDoesNotFitIsNotSent) {
  const auto adapter = fake({kAnswer}, {.usage = used(1)});
  const ChatResult result = run(engine_of(adapter), {.max_tokens = 100, .max_cost = 0.1});
  EXPECT_EQ(adapter->calls(), 0U) << "100 tokens cost 0.1, and the input costs something, too";
  EXPECT_EQ(result.halted_reason(), "max_cost");
  ASSERT_NE(limit_in(result), nullptr);
  EXPECT_EQ(limit_in(result)->value, (std::variant<std::int64_t, double>(0.1)));
  EXPECT_FALSE(limit_in(result)->budget);
  EXPECT_FALSE(limit_in(result)->cost_unknown);
  EXPECT_GT(std::get<double>(limit_in(result)->needed.value()), 0.1);
  EXPECT_TRUE(result.steps.empty());
  EXPECT_EQ(result.thread, Thread{user("hi")});
  EXPECT_EQ(run(engine_of(fake({kAnswer}, {.usage = used(1)})), {.max_tokens = 100, .max_cost = 0.11}).text(),
            "answer");
}

TEST_P(Reservation, ALaterCallThatDoesNotFitIsNotSent) {
  const auto adapter = fake({kGood, kGood, kAnswer}, {.usage = used(60)});
  const ChatResult result = run(engine_of(adapter), {.max_tokens = 100, .max_cost = 0.2});
  EXPECT_EQ(result.halted_reason(), "max_cost");
  EXPECT_EQ(adapter->calls(), 2U) << "0.06 and 0.06 are spent, so 0.1 does not fit";
  EXPECT_EQ(result.steps.size(), 2U);
  EXPECT_LT(*result.usage.total_cost, 0.2);
}

TEST_P(Reservation, TokensAreReservedAsWell) {
  const auto adapter = fake({kAnswer}, {.usage = used(1)});
  const ChatResult result = run(engine_of(adapter), {.max_tokens = 1'000, .max_total_tokens = 1'000});
  EXPECT_EQ(adapter->calls(), 0U);
  EXPECT_EQ(result.halted_reason(), "max_total_tokens");
  EXPECT_EQ(result.full_metadata().at("max_total_tokens"), 1'000);
  EXPECT_GT(result.full_metadata().at("needed"), 1'000);
}

TEST_P(Reservation, WithoutMaxTokensTheCataloguesLimitIsTheWorstCase) {
  EXPECT_EQ(run(engine_of(fake({kAnswer})), {.max_cost = 1.0}).halted_reason(), "max_cost");
  EXPECT_EQ(run(engine_of(fake({kAnswer}, {.usage = used(1)})), {.max_cost = 1.1}).halted_reason(), "completed");
}

TEST_P(Reservation, AnUnknownWorstCaseIsCheckedAfterTheCallUnlessTheLimitsAreStrict) {
  const auto adapter = fake({kGood, kAnswer}, {.usage = used(1)});
  const Engine unpriced({.adapter = adapter, .model = "other", .tools = usual_tools(), .catalogue = prices()});
  EXPECT_EQ(run(unpriced, {.max_tokens = 1, .max_cost = 1.0}).full_metadata(),
            Json({{"max_cost", 1.0}, {"cost_unknown", true}}));
  EXPECT_EQ(adapter->calls(), 1U);
  const auto strict = chat(unpriced, {user("hi")}, {.max_tokens = 1, .max_cost = 1.0, .strict_limits = true});
  ASSERT_FALSE(strict.has_value());
  EXPECT_TRUE(strict.error().is<ValidationError>(ValidationError::Reason::invalid_option));
  EXPECT_EQ(strict.error().get_if<ValidationError>()->errors,
            (std::vector<FieldError>{{{std::string("max_cost")}, "unknown_worst_case"}}));
  EXPECT_NE(strict.error().message().find("prices"), std::string::npos) << strict.error().message();
  const auto tokens = chat(unpriced, {user("hi")}, {.max_total_tokens = 100'000, .strict_limits = true});
  ASSERT_FALSE(tokens.has_value());
  EXPECT_NE(tokens.error().message().find("set max_tokens"), std::string::npos) << tokens.error().message();
  EXPECT_EQ(adapter->calls(), 1U);
}

TEST_P(Reservation, ASmallerMaxTokensIsSentIfTheOptionSaysSo) {
  const auto adapter = fake({kGood, kAnswer}, {.usage = used(60), .record = true});
  const CallOptions options{.max_tokens = 100, .max_cost = 0.15, .shrink_max_tokens_to = 20};
  EXPECT_EQ(run(engine_of(adapter), options).halted_reason(), "completed");
  ASSERT_EQ(adapter->calls(), 2U);
  EXPECT_EQ(adapter->requests()[0].request.max_tokens, 100);
  const std::int64_t smaller = adapter->requests()[1].request.max_tokens.value();
  EXPECT_GE(smaller, 20);
  EXPECT_LT(smaller, 90) << "0.15 - 0.06 are left, and the input costs something, too";
}

TEST_P(Reservation, NoCallIsSentWithLessThanTheSmallestMaxTokens) {
  const auto adapter = fake({kGood, kAnswer}, {.usage = used(60)});
  const CallOptions options{.max_tokens = 100, .max_cost = 0.15, .shrink_max_tokens_to = 95};
  EXPECT_EQ(run(engine_of(adapter), options).halted_reason(), "max_cost");
  EXPECT_EQ(adapter->calls(), 1U);
}

TEST_P(Reservation, BothLimitsShrinkTheCall) {
  const auto adapter = fake({kAnswer}, {.usage = used(5), .record = true});
  CallOptions options{.max_tokens = 1'000, .max_total_tokens = 3'000, .max_cost = 0.05, .shrink_max_tokens_to = 1};
  EXPECT_EQ(run(engine_of(adapter), options).halted_reason(), "completed");
  EXPECT_LE(adapter->requests()[0].request.max_tokens.value(), 50);
  EXPECT_GE(adapter->requests()[0].request.max_tokens.value(), 40);
}

TEST_P(Reservation, ASharedBudgetEndsTheRun) {
  const auto budget = budget_of(0.15);
  const auto adapter = fake({kGood, kGood, kAnswer}, {.usage = used(60)});
  const ChatResult result = run(engine_of(adapter, {.max_tokens = 100, .budget = budget}), {});
  EXPECT_EQ(result.halted_reason(), "max_cost");
  EXPECT_TRUE(limit_in(result)->budget);
  EXPECT_EQ(result.full_metadata().at("budget"), true);
  EXPECT_EQ(result.full_metadata().at("max_cost"), 0.15);
  EXPECT_EQ(adapter->calls(), 1U);
  EXPECT_NEAR(spent(*budget), 0.06, 0.001);
  EXPECT_FALSE(has_reservations(*budget, 0.15));
}

TEST(ReservationOutsideTheLoop, ACallThatDoesNotFitIsAnError) {
  const auto adapter = fake({kAnswer});
  const CallOptions options{.max_tokens = 100, .budget = budget_of(0.1)};
  const auto response = generate(engine_of(adapter), {.messages = {user("hi")}}, options);
  ASSERT_FALSE(response.has_value());
  EXPECT_TRUE(response.error().is<EngineError>(EngineError::Reason::over_budget));
  EXPECT_EQ(response.error().metadata().at("limit"), "max_cost");
  EXPECT_EQ(response.error().metadata().at("budget"), true);
  const auto stepped = step(engine_of(adapter), {user("hi")}, options);
  ASSERT_FALSE(stepped.has_value());
  EXPECT_TRUE(stepped.error().is<EngineError>(EngineError::Reason::over_budget));
  const auto own = generate(engine_of(adapter), {.messages = {user("hi")}}, {.max_tokens = 100, .max_cost = 0.1});
  ASSERT_FALSE(own.has_value());
  EXPECT_EQ(own.error().metadata().at("budget"), false);
  EXPECT_EQ(adapter->calls(), 0U);
}

TEST(ReservationOutsideTheLoop, ASharedBudgetNeedsAKnownWorstCase) {
  const Engine unpriced({.adapter = fake({kAnswer}), .model = "other"});
  const auto response = generate(unpriced, {.messages = {user("hi")}}, {.max_tokens = 1, .budget = budget_of(1)});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().get_if<ValidationError>()->errors.at(0).path, Path{std::string("budget")});
}

TEST(ReservationOutsideTheLoop, DocumentsCountAsTheWholeContext) {
  const auto budget = std::make_shared<Budget>(BudgetOptions{.max_tokens = 100'000});
  const Message pdf =
      user(std::vector<Part>{FilePart{.file = {.source = MediaBytes{"%PDF"}, .mime_type = "application/pdf"}}});
  const auto response = generate(engine_of(fake({kAnswer})), {.messages = {pdf}}, {.max_tokens = 1, .budget = budget});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().metadata().at("needed"), 100'001);
}

TEST(ReservationOfAttempts, AnAttemptThatMayHaveBeenPaidCountsAsItsWorstCase) {
  const auto budget = budget_of(1.0);
  const auto adapter = fake({{fake_preflight_error(AdapterError::Reason::timeout)},
                             {fake_preflight_error(AdapterError::Reason::rate_limited)},
                             kAnswer},
                            {.usage = used(10)});
  const Engine engine = engine_of(adapter, {.max_tokens = 100, .budget = budget});
  ASSERT_TRUE(generate(engine, {.messages = {user("hi")}}).has_value());
  EXPECT_EQ(adapter->calls(), 3U);
  EXPECT_NEAR(spent(*budget), 0.11, 0.005) << "the attempt that timed out, and the answer";
  EXPECT_FALSE(has_reservations(*budget, 1.0));
}

TEST(ReservationOfAttempts, ARetryThatDoesNotFitIsNotSent) {
  const auto adapter = fake({{fake_preflight_error(AdapterError::Reason::timeout)}, kAnswer});
  const auto response =
      generate(engine_of(adapter), {.messages = {user("hi")}}, {.max_tokens = 100, .budget = budget_of(0.15)});
  ASSERT_FALSE(response.has_value());
  EXPECT_TRUE(response.error().is<EngineError>(EngineError::Reason::over_budget));
  EXPECT_EQ(adapter->calls(), 1U);
}

TEST(ReservationOfAttempts, AMessageWithoutUsageCountsAsItsWorstCase) {
  const auto budget = budget_of(1.0);
  ASSERT_TRUE(generate(engine_of(fake({kAnswer})), {.messages = {user("hi")}}, {.max_tokens = 100, .budget = budget}));
  EXPECT_NEAR(spent(*budget), 0.1, 0.005);
}

TEST(ReservationOfAttempts, ADroppedStreamCountsAsItsWorstCase) {
  const auto budget = budget_of(1.0);
  const Engine engine = engine_of(fake({kHangs, kHangs}), {.max_tokens = 100, .budget = budget});
  {
    const EventStream never_read = stream(engine, {user("hi")});
  }
  EXPECT_EQ(spent(*budget), 0);
  EventStream events = stream(engine, {user("hi")});
  while (events.try_next().has_event()) continue;
  EXPECT_TRUE(has_reservations(*budget, 1.0));
  events.drop();
  EXPECT_NEAR(spent(*budget), 0.1, 0.005);
  EXPECT_FALSE(has_reservations(*budget, 1.0));
}

TEST(ReservationOfOthers, AnAgentReservesInTheBudgetsOfTheRunThatCallsIt) {
  const auto budget = budget_of(0.35);
  const auto inner = fake({{fake_text("found"), fake_finish(FinishReason::stop)}}, {.usage = used(50)});
  // The same budget on both sides is used once.
  const Tool agent = agent_tool(engine_of(inner, {.max_tokens = 100, .budget = budget}), {.name = "agent"});
  const auto outer =
      fake({{fake_tool_call("c0", "agent", {{"task", "x"}}), fake_finish(FinishReason::tool_calls)}, kAnswer},
           {.usage = used(100)});
  const CallOptions options{.max_tokens = 100, .tools = {agent}, .budget = budget};
  const auto result = chat(engine_of(outer), {user("hi")}, options);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->halted_reason(), "completed");
  EXPECT_NEAR(spent(*budget), 0.25, 0.01);

  const auto again = fake({{fake_text("found"), fake_finish(FinishReason::stop)}});
  const Tool poor = agent_tool(engine_of(again), {.name = "agent", .options = {.max_tokens = 100}});
  const auto asking =
      fake({{fake_tool_call("c0", "agent", {{"task", "x"}}), fake_finish(FinishReason::tool_calls)}, kAnswer},
           {.usage = used(10)});
  const auto stopped = chat(engine_of(asking), {user("hi")}, {.max_tokens = 10, .tools = {poor}, .max_cost = 0.1});
  ASSERT_TRUE(stopped.has_value());
  EXPECT_EQ(again->calls(), 0U) << "the caller's limit holds for the agent";
  EXPECT_EQ(stopped->steps.at(0).tool_results.at(0).text(),
            R"({"error":"the agent 'agent' failed: it was stopped: max_cost"})");
}

TEST(ReservationOfOthers, EnginesOfAFallbackReserveThemselves) {
  const auto budget = budget_of(0.25);
  const auto first = fake({{fake_preflight_error(AdapterError::Reason::rate_limited)}});
  EngineOptions options = engine_of(first).options();
  options.retry = RetryPolicy::off();
  const auto second = fake({kAnswer, kAnswer}, {.usage = used(60)});
  const Engine engine = fallback({Engine(options), engine_of(second)});
  const CallOptions call{.max_tokens = 100, .budget = budget};
  const auto answered = chat(engine, {user("hi")}, call);
  ASSERT_TRUE(answered.has_value()) << answered.error().message();
  EXPECT_EQ(answered->halted_reason(), "completed");
  EXPECT_NEAR(spent(*budget), 0.06, 0.005);
  ASSERT_TRUE(chat(engine, {user("hi")}, call).has_value());
  const auto last = chat(engine, {user("hi")}, {.max_tokens = 200, .budget = budget});
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->halted_reason(), "max_cost") << "not an error";
  EXPECT_EQ(second->calls(), 2U);
}

TEST(ReservationOfOthers, ASummaryThatDoesNotFitEndsTheRun) {
  const auto model = fake({kAnswer});
  CallOptions options{.max_tokens = 10, .max_cost = 0.1};
  const auto summaries = fake({kAnswer});
  options.prepare_step = compact({.over_bytes = 1}, engine_of(summaries, {.max_tokens = 500}), {.keep_last = 1});
  const auto result = chat(engine_of(model), {user("one"), assistant("two"), user("three")}, options);
  ASSERT_TRUE(result.has_value()) << result.error().message();
  EXPECT_EQ(result->halted_reason(), "max_cost");
  EXPECT_EQ(summaries->calls(), 0U);
  EXPECT_EQ(model->calls(), 0U);
}

// A budget that blocks until a gate is open.
class SlowLedger : public BudgetLedger {
 public:
  explicit SlowLedger(double cost) : budget({.max_cost = cost}) {}
  Result<Reserved> reserve(const Spend& worst_case) override {
    asked.add();
    may_answer.wait();
    if (throws) throw std::runtime_error("disk on fire");
    auto reserved = budget.reserve(worst_case);
    answered.add();
    return reserved;
  }
  Status settle(ReservationId id, const Spend& actual) override {
    Status status = budget.settle(id, actual);
    settled.add();
    return status;
  }
  Result<Spend> left() override { return budget.left(); }

  Budget budget;
  testing::Gate may_answer;
  testing::Counter asked;
  testing::Counter answered;
  testing::Counter settled;
  std::atomic<bool> throws = false;
};

TEST(ReservationElsewhere, ALedgerThatBlocksDoesNotBlockTheConsumer) {
  const auto ledger = std::make_shared<SlowLedger>(1.0);
  const auto adapter = fake({kAnswer}, {.usage = used(10)});
  EventStream events = stream(engine_of(adapter, {.max_tokens = 100, .budget = ledger}), {user("hi")});
  EXPECT_TRUE(events.try_next().is_pending());
  ledger->asked.wait_for(1);
  EXPECT_TRUE(events.try_next().is_pending());
  EXPECT_EQ(adapter->calls(), 0U);
  ledger->may_answer.open();
  while (const Poll event = events.next()) continue;
  EXPECT_EQ(ledger->settled.value(), 1) << "before the run ends";
  EXPECT_NEAR(spent(ledger->budget), 0.01, 0.005);
}

TEST(ReservationElsewhere, AReservationThatIsMadeTooLateIsReleased) {
  const auto ledger = std::make_shared<SlowLedger>(1.0);
  const auto adapter = fake({kAnswer});
  {
    EventStream events = stream(engine_of(adapter, {.max_tokens = 100, .budget = ledger}), {user("hi")});
    EXPECT_TRUE(events.try_next().is_pending());
    ledger->asked.wait_for(1);
  }
  ledger->may_answer.open();
  ledger->settled.wait_for(1);
  EXPECT_EQ(spent(ledger->budget), 0);
  EXPECT_FALSE(has_reservations(ledger->budget, 1.0));
  EXPECT_EQ(adapter->calls(), 0U);
}

TEST(ReservationElsewhere, ALedgerThatFailsEndsTheCallBeforeItIsSent) {
  const auto ledger = std::make_shared<SlowLedger>(1.0);
  ledger->may_answer.open();
  ledger->throws = true;
  const auto adapter = fake({kAnswer});
  const auto result = chat(engine_of(adapter, {.max_tokens = 100, .budget = ledger}), {user("hi")});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message(), "the budget cannot be used: disk on fire");
  EXPECT_EQ(adapter->calls(), 0U);
}

// --- Many runs, one budget ---

// Looks at the budget before a call and counts after it, as limits without reservations do.
class CountedAfter : public BudgetLedger {
 public:
  explicit CountedAfter(double cost) : budget({.max_cost = cost}) {}
  Result<Reserved> reserve(const Spend&) override { return budget.reserve({.tokens = 0, .nanos = 1}); }
  Status settle(ReservationId id, const Spend& actual) override { return budget.settle(id, actual); }
  Result<Spend> left() override { return budget.left(); }
  bool may_block() const override { return false; }
  Budget budget;
};

// What 32 runs on threads of their own spend, as the model itself counts it, until the budget refuses their calls.
double spend_in_parallel(const std::shared_ptr<BudgetLedger>& budget) {
  std::mutex mutex;
  std::mt19937 random(7);
  double sum = 0;
  const auto model = fake([&](const Request& request) -> FakeCallScript {
    const std::lock_guard lock(mutex);
    const std::int64_t output = std::uniform_int_distribution<std::int64_t>(0, *request.max_tokens)(random);
    const auto input = static_cast<std::int64_t>(20 * request.messages.size());
    sum += static_cast<double>(input) * 1.0 / 1e6 + static_cast<double>(output) * 1'000.0 / 1e6;
    return {fake_tool_call("c" + std::to_string(request.messages.size()), "good"),
            fake_usage({.input_tokens = input, .output_tokens = output}), fake_finish(FinishReason::tool_calls)};
  });
  const Engine engine = engine_of(model, {.max_tokens = 50, .max_turns = 10'000, .budget = budget});
  std::vector<std::jthread> threads;
  for (int i = 0; i < 32; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(chat(engine, {user("go")})->halted_reason(), "max_cost"); });
  }
  threads.clear();
  return sum;
}

TEST(ReservationOfManyRuns, ABudgetIsNeverExceeded) {
  const auto budget = budget_of(1.0);
  const double sum = spend_in_parallel(budget);
  EXPECT_LE(sum, 1.0);
  EXPECT_GT(sum, 0.9) << "only what a call of the worst case needs may be left";
  EXPECT_NEAR(spent(*budget), sum, 1e-6);
  EXPECT_FALSE(has_reservations(*budget, 1.0));
}

TEST(ReservationOfManyRuns, WithoutReservationsItIsExceeded) {
  EXPECT_GT(spend_in_parallel(std::make_shared<CountedAfter>(1.0)), 1.0);
}

}  // namespace
}  // namespace allm::reservation_test
