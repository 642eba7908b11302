// The small helpers of tools, requests, responses, results, models, events and sessions.
#include <limits>

#include <gtest/gtest.h>

#include "allm/event.hpp"
#include "allm/model.hpp"
#include "allm/request.hpp"
#include "allm/response.hpp"
#include "allm/result.hpp"
#include "allm/session.hpp"
#include "allm/tool.hpp"

#include "data/names.hpp"

namespace allm::values_test {
namespace {

TEST(ToolTest, OutcomesAreMadeByTheirHelpers) {
  EXPECT_EQ(ok({{"a", 1}}), ToolOutcome(ToolOk{{{"a", 1}}}));
  const ToolOutcome failed = failure("no");
  EXPECT_TRUE(std::get<ToolFailure>(failed).reported());
  EXPECT_EQ(std::get<Json>(std::get<ToolFailure>(failed).reason), "no");
  EXPECT_EQ(std::get<AskUser>(ask_user("sure?")).options, Json::object());
  EXPECT_EQ(std::get<Halt>(halt("done")).result, nullptr);
  EXPECT_EQ(std::get<Halt>(halt("done", 3)), (Halt{"done", 3}));
  EXPECT_NE(failed, ToolOutcome(ToolFailure{Error(ToolError{})}));
}

TEST(ToolTest, EightHaltReasonsAreReserved) {
  for (const char* reason :
       {"ask_user", "max_turns", "halt_when", "tool_error", "cancelled", "completed", "error", "manual_tool_calls"}) {
    EXPECT_TRUE(is_reserved_halt_reason(reason)) << reason;
  }
  EXPECT_FALSE(is_reserved_halt_reason("done"));
  EXPECT_FALSE(is_reserved_halt_reason(""));
  EXPECT_FALSE(is_reserved_halt_reason("errors"));
}

TEST(ToolTest, EqualityIgnoresHandlersOnly) {
  const Tool plain = tool({.name = "a"});
  EXPECT_EQ(plain, tool({.name = "a", .handler = [](const Json&) { return ok(1); }}));
  EXPECT_NE(plain, tool({.name = "b"}));
  EXPECT_NE(plain, tool({.name = "a", .description = "d"}));
  EXPECT_NE(plain, tool({.name = "a", .schema = {{"type", "object"}}}));
  EXPECT_NE(plain, tool({.name = "a", .manual = true}));
  EXPECT_NE(plain, tool({.name = "a", .compact = true}));
  EXPECT_NE(plain, tool({.name = "a", .summary = "s"}));
  EXPECT_NE(plain, tool({.name = "a", .validate_arguments = false}));
  EXPECT_NE(plain, tool({.name = "a", .timeout = std::chrono::milliseconds(1)}));
  EXPECT_NE(plain, tool({.name = "a", .metadata = {{"k", 1}}}));
  EXPECT_NE(plain, tool({.name = "a", .unknown_fields = {{"k", 1}}}));
}

TEST(ResponseFormatTest, JsonFormIsThatOfTheDesign) {
  EXPECT_EQ(ResponseFormat::text().json(), "text");
  EXPECT_EQ(ResponseFormat::json_object().json().dump(), R"({"type":"json_object"})");
  const ResponseFormat format = ResponseFormat::json_schema("answer", {{"type", "object"}});
  EXPECT_EQ(format.json().dump(), R"({"type":"json_schema","name":"answer","schema":{"type":"object"},"strict":true})");
  EXPECT_EQ(format.kind(), ResponseFormat::Kind::json_schema);
  EXPECT_EQ(ResponseFormat::from_json(format.json()), format);
}

TEST(ResponseFormatTest, ReadsTheKindFromJson) {
  using Kind = ResponseFormat::Kind;
  const auto kind = [](const char* json) { return ResponseFormat::from_json(Json::parse(json)).kind(); };
  EXPECT_EQ(kind(R"("text")"), Kind::text);
  EXPECT_EQ(kind(R"({"type":"json_object"})"), Kind::json_object);
  EXPECT_EQ(kind(R"({"type":"json_object","x":1})"), Kind::provider);
  EXPECT_EQ(kind(R"({"type":"json_schema","name":"a","schema":{},"strict":false})"), Kind::json_schema);
  EXPECT_EQ(kind(R"({"type":"json_schema","name":"a","schema":{}})"), Kind::provider);
  EXPECT_EQ(kind(R"({"type":"json_schema","name":1,"schema":{},"strict":false})"), Kind::provider);
  EXPECT_EQ(kind(R"({"type":5})"), Kind::provider);
  EXPECT_EQ(kind("{}"), Kind::provider);
  for (const char* bad : {"5", "null", "[]", R"("json_object")", "true"}) EXPECT_EQ(kind(bad), Kind::invalid) << bad;
}

TEST(ToolChoiceTest, WordsNamesAndProviderShapesAreToldApart) {
  using Kind = ToolChoice::Kind;
  EXPECT_EQ(ToolChoice::from_json("auto"), ToolChoice::automatic());
  EXPECT_EQ(ToolChoice::from_json("none"), ToolChoice::none());
  EXPECT_EQ(ToolChoice::from_json("required"), ToolChoice::required());
  EXPECT_EQ(ToolChoice::from_json("weather"), ToolChoice::tool("weather"));
  EXPECT_EQ(ToolChoice::from_json({{"type", "any"}}).kind(), Kind::provider);
  EXPECT_EQ(ToolChoice::tool("weather").json(), "weather");
}

TEST(UsageTest, TotalPrefersTheReportedOne) {
  EXPECT_EQ((Usage{.input_tokens = 1, .output_tokens = 2, .total_tokens = 9}.total()), 9);
  EXPECT_EQ((Usage{.input_tokens = 1, .output_tokens = 2}.total()), 3);
  EXPECT_EQ((Usage{.input_tokens = 1}.total()), std::nullopt);
}

TEST(UsageTest, SumKeepsUnreportedCountersNull) {
  Usage sum;
  sum += Usage{.input_tokens = 3, .input_cost = 0.5};
  sum += Usage{.input_tokens = 4, .output_tokens = 0};
  EXPECT_EQ(sum, (Usage{.input_tokens = 7, .output_tokens = 0, .input_cost = 0.5}));
}

TEST(UsageTest, SumAddsNumbersInMapsAndReplacesTheRest) {
  Usage sum{.tool_usage = {{"search", 1}, {"time", 0.5}}, .extra = {{"tier", "a"}, {"list", {1}}}};
  sum += Usage{.tool_usage = {{"search", 2}, {"time", 1}, {"new", 5}}, .extra = {{"tier", "b"}, {"list", 4}}};
  EXPECT_EQ(sum.tool_usage.dump(), R"({"search":3,"time":1.5,"new":5})");
  EXPECT_EQ(sum.extra.dump(), R"({"tier":"b","list":4})");
}

TEST(UsageTest, AbsurdCountsDoNotOverflow) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  Usage sum{.input_tokens = kMax, .extra = {{"n", kMax}}};
  sum += sum;
  EXPECT_EQ(sum.input_tokens, kMax);
  EXPECT_EQ(sum.extra["n"], kMax);
  EXPECT_EQ((Usage{.input_tokens = kMax, .output_tokens = 1}.total()), kMax);
  EXPECT_EQ((Usage{.input_tokens = -kMax, .output_tokens = -kMax}.total()), std::numeric_limits<std::int64_t>::min());
}

TEST(ResponseTest, TextIsOutputTextElseTheMessages) {
  EXPECT_EQ((Response{.message = assistant("m"), .output_text = "o"}.text()), "o");
  EXPECT_EQ((Response{.message = assistant("m")}.text()), "m");
  EXPECT_EQ((Response{.message = assistant(std::vector<Part>{TextPart{.text = "p"}})}.text()), "p");
  EXPECT_EQ((Response{.message = assistant(std::vector<Part>())}.text()), std::nullopt);
  EXPECT_EQ(Response().text(), std::nullopt);
}

TEST(ResponseTest, UnwrapGivesTheTextOfANormalEnd) {
  EXPECT_EQ(unwrap({.output_text = "hi", .finish_reason = FinishReason::stop}), "hi");
  EXPECT_EQ(unwrap({.output_text = "", .finish_reason = FinishReason::stop}), "");
}

TEST(ResponseTest, UnwrapGivesTheResponsesOwnError) {
  const Error error(AdapterError{.reason = AdapterError::Reason::rate_limited});
  const Result<std::string> text = unwrap({.output_text = "par", .finish_reason = FinishReason::error, .error = error});
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error(), error);
}

