// Runs `allm sessions` as real processes on an SQLite file.
#include "tests/commands/command_rig.hpp"

namespace allm::testing::sessions_command_test {
namespace {

const std::string kReference = ALLM_SOURCE_DIR "/tests/data/session200.json";

TEST(SessionsCommand, ImportsListsShowsAndDeletesASessionOfTheReference) {
  const CommandRig rig;
  const CommandResult imported = rig.run("sessions import --tenant acme " + kReference);
  EXPECT_EQ(imported.output, "session-1\n");
  EXPECT_EQ(imported.status, 0) << imported.errors;

  const CommandResult listed = rig.run("sessions list --tenant acme --status completed --json");
  const Json summary = Json::parse(listed.output);
  EXPECT_EQ(summary["id"], "session-1");
  EXPECT_EQ(summary["messages"], 200);
  EXPECT_EQ(summary["status"], "completed");
  EXPECT_NE(rig.run("sessions list").output.find("Question 1: what will the weather be in City 1"), std::string::npos);
  EXPECT_EQ(rig.run("sessions list --tenant other").output, "");

  const CommandResult shown = rig.run("sessions show session-1");
  EXPECT_NE(shown.output.find("status completed, version 1, tenant \"acme\""), std::string::npos) << shown.output;
  EXPECT_NE(shown.output.find("user: Question 1: what will"), std::string::npos);
  EXPECT_EQ(Json::parse(rig.run("sessions show --json session-1").output)["data"]["context"]["user"], 42);

  EXPECT_EQ(lines_of(rig.run("sessions search city weather QUESTION").output).size(), 1U);
  EXPECT_EQ(rig.run("sessions search unheardof").output, "");

  EXPECT_EQ(rig.run("sessions delete session-1").status, 0);
  EXPECT_EQ(rig.run("sessions list").output, "");
  const CommandResult gone = rig.run("sessions show session-1");
  EXPECT_EQ(gone.status, 1);
  EXPECT_EQ(gone.errors, "allm sessions: there is no session 'session-1'\n");
}

TEST(SessionsCommand, ExportsWhatAnotherStoreImports) {
  const CommandRig rig;
  const CommandRig other;
  EXPECT_EQ(rig.run("sessions import " + kReference).status, 0);
  EXPECT_EQ(rig.run("sessions submit --tenant acme 'Plan a trip'").status, 0);
  const std::string file = (rig.folder() / "out.jsonl").string();
  const CommandResult exported = rig.run("sessions export -o " + file);
  EXPECT_EQ(exported.errors, "2 exported, 0 failed\n");
  EXPECT_EQ(lines_of(rig.run("sessions export").output).size(), 2U);
  EXPECT_EQ(rig.run("sessions export -o " + file).status, 1) << "an existing file is not overwritten";
  EXPECT_EQ(other.run_line("cat " + file + " | " + other.line("sessions import -")).status, 0);
  EXPECT_EQ(other.run("sessions show --json session-1").output, rig.run("sessions show --json session-1").output);
  EXPECT_EQ(Json::parse(other.run("sessions list --json --tenant acme").output)["status"], "idle");
}

TEST(SessionsCommand, ReportsBadLinesWithTheirNumbers) {
  const CommandRig rig;
  const std::string file = (rig.folder() / "bad.jsonl").string();
  std::ofstream(file) << "{\"id\":\"good\"}\nnonsense\n{\"id\":\"good\"}\n{\"id\":\"also good\"}\n";
  const CommandResult imported = rig.run("sessions import " + file + " missing.json");
  EXPECT_EQ(imported.status, 1);
  EXPECT_EQ(imported.output, "good\nalso good\n");
  EXPECT_NE(imported.errors.find(file + ":2: "), std::string::npos) << imported.errors;
  EXPECT_NE(imported.errors.find(file + ":3: session 'good' exists already"), std::string::npos) << imported.errors;
  EXPECT_NE(imported.errors.find("missing.json: No such file"), std::string::npos) << imported.errors;
}

TEST(SessionsCommand, ListsInPages) {
  const CommandRig rig;
  const std::string file = (rig.folder() / "many.jsonl").string();
  std::ofstream out(file);
  for (int i = 0; i < 60; ++i) out << "{\"id\":\"s" << i << "\"}\n";
  out.close();
  EXPECT_EQ(rig.run("sessions import " + file).status, 0);
  const CommandResult first = rig.run("sessions list -n 10");
  EXPECT_EQ(lines_of(first.output).size(), 10U);
  EXPECT_NE(first.errors.find("--all"), std::string::npos);
  const CommandResult all = rig.run("sessions list -n 10 --all");
  EXPECT_EQ(lines_of(all.output).size(), 60U);
  EXPECT_EQ(all.errors, "");
}

TEST(SessionsCommand, UsesAStoreOfTheUserByDefault) {
  const CommandRig rig;
  const std::string line = "env -u ALLM_STORE XDG_DATA_HOME=" + (rig.folder() / "data").string() + " " + ALLM_COMMAND;
  EXPECT_EQ(rig.run_line(line + " sessions import " + kReference).status, 0);
  EXPECT_TRUE(std::filesystem::exists(rig.folder() / "data/allm/sessions.db"));
  EXPECT_EQ(lines_of(rig.run_line(line + " sessions list").output).size(), 1U);
}

TEST(SessionsCommand, WrongUsesAreExplained) {
  const CommandRig rig;
  EXPECT_EQ(rig.run("sessions").status, 2);
  EXPECT_EQ(rig.run("sessions submit").status, 2);
  EXPECT_EQ(rig.run("sessions list --status lost").status, 2);
  const CommandResult url = rig.run("sessions list --store redis://host");
  EXPECT_EQ(url.status, 1);
  EXPECT_NE(url.errors.find("valid URLs are memory:"), std::string::npos) << url.errors;
  EXPECT_EQ(rig.run("sessions follow nobody").status, 1);
  EXPECT_EQ(rig.run("sessions submit --session nobody hi").status, 1);
  EXPECT_EQ(rig.run("sessions submit --order '[1]'").status, 1);
}

}  // namespace
}  // namespace allm::testing::sessions_command_test
