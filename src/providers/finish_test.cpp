// The finish reason of a message with calls, for every provider, streamed and whole.
#include "providers/finish.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/transcript_fixture.hpp"
#include "tests/wire_answers.hpp"

namespace allm::finish_test {
namespace {

using testing::WireFormat;

constexpr const char* kArguments = R"({"a":1})";

Response streamed(const WireFormat& format, const std::string& arguments, const std::string& word) {
  return folded(decoded_in_every_way(*format.codec, call_for(format), testing::kStreamHead,
                                     streamed_call(format, arguments, word)));
}
Response whole(const WireFormat& format, const std::string& word) {
  return folded(
      decoded_in_every_way(*format.codec, call_for(format), testing::kWholeHead, format.whole(kArguments, word)));
}

void expect_call(const Response& response, const char* raw) {
  EXPECT_EQ(response.finish_reason, FinishReason::tool_calls);
  EXPECT_EQ(response.raw_finish_reason.value_or("none"), raw);
  ASSERT_EQ(response.tool_calls.size(), 1U);
  EXPECT_EQ(response.tool_calls[0].arguments, Json({{"a", 1}}));
}

TEST(Finish, CompleteCallsAndAnUnexpectedReasonMeanToolCalls) {
  for (const WireFormat& format : testing::wire_formats()) {
    SCOPED_TRACE(format.name);
    for (const char* word : {"FUNCTION_CALL", "tool_use_now", "abort"}) {
      SCOPED_TRACE(word);
      expect_call(streamed(format, kArguments, word), word);
      expect_call(whole(format, word), word);
    }
  }
}

TEST(Finish, TheExpectedReasonOfCallsIsNotKept) {
  for (const WireFormat& format : testing::wire_formats()) {
    SCOPED_TRACE(format.name);
    expect_call(streamed(format, kArguments, format.calls_word), "none");
    expect_call(whole(format, format.calls_word), "none");
  }
}

TEST(Finish, CompleteCallsAndTheReasonOfATextMeanToolCalls) {
  for (const WireFormat& format : testing::wire_formats()) {
    SCOPED_TRACE(format.name);
    const bool is_usual = std::string_view(format.calls_word) == format.stop_word;
    expect_call(streamed(format, kArguments, format.stop_word), is_usual ? "none" : format.stop_word);
    expect_call(whole(format, format.stop_word), is_usual ? "none" : format.stop_word);
  }
}

TEST(Finish, CallsOfAMessageThatWasCutOffOrFilteredAreNotRun) {
  for (const WireFormat& format : testing::wire_formats()) {
    SCOPED_TRACE(format.name);
    EXPECT_EQ(streamed(format, kArguments, format.length_word).finish_reason, FinishReason::length);
    EXPECT_EQ(streamed(format, kArguments, format.filter_word).finish_reason, FinishReason::content_filter);
    EXPECT_EQ(whole(format, format.length_word).finish_reason, FinishReason::length);
    EXPECT_EQ(whole(format, format.filter_word).finish_reason, FinishReason::content_filter);
  }
}

TEST(Finish, AnUnknownReasonAndArgumentsThatWereCutOffAreNotToolCalls) {
  for (const WireFormat& format : testing::wire_formats()) {
    if (!format.streams_arguments) continue;
    SCOPED_TRACE(format.name);
    const Response response = streamed(format, R"({"a":)", "abort");
    EXPECT_EQ(response.finish_reason, FinishReason::other);
    EXPECT_EQ(response.raw_finish_reason, "abort");
    EXPECT_EQ(streamed(format, R"({"a":)", format.stop_word).finish_reason, FinishReason::tool_calls)
        << "the model is told about its mistake";
  }
}

TEST(Finish, GeminisErrorsStayErrors) {
  const WireFormat gemini = testing::wire_formats().back();
  EXPECT_EQ(streamed(gemini, kArguments, "MALFORMED_FUNCTION_CALL").finish_reason, FinishReason::error);
}

}  // namespace
}  // namespace allm::finish_test
