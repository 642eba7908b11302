#include "allm/trace.hpp"

#include <string>

#include <gtest/gtest.h>

namespace allm::trace_test {
namespace {

const std::string kText = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceParent, SurvivesItsTextForm) {
  const auto parent = parse_traceparent(kText);
  ASSERT_TRUE(parent.has_value());
  EXPECT_EQ(to_hex(parent->trace_id), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(to_hex(parent->span_id), "00f067aa0ba902b7");
  EXPECT_TRUE(parent->sampled);
  EXPECT_EQ(to_string(*parent), kText);
}

TEST(TraceParent, KeepsOnlyTheFlagThatItKnows) {
  const auto parent = parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fe");
  ASSERT_TRUE(parent.has_value());
  EXPECT_FALSE(parent->sampled);
  EXPECT_EQ(to_string(*parent), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
}

TEST(TraceParent, OfALaterVersionIsReadAsFarAsItIsKnown) {
  for (const char* text : {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                           "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes-later"}) {
    const auto parent = parse_traceparent(text);
    ASSERT_TRUE(parent.has_value()) << text;
    EXPECT_EQ(to_string(*parent), kText);
  }
}

TEST(TraceParent, ThatIsMalformedIsAnInvalidOption) {
  for (const char* text : {
           "",
           "00",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
           "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01",
           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more",
           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
           " 0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
       }) {
    const auto parent = parse_traceparent(text);
    ASSERT_FALSE(parent.has_value()) << text;
    const auto* invalid = parent.error().get_if<ValidationError>();
    ASSERT_NE(invalid, nullptr);
    EXPECT_EQ(invalid->reason, ValidationError::Reason::invalid_option);
    EXPECT_EQ(parent.error().message().rfind("invalid option: traceparent ", 0), 0U);
  }
}

}  // namespace
}  // namespace allm::trace_test
