#include "allm/session_export.hpp"

#include <fstream>
#include <memory>
#include <sstream>

#include <gtest/gtest.h>

#include "allm/serialize.hpp"
#include "allm/work_queue.hpp"

namespace allm::testing::session_export_test {
namespace {

std::shared_ptr<Store> memory_store() { return *open_store("memory:"); }

std::string exported(SessionStore& store, const SessionQuery& query = {}) {
  // [export]
  std::string lines;
  const auto report = allm::export_sessions(store, query, [&](std::string_view line) {
    lines += std::string(line) + "\n";
    return true;
  });
  // [/export]
  EXPECT_TRUE(report && report->failures.empty());
  return lines;
}

TEST(SessionExport, SessionsAreEqualInAnotherStore) {
  const auto store = memory_store();
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(store->create(
        {.session = {.thread = Thread({user("line\nbreak " + std::to_string(i))}), .context = {{"number", i}}},
         .tenant = "t" + std::to_string(i % 2)}));
  }
  const auto other = memory_store();
  // [import]
  const std::string lines = exported(*store, {.limit = 2});
  const allm::ImportReport report = allm::import_sessions(*other, lines);
  for (const allm::ImportFailure& failure : report.failures) {
    std::cerr << "line " << failure.line << ": " << failure.error.message() << "\n";
  }
  // [/import]
  ASSERT_EQ(report.imported.size(), 7U);
  EXPECT_TRUE(report.complete && report.failures.empty());
  for (const std::string& id : report.imported) {
    const auto before = store->load(id);
    const auto after = other->load(id);
    ASSERT_TRUE(before && after);
    EXPECT_EQ(before->session, after->session);
    EXPECT_EQ(before->tenant, after->tenant);
  }
}

TEST(SessionExport, ASessionThatChangesMeanwhileIsExportedOnce) {
  const auto store = memory_store();
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(store->create({.session = {.id = std::to_string(i)}}));
  std::string ids;
  const auto report = export_sessions(*store, {.limit = 2}, [&](std::string_view line) {
    ids += from_json_value<Session>(parse_json(line)->at("session"))->id.value();
    // After the first line, 0 (not yet exported) and 5 (exported) move to the front.
    if (ids.size() == 1) {
      EXPECT_TRUE(store->commit({.session_id = "0", .session = Session{}}));
      EXPECT_TRUE(store->commit({.session_id = "5", .session = Session{}}));
    }
    return true;
  });
  ASSERT_TRUE(report);
  EXPECT_EQ(report->exported, 6U);
  std::ranges::sort(ids);
  EXPECT_EQ(ids, "012345");
}

TEST(SessionExport, TheSinkCanStop) {
  const auto store = memory_store();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->create({}));
  const auto report = export_sessions(*store, {}, [](std::string_view) { return false; });
  ASSERT_TRUE(report);
  EXPECT_EQ(report->exported, 0U);
}

TEST(SessionImport, BadLinesAreReportedAndNothingElseIsLost) {
  const auto store = memory_store();
  const std::string text = R"({"allm_export":1,"session":{"id":"a"},"tenant":"x"})"
                           "\n\nnonsense\n"
                           R"({"allm_export":2,"session":{"id":"b"}})"
                           "\n[1]\n"
                           R"({"allm_export":1})"
                           "\n"
                           R"({"id":"a"})"
                           "\r\n"
                           R"({"allm_export":1,"session":{"id":"c"},"tenant":7})"
                           "\n"
                           R"({"id":"d","metadata":{"allm.run":{"version":2},"kept":1}})";
  const ImportReport report = import_sessions(*store, text);
  EXPECT_EQ(report.imported, (std::vector<std::string>{"a", "d"}));
  std::vector<std::size_t> lines;
  for (const ImportFailure& failure : report.failures) lines.push_back(failure.line);
  EXPECT_EQ(lines, (std::vector<std::size_t>{3, 4, 5, 6, 7, 8}));
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(store->load("a")->tenant, "x");
  EXPECT_EQ(store->load("d")->session.metadata, Json({{"kept", 1}}));  // a run of another store cannot be resumed
}

TEST(SessionImport, ReplacesOnlyOnRequest) {
  const auto store = memory_store();
  ASSERT_TRUE(store->create({.session = {.id = "a", .thread = Thread({user("old")})}, .tenant = "t"}));
  const std::string line = *to_json(Session{.id = "a", .thread = Thread({user("new")})});
  EXPECT_TRUE(import_sessions(*store, line).failures.at(0).error.is<StoreError>(StoreError::Reason::already_exists));
  EXPECT_EQ(store->load("a")->session.thread.messages[0].text(), "old");
  EXPECT_EQ(import_sessions(*store, line, {.replace = true}).imported, std::vector<std::string>{"a"});
  EXPECT_EQ(store->load("a")->session.thread.messages[0].text(), "new");
  EXPECT_EQ(store->load("a")->version, 2);
}

TEST(SessionImport, ReadsSessionsOfOtherProgramsAndPrettyPrintedOnes) {
  std::ifstream file(ALLM_SOURCE_DIR "/tests/data/session200.json", std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  const auto store = memory_store();
  ASSERT_EQ(import_sessions(*store, text.str(), {.tenant = "t"}).imported, std::vector<std::string>{"session-1"});
  EXPECT_EQ(store->load("session-1")->session, *from_json<Session>(text.str()));
  EXPECT_EQ(store->load("session-1")->tenant, "t");
  EXPECT_EQ(store->load("session-1")->session.thread.messages.size(), 200U);

  const auto other = memory_store();
  ASSERT_EQ(import_sessions(*other, parse_json(text.str())->dump(2)).imported, std::vector<std::string>{"session-1"});
  EXPECT_EQ(other->load("session-1")->session, store->load("session-1")->session);
}

}  // namespace
}  // namespace allm::testing::session_export_test
