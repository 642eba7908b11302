// Runs `allm budgets` as real processes, and `allm worker` with a budget.
#include <string>

#include "allm/work_queue.hpp"

#include "tests/commands/command_rig.hpp"

namespace allm::testing::budgets_command_test {
namespace {

Json show(const CommandRig& rig, const std::string& name) {
  return Json::parse(rig.run("budgets show --json " + name).output);
}

TEST(BudgetsCommand, ABudgetIsCreatedShownRaisedAndDeleted) {
  const CommandRig rig;
  const CommandResult created = rig.run("budgets create acme --max-cost 1.5 --max-tokens 1000");
  EXPECT_EQ(created.status, 0) << created.errors;
  EXPECT_EQ(created.output,
            "acme  limit 1.5 and 1000 tokens, spent 0 and 0 tokens, reserved 0 and 0 tokens in 0 calls, left 1.5 and "
            "1000 tokens\n");
  EXPECT_EQ(rig.run("budgets create acme --max-cost 2").status, 1);
  EXPECT_EQ(rig.run("budgets create other").status, 2) << "a budget without limits";
  const CommandResult lower = rig.run("budgets raise acme --max-cost 1.4");
  EXPECT_EQ(lower.status, 1);
  EXPECT_NE(lower.errors.find("--lower"), std::string::npos) << lower.errors;
  EXPECT_EQ(rig.run("budgets raise acme --max-cost 2").status, 0);
  EXPECT_EQ(show(rig, "acme")["limit"], (Json{{"cost", 2.0}, {"tokens", 1000}}));
  EXPECT_EQ(rig.run("budgets raise --lower acme --max-tokens 0").status, 0);
  EXPECT_EQ(show(rig, "acme")["left"], (Json{{"cost", 2.0}, {"tokens", 0}}));
  EXPECT_EQ(rig.run("budgets create beta --max-tokens 5 --lenient").status, 0);
  const auto list = lines_of(rig.run("budgets list --json").output);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(Json::parse(list[0])["name"], "acme");
  EXPECT_EQ(Json::parse(list[1])["strict"], false);
  EXPECT_EQ(rig.run("budgets delete acme").status, 0);
  EXPECT_EQ(rig.run("budgets delete acme").status, 1);
  EXPECT_EQ(rig.run("budgets show acme").status, 1);
}

TEST(BudgetsCommand, TheRunsOfAWorkerShareABudget) {
  const CommandRig rig;
  ASSERT_EQ(rig.run("budgets create acme --max-tokens 600").status, 0);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(rig.run("sessions submit hello").status, 0);
  const CommandResult worked = rig.work("--budget acme --max-tokens 100");
  EXPECT_EQ(worked.status, 0) << worked.errors;
  EXPECT_EQ(rig.model_calls(), 1U) << "the worst case of a call is more than half of the budget";
  const Json budget = show(rig, "acme");
  EXPECT_EQ(budget["reservations"], 0);
  EXPECT_GT(budget["spent"]["tokens"], 300);
  EXPECT_LE(budget["spent"]["tokens"], 600);
  const CommandResult missing = rig.work("--budget missing");
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.errors.find("missing"), std::string::npos) << missing.errors;
}

// What a process that was killed has reserved is shown and given back.
TEST(BudgetsCommand, ReservationsOfDeadProcessesAreForgotten) {
  const CommandRig rig;
  ASSERT_EQ(rig.run("budgets create acme --max-tokens 600").status, 0);
  const auto store = open_store(rig.store());
  ASSERT_TRUE(store && (*store)->reserve_in_budget("acme", {.id = 1, .amount = {.tokens = 500}, .holder = "h:1"}));
  EXPECT_EQ(show(rig, "acme")["open"][0]["holder"], "h:1");
  const CommandResult shown = rig.run("budgets show acme");
  EXPECT_NE(shown.output.find("500 tokens reserved by h:1, "), std::string::npos) << shown.output;
  EXPECT_EQ(rig.run("budgets forget acme").status, 2) << "which ones?";
  EXPECT_EQ(rig.run("budgets forget acme --older-than 3600").output, "gave back 0 and 0 tokens of 0 reservations\n");
  EXPECT_EQ(rig.run("budgets forget acme --holder h:1").output, "gave back 0 and 500 tokens of 1 reservations\n");
  EXPECT_EQ(show(rig, "acme")["left"]["tokens"], 600);
}

}  // namespace
}  // namespace allm::testing::budgets_command_test
