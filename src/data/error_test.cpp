#include "allm/error.hpp"

#include <gtest/gtest.h>

#include "allm/json.hpp"

namespace allm::error_test {
namespace {

template <class Reason>
void expect_names_lead_back(Reason last) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const auto reason = static_cast<Reason>(i);
    EXPECT_FALSE(to_string(reason).empty());
    EXPECT_EQ(reason_from_string<Reason>(to_string(reason)), reason);
  }
  EXPECT_EQ(reason_from_string<Reason>("no_such_reason"), std::nullopt);
  EXPECT_EQ(reason_from_string<Reason>(""), std::nullopt);
}

TEST(ErrorTest, NamesOfReasonsLeadBackToThem) {
  expect_names_lead_back(EngineError::Reason::over_budget);
  expect_names_lead_back(AdapterError::Reason::unknown);
  expect_names_lead_back(StreamError::Reason::unknown);
  expect_names_lead_back(ValidationError::Reason::invalid_scenario);
  expect_names_lead_back(ToolError::Reason::overloaded);
  expect_names_lead_back(SessionError::Reason::no_pending_tool_call);
  expect_names_lead_back(StoreError::Reason::future_version);
}

TEST(ErrorTest, NamesAreThoseOfTheEnumerators) {
  EXPECT_EQ(to_string(EngineError::Reason::unsupported_response_format), "unsupported_response_format");
  EXPECT_EQ(to_string(AdapterError::Reason::context_length_exceeded), "context_length_exceeded");
  EXPECT_EQ(to_string(StreamError::Reason::malformed_event), "malformed_event");
  EXPECT_EQ(to_string(ValidationError::Reason::unsupported_capability), "unsupported_capability");
  EXPECT_EQ(to_string(ToolError::Reason::invalid_arguments), "invalid_arguments");
  EXPECT_EQ(to_string(SessionError::Reason::invalid_status_for_operation), "invalid_status_for_operation");
}

TEST(ErrorTest, DefaultMessageIsKindNameAndReason) {
  EXPECT_EQ(Error(AdapterError{.reason = AdapterError::Reason::rate_limited}).message(), "adapter error: rate_limited");
  EXPECT_EQ(Error(AdapterError{.reason = AdapterError::Reason::timeout, .provider = "fake"}).message(),
            "adapter error (fake): timeout");
  EXPECT_EQ(Error(ToolError{.reason = ToolError::Reason::timeout, .tool_name = "slow", .tool_call_id = "c0"}).message(),
            "tool error (slow): timeout");
  EXPECT_EQ(Error(StreamError{.reason = StreamError::Reason::cancelled}).message(), "stream error: cancelled");
  EXPECT_EQ(Error(EngineError{.reason = EngineError::Reason::missing_key, .provider = "openai"}).message(),
            "engine error (openai): missing_key");
  EXPECT_EQ(Error(SessionError{.reason = SessionError::Reason::no_pending_tool_call}).message(),
            "session error: no_pending_tool_call");
}

TEST(ErrorTest, DefaultMessageOfAValidationErrorCountsTheErrors) {
  const FieldError field{{"a"}, "required"};
  EXPECT_EQ(Error(ValidationError{ValidationError::Reason::invalid_thread, {}}).message(),
            "validation error: invalid_thread (0 errors)");
  EXPECT_EQ(Error(ValidationError{ValidationError::Reason::invalid_thread, {field}}).message(),
            "validation error: invalid_thread (1 error)");
  EXPECT_EQ(Error(ValidationError{ValidationError::Reason::invalid_thread, {field, field}}).message(),
            "validation error: invalid_thread (2 errors)");
}

TEST(ErrorTest, MissingMetadataIsAnEmptyObjectAndMissingCauseNull) {
  const Error plain(SessionError{}, "text");
  EXPECT_EQ(plain.message(), "text");
  EXPECT_EQ(plain.metadata(), Json::object());
  EXPECT_TRUE(plain.reported_cause().is_null());
  EXPECT_EQ(Error(SessionError{}, "text", nullptr).metadata(), Json::object());
  const Error full(SessionError{}, "text", {{"a", 1}}, "why");
  EXPECT_EQ(full.metadata(), Json({{"a", 1}}));
  EXPECT_EQ(full.reported_cause(), "why");
}

