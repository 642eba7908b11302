// The most that a model call can use, and budgets that are used together.
#include "engine/worst_case.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "engine/budget_chain.hpp"

namespace allm::worst_case_test {
namespace {

ModelRef priced() {
  ModelRef model("m");
  model.limits = {{"context_tokens", 5'000}, {"output_tokens", 700}};
  model.pricing = {{"input", 1.0}, {"cached_input", 0.1}, {"cache_write", 1.25}, {"output", 10.0}};
  return model;
}

WorstCase worst(Request request, const ModelRef* known) {
  return worst_case(AdapterCall{.request = std::move(request)}, known);
}
std::int64_t input(Request request) { return worst(std::move(request), nullptr).input_tokens.value(); }

TEST(WorstCase, TextCountsByItsBytes) {
  const std::int64_t empty = input({.messages = {user("")}});
  EXPECT_EQ(input({.messages = {user(std::string(1'000, 'x'))}}), empty + 1'000);
  EXPECT_EQ(input({.messages = {user("日本")}}), empty + 6);
  EXPECT_EQ(input({.messages = {user(std::vector<Part>{TextPart{"ab"}, TextPart{"c"}})}}), empty + 3);
  EXPECT_GT(input({.messages = {user(""), user("")}}), empty) << "a message costs something itself";
}

TEST(WorstCase, CallsToolsAndSettingsCount) {
  const std::int64_t empty = input({});
  Message calls = assistant("");
  calls.tool_calls = {{.id = "c", .name = "look", .arguments = {{"key", "é"}}}};
  EXPECT_GE(input({.messages = {calls}}),
            empty + static_cast<std::int64_t>(std::string(R"({"key": "\u00e9"})").size()));
  const Json schema = {{"type", "object"}, {"description", std::string(500, 'd')}};
  EXPECT_GE(input({.tools = {{.name = "t", .description = std::string(300, 'x'), .schema = schema}}}), empty + 800);
  EXPECT_GE(input({.response_format = ResponseFormat::json_schema("s", schema)}), empty + 500);
  EXPECT_GE(input({.options = {{"instructions", std::string(400, 'i')}}}), empty + 400);
}

TEST(WorstCase, MediaCountByRules) {
  EXPECT_GE(input({.messages = {user(std::vector<Part>{ImagePart{.image = {.source = MediaUrl{"u"}}}})}}), 50'000);
  const Request document{.messages = {user(std::vector<Part>{FilePart{.file = {.source = MediaBytes{"x"}}}})}};
  EXPECT_EQ(worst(document, nullptr).input_tokens, std::nullopt);
  const ModelRef model = priced();
  EXPECT_EQ(worst(document, &model).input_tokens, 5'000);
}

TEST(WorstCase, TheAnswerIsLimitedByTheRequestElseByTheModel) {
  const ModelRef model = priced();
  EXPECT_EQ(worst({}, nullptr).output_tokens, std::nullopt);
  EXPECT_EQ(worst({}, &model).output_tokens, 700);
  EXPECT_EQ(worst({.max_tokens = 50}, &model).output_tokens, 50);
  EXPECT_EQ(worst({.max_tokens = 50, .options = {{"n", 3}}}, &model).output_tokens, 150);
  // It is not known which of the two limits the provider keeps to.
  const WorstCase own = worst({.max_tokens = 50, .options = {{"max_completion_tokens", 9'000}}}, &model);
  EXPECT_EQ(own.output_tokens, 700);
  EXPECT_FALSE(own.can_shrink);
}

TEST(WorstCase, TheHighestPriceOfInputCounts) {
  const ModelRef model = priced();
  const WorstCase known = worst({.max_tokens = 100}, &model);
  EXPECT_EQ(known.input_price, 1.25);
  EXPECT_EQ(known.output_price, 10.0);
  const double cost = (1.25 * static_cast<double>(*known.input_tokens) + 10.0 * 100) / 1e6;
  EXPECT_NEAR(nanos_to_cost(*known.spend().nanos), cost, 1e-8);
  EXPECT_GE(*known.spend().nanos, cost_to_nanos(cost));
  ModelRef free = priced();
  free.pricing = {{"cached_input", 1.0}, {"output", 1.0}};
  EXPECT_EQ(worst({.max_tokens = 100}, &free).spend().nanos, std::nullopt) << "the price of input is not known";
  EXPECT_TRUE(worst({.max_tokens = 100}, &free).spend().tokens.has_value());
}

TEST(WorstCase, TheOutputThatFitsFits) {
  const ModelRef model = priced();
  WorstCase known = worst({.max_tokens = 100'000}, &model);
  for (const std::int64_t left : {1'000'000, 1'234'567, 400'001}) {
    for (const auto what : {BudgetRefusal::What::cost, BudgetRefusal::What::tokens}) {
      const auto fits = known.output_that_fits({.what = what, .left = left, .needed = 0});
      if (!fits) continue;
      WorstCase smaller = known;
      smaller.output_tokens = fits;
      EXPECT_LE(what == BudgetRefusal::What::cost ? *smaller.spend().nanos : *smaller.spend().tokens, left);
      smaller.output_tokens = *fits + 2;
      EXPECT_GT(what == BudgetRefusal::What::cost ? *smaller.spend().nanos : *smaller.spend().tokens, left);
    }
  }
  EXPECT_EQ(known.output_that_fits({.what = BudgetRefusal::What::tokens, .left = 10, .needed = 0}), std::nullopt);
}

TEST(WorstCase, WhatIsNotReportedIsNotKnown) {
  EXPECT_EQ(spend_of(std::nullopt), Spend{});
  EXPECT_EQ(spend_of(Usage{.output_tokens = 5}), Spend{});
  EXPECT_EQ(spend_of(Usage{.input_tokens = 1, .output_tokens = 5, .total_cost = 0.5}),
            (Spend{.tokens = 6, .nanos = 500'000'000}));
}

TEST(BudgetChain, ReservesInAllBudgetsOrInNone) {
  const auto large = std::make_shared<Budget>(BudgetOptions{.max_tokens = 100});
  const auto small = std::make_shared<Budget>(BudgetOptions{.max_tokens = 10});
  const auto both = joined(large, small);
  EXPECT_EQ(both->left(), (Spend{.tokens = 10}));
  EXPECT_FALSE(both->may_block());
  const auto refused = both->reserve({.tokens = 11});
  EXPECT_EQ(std::get<BudgetRefusal>(*refused).limit, 10);
  EXPECT_EQ(large->left(), (Spend{.tokens = 100})) << "taken back";
  const auto reserved = both->reserve({.tokens = 10});
  EXPECT_EQ(large->left(), (Spend{.tokens = 90}));
  EXPECT_TRUE(both->settle(std::get<ReservationId>(*reserved), {.tokens = 4}));
  EXPECT_EQ(large->spent().tokens, 4);
  EXPECT_EQ(small->spent().tokens, 4);
  EXPECT_FALSE(both->settle(std::get<ReservationId>(*reserved), {.tokens = 4})) << "once only";
}

TEST(BudgetChain, ABudgetThatOccursTwiceIsUsedOnce) {
  const auto budget = std::make_shared<Budget>(BudgetOptions{.max_tokens = 10});
  const auto run = joined(run_budget(100, std::nullopt, false), budget);
  const auto nested = joined(joined(run_budget(50, std::nullopt, false), budget), run);
  EXPECT_TRUE(std::holds_alternative<ReservationId>(*nested->reserve({.tokens = 10})));
  const auto refused = nested->reserve({.tokens = 1});
  EXPECT_FALSE(std::get<BudgetRefusal>(*refused).of_run);
  const auto own = run_budget(5, std::nullopt, false)->reserve({.tokens = 6});
  EXPECT_TRUE(std::get<BudgetRefusal>(*own).of_run);
  EXPECT_EQ(joined(nullptr, budget), budget);
  EXPECT_EQ(joined(nullptr, nullptr), nullptr);
}

}  // namespace
}  // namespace allm::worst_case_test
