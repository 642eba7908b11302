#include "http/spare_handles.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace allm::spare_handles_test {
namespace {

// Keeps a new handle and returns it, to compare with.
CURL* keep_new(SpareHandles& spares, std::string settings) {
  EasyHandle handle{.url = nullptr, .easy = decltype(EasyHandle::easy)(curl_easy_init())};
  CURL* const easy = handle.easy.get();
  spares.keep(std::move(handle), std::move(settings));
  return easy;
}

TEST(SpareHandles, AreReusedForTheSameSettings) {
  SpareHandles spares;
  EXPECT_FALSE(spares.take("a"));
  CURL* const of_a = keep_new(spares, "a");
  CURL* const of_b = keep_new(spares, "b");
  EXPECT_FALSE(spares.take("c"));
  EasyHandle taken = spares.take("a");
  EXPECT_EQ(taken.easy.get(), of_a);
  EXPECT_FALSE(spares.take("a"));
  EXPECT_EQ(spares.take("b").easy.get(), of_b);
  spares.keep(std::move(taken), "b");
  EXPECT_EQ(spares.take("b").easy.get(), of_a);
}

TEST(SpareHandles, TheOneUsedLastComesFirst) {
  SpareHandles spares;
  CURL* const first = keep_new(spares, "a");
  CURL* const last = keep_new(spares, "a");
  EXPECT_EQ(spares.take("a").easy.get(), last);
  EXPECT_EQ(spares.take("a").easy.get(), first);
}

// Handles that are not kept or never taken must be freed; the leak checker of the ASan build reports those that are
// not.
TEST(SpareHandles, KeepNoMoreThanAFew) {
  SpareHandles spares;
  constexpr int kMany = 100;
  for (int i = 0; i < kMany; ++i) keep_new(spares, "a");
  // A new handle is always kept: the old ones may be for a route that is no longer used.
  keep_new(spares, "b");
  EXPECT_TRUE(spares.take("b"));
  int kept = 0;
  while (spares.take("a")) ++kept;
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, kMany);
}

TEST(SpareHandles, CopiesAreOnesOwn) {
  SpareHandles spares;
  EXPECT_FALSE(spares.copy("a"));
  {
    const EasyHandle handle{.url = nullptr, .easy = decltype(EasyHandle::easy)(curl_easy_init())};
    spares.keep_copy(handle, "a");
  }
  const EasyHandle first = spares.copy("a");
  const EasyHandle second = spares.copy("a");
  ASSERT_TRUE(first && second);
  EXPECT_NE(first.easy, second.easy);
  EXPECT_FALSE(spares.copy("b"));
  EXPECT_TRUE(spares.take("a")) << "what is copied stays";
}

}  // namespace
}  // namespace allm::spare_handles_test