TEST(ResponseTest, UnwrapSaysHowElseTheResponseEnded) {
  for (const auto reason : {FinishReason::length, FinishReason::tool_calls, FinishReason::content_filter,
                            FinishReason::error, FinishReason::other}) {
    const Result<std::string> text = unwrap({.output_text = "x", .finish_reason = reason});
    ASSERT_FALSE(text.has_value());
    if (reason == FinishReason::content_filter) {
      EXPECT_TRUE(text.error().is<AdapterError>(AdapterError::Reason::content_filter));
    } else {
      EXPECT_TRUE(text.error().is<StreamError>(StreamError::Reason::adapter_error));
    }
    EXPECT_NE(text.error().message().find(to_string(reason)), std::string::npos) << text.error().message();
    EXPECT_EQ(text.error().metadata(), Json({{"finish_reason", to_string(reason)}}));
  }
  EXPECT_FALSE(unwrap(Response()).has_value());
  EXPECT_FALSE(unwrap({.finish_reason = FinishReason::stop}).has_value());
}

TEST(ChatResultTest, TextIsTheFinalAnswersOrEmpty) {
  EXPECT_EQ(ChatResult().text(), "");
  EXPECT_EQ((ChatResult{.final_response = Response{.output_text = "hi"}}.text()), "hi");
  EXPECT_EQ((ChatResult{.final_response = Response()}.text()), "");
}

