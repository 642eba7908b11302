#include "runtime/pace.hpp"

#include <gtest/gtest.h>

namespace allm::pace_test {
namespace {

using std::chrono::microseconds;

constexpr microseconds kSoon{100};

TEST(Pace, IsPatientAfterSeveralThatCameSoon) {
  Pace pace(kSoon);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(pace.patience(), microseconds::zero()) << i;
    pace.note(kSoon);
  }
  EXPECT_EQ(pace.patience(), kSoon);
  pace.note(microseconds(1));
  EXPECT_EQ(pace.patience(), kSoon);
}

TEST(Pace, OneThatCameLateEndsThePatience) {
  Pace pace(kSoon);
  for (int i = 0; i < 100; ++i) pace.note(microseconds(1));
  pace.note(kSoon + std::chrono::nanoseconds(1));
  EXPECT_EQ(pace.patience(), microseconds::zero());
  for (int i = 0; i < 3; ++i) pace.note(microseconds(1));
  EXPECT_EQ(pace.patience(), microseconds::zero());
  pace.note(microseconds(1));
  EXPECT_EQ(pace.patience(), kSoon);
}

}  // namespace
}  // namespace allm::pace_test
