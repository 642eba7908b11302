// Jobs whose runs fail for ever are given up: on SQLite and on PostgreSQL, with real worker processes.
#include "allm/work_queue.hpp"

#include "process/sanitized.hpp"
#include "tests/commands/command_rig.hpp"
#include "tests/stores/postgres_server.hpp"

namespace allm::testing::given_up_jobs_test {
namespace {

// A tool that writes a line and then waits until it is killed. It is declared to be safe to repeat.
std::string endless_tool(const CommandRig& rig) {
  const auto file = rig.folder() / "endless.toml";
  std::ofstream(file) << "[[tool]]\nname = \"act\"\non_interrupted = \"retry\"\ntimeout = \"1h\"\n"
                      << "command = [\"sh\", \"-c\", 'echo x >>" << (rig.folder() / "effects").string()
                      << "; exec sleep 3600']\n";
  return file.string();
}

std::size_t effects(const CommandRig& rig) { return lines_of(file_text(rig.folder() / "effects")).size(); }

// Kills each worker as soon as its tool runs, until one finds that the job is given up and ends. Returns its output.
std::string kill_workers(const CommandRig& rig, const std::string& arguments) {
  const std::string line = rig.worker_line("--until-empty --lease " + std::string(kSanitized ? "3" : "1") +
                                           " --tools " + endless_tool(rig) + " " + arguments);
  constexpr int kMostWorkers = 20;
  for (int i = 0; i < kMostWorkers; ++i) {
    const std::size_t before = effects(rig);
    CommandProcess worker(line, rig.folder() / ("worker" + std::to_string(i)));
    if (!eventually([&] { return worker.has_ended() || effects(rig) > before; })) break;
    if (worker.has_ended()) return worker.output();
    worker.kill(SIGKILL);
    worker.wait();
  }
  ADD_FAILURE() << "the job is never given up";
  return {};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void expect_given_up(const CommandRig& rig) {
  const std::string id = lines_of(rig.run("sessions submit --attempts 2 --retry-delay 0.01 'do it'").output).at(0);
  const std::string worked = kill_workers(rig, "");
  EXPECT_TRUE(contains(worked, ": given up: its worker died")) << worked;
  EXPECT_GE(effects(rig), 1U);

  const CommandResult followed = rig.run("sessions follow " + id);
  EXPECT_EQ(followed.status, 1);
  EXPECT_TRUE(contains(followed.errors, " was given up at attempt ")) << followed.errors;
  const CommandResult shown = rig.run("sessions show " + id);
  EXPECT_TRUE(contains(shown.output, " was given up at attempt ")) << shown.output;
  EXPECT_TRUE(contains(shown.output, "its worker died")) << shown.output;
  EXPECT_EQ(lines_of(rig.run("sessions list --status error").output).size(), 1U);

  // The session goes on with the next message, after the call that was interrupted.
  ASSERT_EQ(rig.run("sessions submit --session " + id + " 'something else'").status, 0);
  const CommandResult again = rig.work("--json");
  EXPECT_EQ(Json::parse(again.output).value("status", ""), "completed") << again.output;
  const CommandResult after = rig.run("sessions show " + id);
  EXPECT_TRUE(contains(after.output, "do it")) << after.output;
  EXPECT_TRUE(contains(after.output, "interrupted")) << after.output;
  EXPECT_TRUE(contains(after.output, "Answer to something else.")) << after.output;
  EXPECT_FALSE(contains(after.output, "given up")) << after.output;
}

TEST(GivenUpJobs, AJobThatKillsItsWorkersIsGivenUpOnSqlite) { expect_given_up(CommandRig()); }
TEST(GivenUpJobs, AJobThatKillsItsWorkersIsGivenUpOnPostgres) {
  expect_given_up(CommandRig(shared_postgres().new_database()));
}

TEST(GivenUpJobs, AJobThatIsGivenUpDoesNotBlockTheNextOne) {
  const CommandRig rig;
  const std::string id = lines_of(rig.run("sessions submit --attempts 1 'do it'").output).at(0);
  ASSERT_EQ(rig.run("sessions submit --session " + id + " --order '{\"results\": []}'").status, 0);
  const std::string worked = kill_workers(rig, "--json");
  const std::vector<std::string> jobs = lines_of(worked);
  ASSERT_EQ(jobs.size(), 2U) << worked;
  const Json given_up = Json::parse(jobs[0]);
  EXPECT_EQ(given_up.value("given_up", false), true) << worked;
  EXPECT_EQ(given_up["session_id"], id);
  EXPECT_TRUE(contains(given_up["error"]["message"], " was given up at attempt ")) << worked;
  EXPECT_FALSE(Json::parse(jobs[1]).contains("given_up")) << worked;
}

TEST(GivenUpJobs, ASessionThatCannotBeReadIsGivenUp) {
  const std::string url = shared_postgres().new_database();
  const CommandRig rig(url);
  const std::string broken = lines_of(rig.run("sessions submit --attempts 2 --retry-delay 0 hello").output).at(0);
  const std::string good = lines_of(rig.run("sessions submit hello").output).at(0);
  run_sql(url, "UPDATE allm.sessions SET body = '{' WHERE id = '" + broken + "'");
  const CommandResult worked = rig.work();
  EXPECT_EQ(worked.status, 0);
  EXPECT_TRUE(contains(worked.output, "session " + broken + " tenant \"\" attempt 2: given up: ")) << worked.output;
  EXPECT_TRUE(contains(worked.output, "session " + good + " tenant \"\" attempt 1: completed")) << worked.output;
  const CommandResult shown = rig.run("sessions show " + broken);
  EXPECT_EQ(shown.status, 1);
  EXPECT_TRUE(contains(shown.errors, " was given up at attempt 2: ")) << shown.errors;
  const CommandResult followed = rig.run("sessions follow " + broken);
  EXPECT_EQ(followed.status, 1);
  EXPECT_TRUE(contains(followed.errors, "failed, to be tried again: ")) << followed.errors;
}

TEST(GivenUpJobs, ARefusedKeyEndsTheJobAtOnce) {
  const CommandRig rig;
  const std::string id = lines_of(rig.run("sessions submit hello").output).at(0);
  std::string line = rig.worker_line("--until-empty --json");
  line.replace(line.find("/v1:m"), 3, "/refused");
  const CommandResult worked = rig.run_line(line);
  const Json job = Json::parse(worked.output);
  EXPECT_EQ(job["error"]["reason"], "authentication_failed") << worked.output;
  EXPECT_EQ(job["attempt"], 1);
  const CommandResult followed = rig.run("sessions follow " + id);
  EXPECT_EQ(followed.status, 1);
  EXPECT_TRUE(contains(followed.errors, "failed: ")) << followed.errors;
}

}  // namespace
}  // namespace allm::testing::given_up_jobs_test