TEST(CatalogueTest, FindsByIdAndProviderIfNamed) {
  ModelRef a("m");
  a.provider = "p1";
  ModelRef b("m");
  b.provider = "p2";
  const Catalogue catalogue({a, b});
  EXPECT_EQ(catalogue.find("m"), catalogue.models().data());
  EXPECT_EQ(catalogue.find(b), &catalogue.models()[1]);
  ModelRef other("m");
  other.provider = "p3";
  EXPECT_EQ(catalogue.find(other), nullptr);
  EXPECT_EQ(catalogue.find("x"), nullptr);
}

template <class Enum>
void expect_names_lead_back(int count) {
  EXPECT_EQ(static_cast<std::size_t>(count), EnumNames<Enum>::values.size());
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    EXPECT_EQ(enum_from_name<Enum>(enum_name(value)), value);
  }
  EXPECT_EQ(enum_from_name<Enum>("?"), std::nullopt);
}

TEST(NamesTest, LeadBackToTheEnumerators) {
  expect_names_lead_back<Role>(4);
  expect_names_lead_back<ImageDetail>(3);
  expect_names_lead_back<SessionStatus>(5);
  expect_names_lead_back<Mode>(2);
  expect_names_lead_back<FinishReason>(6);
  expect_names_lead_back<PromptCache::Retention>(2);
  expect_names_lead_back<EventTag>(18);
  EXPECT_EQ(finish_reason_from_string("content_filter"), FinishReason::content_filter);
  EXPECT_EQ(finish_reason_from_string("eos"), std::nullopt);
  EXPECT_EQ(to_string(SessionStatus::awaiting_tools), "awaiting_tools");
  EXPECT_EQ(to_string(Mode::automatic), "auto");
}

TEST(NamesTest, TagsOfEventsFollowTheirPayloads) {
  EXPECT_EQ(to_string(Event(MessageStarted{assistant("")}).tag()), "message_started");
  EXPECT_EQ(to_string(Event(ErrorEvent{Error(StreamError{})}).tag()), "error");
  EXPECT_EQ(to_string(Event(ToolHalt{"c0", "done", nullptr, ""}).tag()), "tool_halt");
  EXPECT_EQ(to_string(Event(ChatCompleted{}).tag()), "chat_completed");
}

}  // namespace
}  // namespace allm::values_test
