#include "stores/memory/memory_store.hpp"

#include <gtest/gtest.h>

#include "allm/store_conformance.hpp"

namespace allm::testing::memory_store_test {
namespace {

TEST(MemoryStore, KeepsThePromisesOfStores) {
  // [conformance-store]
  const auto store = std::make_shared<MemoryStore>();  // yours
  const allm::ConformanceReport report =
      allm::check_store([&]() -> allm::Result<std::shared_ptr<allm::Store>> { return store; });
  EXPECT_TRUE(report.passed()) << report.summary();
  // [/conformance-store]
}

TEST(MemoryStore, EachUrlOpensAStoreOfItsOwn) {
  const auto first = open_store("memory:");
  const auto second = open_store("memory:");
  ASSERT_TRUE(first && second);
  ASSERT_TRUE((*first)->create({.session = {.id = "s"}}));
  EXPECT_FALSE((*second)->load("s"));
}

TEST(OpenStore, AnUnknownUrlIsRefusedWithTheValidOnes) {
  for (const char* url : {"", "memory", "redis://user:secret@host/0"}) {
    const auto opened = open_store(url);
    ASSERT_FALSE(opened);
    EXPECT_TRUE(opened.error().is<StoreError>(StoreError::Reason::invalid_url));
    EXPECT_NE(opened.error().message().find("memory:"), std::string::npos) << opened.error().message();
    EXPECT_EQ(opened.error().message().find("secret"), std::string::npos) << opened.error().message();
  }
}

}  // namespace
}  // namespace allm::testing::memory_store_test
