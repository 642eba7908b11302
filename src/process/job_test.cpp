#include "process/job.hpp"

#include <string>

#include <gtest/gtest.h>

#include "process/heartbeat.hpp"

namespace allm::job_test {
namespace {

TEST(JobRequest, WhatTheKernelCannotRunIsRefused) {
  EXPECT_TRUE(check_size({.argv = {"echo", std::string(131'071, 'x')}}).has_value());
  const auto one = check_size({.argv = {"echo", std::string(131'072, 'x')}});
  ASSERT_FALSE(one.has_value());
  EXPECT_NE(one.error().find("131072"), std::string::npos) << one.error();
  const auto all = check_size({.argv = std::vector<std::string>(64, std::string(100'000, 'x'))});
  ASSERT_FALSE(all.has_value());
  EXPECT_NE(all.error().find("6400064"), std::string::npos) << all.error();
}

TEST(JobEnd, SaysThatTheSupervisorWasLost) {
  const JobEnd end{.id = 7, .signal = 9, .lost = "the process supervisor was stopped"};
  EXPECT_EQ(describe(end), "was ended: the process supervisor was stopped");
  EXPECT_EQ(describe(job_end_from(to_message(end))), describe(end));
}

TEST(Heartbeat, OnlyALongSilenceCounts) {
  Heartbeat heartbeat;
  for (int i = 0; i < Heartbeat::kMaxUnanswered; ++i) EXPECT_FALSE(heartbeat.is_silent());
  heartbeat.answered();
  for (int i = 0; i < Heartbeat::kMaxUnanswered; ++i) EXPECT_FALSE(heartbeat.is_silent());
  EXPECT_TRUE(heartbeat.is_silent());
}

}  // namespace
}  // namespace allm::job_test
