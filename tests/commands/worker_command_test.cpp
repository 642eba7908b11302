// Runs `allm worker` as real processes, with a scripted model on loopback.
#include <memory>
#include <random>

#include "allm/work_queue.hpp"

#include "tests/cases.hpp"
#include "tests/commands/command_rig.hpp"

namespace allm::testing::worker_command_test {
namespace {

std::string tools_file(const CommandRig& rig, const std::string& script) {
  const auto file = rig.folder() / "tools.toml";
  std::ofstream(file) << "[[tool]]\nname = \"act\"\ncommand = [\"sh\", \"-c\", '''" << script << "''']\n";
  return file.string();
}

std::string last_text(const CommandRig& rig, const std::string& id) {
  const Json session = Json::parse(rig.run("sessions show --json " + id).output);
  return session["data"]["thread"]["data"]["messages"].back()["data"]["content"].get<std::string>();
}

TEST(WorkerCommand, RunsASubmittedMessage) {
  const CommandRig rig;
  const CommandResult submitted = rig.run("sessions submit --json --tenant acme -s 'Be brief.' hello");
  const std::string id = Json::parse(submitted.output)["session_id"];
  const CommandResult worked = rig.work("--json");
  EXPECT_EQ(worked.status, 0) << worked.errors;
  const Json job = Json::parse(worked.output);
  EXPECT_EQ(job["session_id"], id);
  EXPECT_EQ(job["tenant"], "acme");
  EXPECT_EQ(job["attempt"], 1);
  EXPECT_EQ(job["status"], "completed");
  EXPECT_EQ(rig.run("sessions follow " + id).output, "Answer to hello.\n");
  EXPECT_EQ(last_text(rig, id), "Answer to hello.");
}

TEST(WorkerCommand, ContinuesASessionOfTheReference) {
  const CommandRig rig;
  ASSERT_EQ(rig.run("sessions import " ALLM_SOURCE_DIR "/tests/data/session200.json").status, 0);
  ASSERT_EQ(rig.run("sessions submit --session session-1 'And now?'").status, 0);
  const CommandResult worked = rig.work();
  EXPECT_NE(worked.output.find("session session-1 tenant \"\" attempt 1: completed in "), std::string::npos)
      << worked.output << worked.errors;
  const Json summary = Json::parse(rig.run("sessions list --json").output);
  EXPECT_EQ(summary["messages"], 202);
  EXPECT_EQ(last_text(rig, "session-1"), "Answer to And now?.");
}

TEST(WorkerCommand, ARunIsFollowedLiveFromAnotherProcess) {
  const CommandRig rig;
  const std::string id = Json::parse(rig.run("sessions submit --json first").output)["session_id"];
  ASSERT_EQ(rig.work().status, 0);
  // The second run has a tool that waits for a file, so that its beginning is followed before its end exists.
  const std::string tools =
      tools_file(rig, "while [ ! -e " + (rig.folder() / "go").string() + " ]; do sleep 0.01; done");
  CommandProcess submit(rig.line("sessions submit --follow --session " + id + " second"), rig.folder() / "followed");
  CommandProcess worker(rig.worker_line("--tools " + tools), rig.folder() / "worked");
  ASSERT_TRUE(eventually([&] { return submit.output().find("-> act {}") != std::string::npos; })) << submit.output();
  EXPECT_EQ(submit.output().find("Answer"), std::string::npos) << submit.output();
  std::ofstream(rig.folder() / "go") << "go";
  EXPECT_EQ(submit.wait(), 0);
  EXPECT_NE(submit.output().find("Answer to "), std::string::npos) << submit.output();
  EXPECT_EQ(submit.output().find("first"), std::string::npos) << "events of the first run are shown";
  worker.kill(SIGTERM);
  EXPECT_EQ(worker.wait(), 0) << worker.output();
}

TEST(WorkerCommand, AnOrderThatIsNotAllowedEndsItsJob) {
  const CommandRig rig;
  const std::string id = Json::parse(rig.run("sessions submit --json first").output)["session_id"];
  ASSERT_EQ(rig.work().status, 0);
  ASSERT_EQ(rig.run("sessions submit --epoch 1 --session " + id + " late").status, 0);
  const CommandResult worked = rig.work();
  EXPECT_EQ(worked.status, 0);
  EXPECT_NE(worked.output.find("failed: "), std::string::npos) << worked.output;
  EXPECT_EQ(last_text(rig, id), "Answer to first.");
  EXPECT_EQ(rig.run("sessions follow " + id).status, 1);
}

TEST(WorkerCommand, FinishesWhatRunsAfterSigterm) {
  const CommandRig rig;
  const std::string tools = tools_file(rig, "echo ran >>" + (rig.folder() / "effects").string() + "; while [ ! -e " +
                                                (rig.folder() / "go").string() + " ]; do sleep 0.01; done");
  const std::string id = Json::parse(rig.run("sessions submit --json hello").output)["session_id"];
  CommandProcess worker(rig.worker_line("--grace 60 --tools " + tools), rig.folder() / "worked");
  ASSERT_TRUE(eventually([&] { return !file_text(rig.folder() / "effects").empty(); })) << worker.output();
  worker.kill(SIGTERM);
  ASSERT_TRUE(eventually([&] { return worker.output().find("finishing") != std::string::npos; })) << worker.output();
  std::ofstream(rig.folder() / "go") << "go";
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_NE(worker.output().find(": completed in "), std::string::npos) << worker.output();
  EXPECT_EQ(file_text(rig.folder() / "effects"), "ran\n");
}

TEST(WorkerCommand, ReleasesWhatRunsAfterTheGraceTimeAndNoToolRunsTwice) {
  const CommandRig rig;
  const std::string effects = (rig.folder() / "effects").string();
  const std::string id = Json::parse(rig.run("sessions submit --json hello").output)["session_id"];
  CommandProcess worker(
      rig.worker_line("--grace 0 --lease 600 --tools " + tools_file(rig, "echo ran >>" + effects + "; sleep 600")),
      rig.folder() / "worked");
  ASSERT_TRUE(eventually([&] { return !file_text(effects).empty(); })) << worker.output();
  worker.kill(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_NE(worker.output().find("released 1 sessions"), std::string::npos) << worker.output();
  // Another worker resumes at once, although the lease had ten minutes left.
  const CommandResult worked = rig.work("--tools " + tools_file(rig, "echo again >>" + effects));
  EXPECT_NE(worked.output.find("attempt 2: completed"), std::string::npos) << worked.output << worked.errors;
  EXPECT_EQ(file_text(effects), "ran\n");
  EXPECT_NE(last_text(rig, id).find("Answer to "), std::string::npos);
}

TEST(WorkerCommand, AFollowerOfAResumedRunSeesEverythingOnce) {
  const CommandRig rig;
  const std::string tools =
      tools_file(rig, "while [ ! -e " + (rig.folder() / "go").string() + " ]; do sleep 0.01; done");
  CommandProcess follower(rig.line("sessions submit --follow --retry-delay 0 'Think hard'"), rig.folder() / "followed");
  const auto follows = [&](const std::string& text) {
    return eventually([&] { return follower.output().find(text) != std::string::npos; });
  };
  CommandProcess dying(rig.worker_line("--lease 1 --tools " + tools), rig.folder() / "dying");
  ASSERT_TRUE(follows("-> act {}")) << follower.output();
  dying.kill(SIGKILL);
  std::ofstream(rig.folder() / "go") << "go";
  CommandProcess worker(rig.worker_line("--tools " + tools), rig.folder() / "worked");
  EXPECT_EQ(follower.wait(), 0) << follower.output();
  std::string shown = follower.output();
  const auto take = [&](const std::string& text) {
    const std::size_t at = shown.find(text);
    if (at != std::string::npos) shown.erase(at, text.size());
    return at != std::string::npos;
  };
  EXPECT_TRUE(take("run resumed by another worker")) << shown;
  EXPECT_TRUE(take("Let me see.\n")) << shown;
  EXPECT_TRUE(take("-> act {}\n")) << shown;
  EXPECT_TRUE(take("Answer to ")) << shown;
  EXPECT_FALSE(take("Let me see.") || take("-> act") || take("Answer to ")) << shown;
}

// Workers that are killed at random run each session to its end, and no tool twice.
TEST(WorkerCommand, ManyWorkersShareTheQueueAndSurviveKills) {
  const CommandRig rig;
  const int sessions = cases(60);
  constexpr int kWorkers = 3;
  const auto store = open_store(rig.store());
  ASSERT_TRUE(store);
  std::vector<std::string> ids;
  for (int i = 0; i < sessions; ++i) {
    const std::string tenant = i % 10 == 0 ? "small" : i % 2 == 0 ? "large" : "huge";
    const auto made = (*store)->create({.tenant = tenant});
    ASSERT_TRUE(made);
    ids.push_back(*made->session.id);
    ASSERT_TRUE((*store)->submit({.session_id = *made->session.id,
                                  .order = {{"message", "m" + std::to_string(i)}},
                                  .retry_delay = std::chrono::milliseconds(10)}));
  }
  const std::string effects = (rig.folder() / "effects").string();
  const std::string line =
      rig.worker_line("--until-empty --jobs 2 --lease 1 --tools " + tools_file(rig, "echo x >>" + effects));
  std::vector<std::unique_ptr<CommandProcess>> workers;
  const auto start = [&] {
    workers.push_back(
        std::make_unique<CommandProcess>(line, rig.folder() / ("worker" + std::to_string(workers.size()))));
  };
  for (int i = 0; i < kWorkers; ++i) start();
  std::mt19937 random(7);
  for (int kills = 0; kills < 4; ++kills) {
    const std::size_t before = lines_of(file_text(effects)).size();
    if (!eventually([&] {
          return lines_of(file_text(effects)).size() >= before + 3 ||
                 lines_of(file_text(effects)).size() >= static_cast<std::size_t>(sessions);
        })) {
      break;
    }
    workers[workers.size() - 1 - random() % kWorkers]->kill(SIGKILL);
    start();
  }
  for (auto& worker : workers) worker->wait();
  const auto counts = (*store)->count_jobs();
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->ready + counts->delayed + counts->running, 0U);
  for (const std::string& id : ids) {
    const auto stored = (*store)->load(id);
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->session.status, SessionStatus::completed) << id;
    EXPECT_EQ(stored->session.thread.messages.size(), 4U) << id;  // question, call, result, answer
  }
  // A tool that was interrupted is not run again, so there are at most as many effects as sessions.
  EXPECT_LE(lines_of(file_text(effects)).size(), static_cast<std::size_t>(sessions));
}

}  // namespace
}  // namespace allm::testing::worker_command_test
