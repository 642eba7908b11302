// The code of docs/history-repair.md. scripts/check_snippets.py compares the regions with the document.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace docs_repair_test {
namespace {

TEST(DocsRepair, Thread) {
  const allm::Engine engine(
      {.adapter = allm::fake({{allm::fake_text("done"), allm::fake_finish(allm::FinishReason::stop)}})});
  allm::Message asks = allm::assistant("");
  asks.tool_calls = {{.id = "c1", .name = "weather"}};
  const allm::Thread thread = {allm::user("How is the weather?"), asks, allm::user("Well?")};
  std::vector<std::string> lines;
  const auto log = [&](std::string line) { lines.push_back(std::move(line)); };
  // [repair-thread]
  for (const allm::ThreadProblem& problem : allm::diagnose(thread)) {
    log(problem.message);  // "message 1 calls 'weather' (id 'c1'), and no result of it is in the thread"
  }
  allm::RepairedThread repaired = allm::repair(thread);
  for (const allm::RepairAction& action : repaired.actions) {
    log(std::string(to_string(action.problem.kind)) + ": " + action.done);
  }
  auto result = allm::chat(engine, repaired.thread);
  // [/repair-thread]
  EXPECT_EQ(lines,
            (std::vector<std::string>{"message 1 calls 'weather' (id 'c1'), and no result of it is in the thread",
                                      "call_without_result: a result was added which says that none is known"}));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->text(), "done");
}

}  // namespace
}  // namespace docs_repair_test
