#include "http/spare_handles.hpp"

#include <gtest/gtest.h>

namespace allm {
namespace {

TEST(SpareHandles, AreGivenToThoseWithTheSameSettings) {
  SpareHandles spares;
  EXPECT_EQ(spares.take("a"), nullptr);
  CURL* const of_a = curl_easy_init();
  CURL* const of_b = curl_easy_init();
  spares.keep(of_a, "a");
  spares.keep(of_b, "b");
  EXPECT_EQ(spares.take("c"), nullptr);
  EXPECT_EQ(spares.take("a"), of_a);
  EXPECT_EQ(spares.take("a"), nullptr);
  EXPECT_EQ(spares.take("b"), of_b);
  spares.keep(of_a, "b");
  EXPECT_EQ(spares.take("b"), of_a);
  curl_easy_cleanup(of_a);
  curl_easy_cleanup(of_b);
}

TEST(SpareHandles, TheOneUsedLastComesFirst) {
  SpareHandles spares;
  CURL* const first = curl_easy_init();
  CURL* const second = curl_easy_init();
  spares.keep(first, "a");
  spares.keep(second, "a");
  EXPECT_EQ(spares.take("a"), second);
  EXPECT_EQ(spares.take("a"), first);
  curl_easy_cleanup(first);
  curl_easy_cleanup(second);
}

// What is not kept must be freed, and so must what is never taken; the leak checker of the ASan build tells.
TEST(SpareHandles, KeepNoMoreThanAFew) {
  SpareHandles spares;
  constexpr int kMany = 100;
  for (int i = 0; i < kMany; ++i) spares.keep(curl_easy_init(), "a");
  // A new one is kept in any case: the old ones may be of a route that nobody uses any more.
  CURL* const of_b = curl_easy_init();
  spares.keep(of_b, "b");
  EXPECT_EQ(spares.take("b"), of_b);
  curl_easy_cleanup(of_b);
  int kept = 0;
  while (CURL* const easy = spares.take("a")) {
    curl_easy_cleanup(easy);
    ++kept;
  }
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, kMany);
}

}  // namespace
}  // namespace allm
