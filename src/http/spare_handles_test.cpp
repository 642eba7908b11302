#include "http/spare_handles.hpp"

#include <utility>

#include <gtest/gtest.h>

namespace allm {
namespace {

EasyHandle new_handle() { return {.url = nullptr, .easy = decltype(EasyHandle::easy)(curl_easy_init())}; }

TEST(SpareHandles, AreGivenToThoseWithTheSameSettings) {
  SpareHandles spares;
  EXPECT_FALSE(spares.take("a"));
  EasyHandle of_a = new_handle();
  EasyHandle of_b = new_handle();
  CURL* const a = of_a.easy.get();
  CURL* const b = of_b.easy.get();
  spares.keep(std::move(of_a), "a");
  spares.keep(std::move(of_b), "b");
  EXPECT_FALSE(spares.take("c"));
  of_a = spares.take("a");
  EXPECT_EQ(of_a.easy.get(), a);
  EXPECT_FALSE(spares.take("a"));
  EXPECT_EQ(spares.take("b").easy.get(), b);
  spares.keep(std::move(of_a), "b");
  EXPECT_EQ(spares.take("b").easy.get(), a);
}

TEST(SpareHandles, TheOneUsedLastComesFirst) {
  SpareHandles spares;
  EasyHandle first = new_handle();
  EasyHandle second = new_handle();
  CURL* const used_first = first.easy.get();
  CURL* const used_last = second.easy.get();
  spares.keep(std::move(first), "a");
  spares.keep(std::move(second), "a");
  EXPECT_EQ(spares.take("a").easy.get(), used_last);
  EXPECT_EQ(spares.take("a").easy.get(), used_first);
}

// What is not kept must be freed, and so must what is never taken; the leak checker of the ASan build tells.
TEST(SpareHandles, KeepNoMoreThanAFew) {
  SpareHandles spares;
  constexpr int kMany = 100;
  for (int i = 0; i < kMany; ++i) spares.keep(new_handle(), "a");
  // A new one is kept in any case: the old ones may be of a route that nobody uses any more.
  spares.keep(new_handle(), "b");
  EXPECT_TRUE(spares.take("b"));
  int kept = 0;
  while (spares.take("a")) ++kept;
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, kMany);
}

}  // namespace
}  // namespace allm
