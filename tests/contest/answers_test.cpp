// Two processes answer the same suspension at the same moment: one answer is accepted, and what it causes happens once.
#include <array>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "allm/session_ops.hpp"
#include "allm/session_runner.hpp"

#include "process/sanitized.hpp"
#include "stores/sqlite/store_fixture.hpp"
#include "tests/cases.hpp"
#include "tests/contest/board.hpp"
#include "tests/contest/contest.hpp"
#include "tests/stores/postgres_server.hpp"

namespace allm::contest_answers_test {
namespace {

using namespace allm::contest;

// The session that a run leaves when the model has called this tool.
Session suspended(const std::string& tool, const Approval& decision = Approval::allow()) {
  const Tool ask{.name = "ask", .handler = [](const Json&) { return ask_user("Go on?"); }};
  const Engine engine({.adapter = fake({{fake_tool_call("a", tool), fake_finish(FinishReason::tool_calls)}}),
                       .tools = {ask, {.name = "manual", .manual = true}, {.name = "note", .handler = ask.handler}},
                       .approve = [&](std::span<const ToolCall>) { return std::vector<Approval>{decision}; }});
  return session_start(engine, {.thread = {user("Hello")}}).value().session;
}

void create_sessions(Store& store, int rounds) {
  const Session question = suspended("ask");
  const Session manual = suspended("manual");
  const Session approval = suspended("note", Approval::suspend());
  for (int round = 0; round < rounds; ++round) {
    Session session = kind_of(round) == Kind::submit ? manual : kind_of(round) == Kind::approve ? approval : question;
    session.id = session_of(round);
    const auto created = store.create({.session = std::move(session)});
    ASSERT_TRUE(created) << created.error().message();
    ASSERT_EQ(created->version, 1);
  }
}

std::size_t messages_after(Kind kind) {
  const bool has_question = kind == Kind::reply || kind == Kind::reply_without_epoch;
  // Hello, the call, its result, the question and its answer, thanks.
  return has_question ? 6 : 4;
}

void expect_one_answer_each(const std::string& url, int rounds) {
  const testing::TestFolder folder;
  const std::shared_ptr<Store> store = open_store(url).value();
  ASSERT_NO_FATAL_FAILURE(create_sessions(*store, rounds));
  const SharedBoard board(folder.file("board"));
  const std::string effects = effects_of(folder.file("board"));
  const auto start = [&](const char* index) {
    return start_process({"answer", url, folder.file("board"), index, std::to_string(rounds)});
  };
  const pid_t first = start("0");
  const pid_t second = start("1");
  EXPECT_EQ(wait_for_exit(first), 0);
  board->given_up = board->arrived < 2 * rounds;
  EXPECT_EQ(wait_for_exit(second), 0);
  std::map<std::string, int> lines;
  std::ifstream file(effects);
  for (std::string line; std::getline(file, line);) ++lines[line];
  std::array<int, 2> won = {0, 0};
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const auto& answers = board->answers[static_cast<std::size_t>(round)];
    const std::size_t winner = answers[0] == Answer::won ? 0 : 1;
    ++won[winner];
    EXPECT_EQ(answers[winner], Answer::won);
    EXPECT_TRUE(answers[1 - winner] == Answer::conflict || answers[1 - winner] == Answer::leased);
    EXPECT_EQ(lines["model " + std::to_string(round)], 1);
    EXPECT_EQ(lines["tool " + std::to_string(round)], kind_of(round) == Kind::approve ? 1 : 0);
    const auto stored = store->load(session_of(round));
    ASSERT_TRUE(stored) << stored.error().message();
    EXPECT_EQ(stored->session.status, SessionStatus::completed);
    EXPECT_EQ(stored->session.thread.messages.size(), messages_after(kind_of(round)));
    EXPECT_EQ(stored->session.thread.messages.back().text(), "Thanks.");
  }
  std::cout << "won: " << won[0] << " and " << won[1] << " of " << rounds << " rounds\n";
}

// The release build runs all rounds in `make test`: sanitizers make one ten times as long.
int rounds() { return std::min(testing::cases(kSanitized ? 100 : 1'000), kMaxRounds); }

TEST(TwoProcesses, OneOfTwoAnswersAtTheSameMomentIsAcceptedOnSqlite) {
  const testing::TestFolder folder;
  expect_one_answer_each("sqlite:" + folder.file(), rounds());
}

TEST(TwoProcesses, OneOfTwoAnswersAtTheSameMomentIsAcceptedOnPostgres) {
  expect_one_answer_each(testing::shared_postgres().new_database(), rounds());
}

}  // namespace
}  // namespace allm::contest_answers_test