TEST(ErrorTest, KindReasonAndDetailAgree) {
  const Error error(ToolError{.reason = ToolError::Reason::handler_exit, .tool_name = "x"});
  EXPECT_EQ(error.kind(), "ToolError");
  EXPECT_EQ(error.reason(), "handler_exit");
  ASSERT_NE(error.get_if<ToolError>(), nullptr);
  EXPECT_EQ(error.get_if<ToolError>()->tool_name, "x");
  EXPECT_EQ(error.get_if<EngineError>(), nullptr);
  EXPECT_TRUE(error.is<ToolError>(ToolError::Reason::handler_exit));
  EXPECT_FALSE(error.is<ToolError>(ToolError::Reason::timeout));
  EXPECT_FALSE(error.is<StreamError>(StreamError::Reason::timeout));
}

TEST(ErrorTest, EqualityLooksAtEveryField) {
  const AdapterError detail{
      .reason = AdapterError::Reason::timeout, .provider = "p", .status = 504, .retry_after_ms = 10, .request_id = "r"};
  const Error error(detail, "m", {{"k", 1}}, "c");
  EXPECT_EQ(error, Error(detail, "m", {{"k", 1}}, "c"));
  EXPECT_EQ(error, Error(error));
  EXPECT_NE(error, Error(detail, "n", {{"k", 1}}, "c"));
  EXPECT_NE(error, Error(detail, "m", {{"k", 2}}, "c"));
  EXPECT_NE(error, Error(detail, "m", {{"k", 1}}, "d"));
  AdapterError other = detail;
  other.status = 500;
  EXPECT_NE(error, Error(other, "m", {{"k", 1}}, "c"));
  other = detail;
  other.retry_after_ms.reset();
  EXPECT_NE(error, Error(other, "m", {{"k", 1}}, "c"));
  other = detail;
  other.request_id = "q";
  EXPECT_NE(error, Error(other, "m", {{"k", 1}}, "c"));
  EXPECT_NE(Error(StreamError{.reason = StreamError::Reason::timeout}, "m"),
            Error(ToolError{.reason = ToolError::Reason::timeout}, "m"));
  EXPECT_NE(Error(ValidationError{.errors = {{{"a"}, "x"}}}, "m"),
            Error(ValidationError{.errors = {{{"a"}, "y"}}}, "m"));
}

TEST(ErrorTest, PathsReadLikeCode) {
  EXPECT_EQ(to_string(Path{"messages", 1, "tool_call_id"}), "messages[1].tool_call_id");
  EXPECT_EQ(to_string(Path{"a", 0, 2, "b", "c"}), "a[0][2].b.c");
  EXPECT_EQ(to_string(Path{3, "b"}), "[3].b");
  EXPECT_EQ(to_string(Path{}), "");
}

TEST(ErrorTest, ValidationErrorAboutOneFieldNamesIt) {
  const Error error = validation_error(ValidationError::Reason::invalid_option, {"max_turns"}, "must_be_positive");
  ASSERT_NE(error.get_if<ValidationError>(), nullptr);
  EXPECT_EQ(error.reason(), "invalid_option");
  EXPECT_EQ(error.get_if<ValidationError>()->errors, (std::vector<FieldError>{{{"max_turns"}, "must_be_positive"}}));
  EXPECT_EQ(error.message(), "invalid option: max_turns must be a positive integer");
  EXPECT_EQ(validation_error(ValidationError::Reason::invalid_option, {"x"}, "odd").message(),
            "invalid option: x: odd");
  EXPECT_EQ(validation_error(ValidationError::Reason::invalid_option, {"x"}, "odd", "say so").message(), "say so");
}

}  // namespace
}  // namespace allm::error_test
