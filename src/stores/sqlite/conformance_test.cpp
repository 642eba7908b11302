// The SQLite store keeps the promises of all stores.
#include <gtest/gtest.h>

#include "allm/store_conformance.hpp"

#include "stores/sqlite/store_fixture.hpp"

namespace allm::testing::sqlite_conformance_test {
namespace {

TEST(SqliteStoreConformance, KeepsThePromisesOfStores) {
  const TestFolder folder;
  const ConformanceReport report = check_store([&] { return open_store("sqlite:" + folder.file()); });
  EXPECT_TRUE(report.passed()) << report.summary();
}

}  // namespace
}  // namespace allm::testing::sqlite_conformance_test
