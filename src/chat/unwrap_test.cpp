// Answers as text or structs, and the errors if there is no answer.
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"
#include "allm/serialize.hpp"

namespace allm::unwrap_test {
namespace {

const FakeEntry kStop = fake_finish(FinishReason::stop);
const FakeCallScript kCall = {fake_tool_call("c0", "tool"), fake_finish(FinishReason::tool_calls)};

Engine engine_with(FakeScript script, Tool tool = {.name = "tool", .handler = [](const Json&) { return ok(1); }}) {
  return Engine({.adapter = fake(std::move(script)), .tools = {std::move(tool)}});
}

TEST(Ask, GivesTheAnswersText) {
  EXPECT_EQ(ask(engine_with({{fake_text("hello"), kStop}}), "hi"), "hello");
  EXPECT_EQ(ask(engine_with({kCall, {fake_text("one"), kStop}}), "hi"), "one");
}

TEST(Ask, FailsLikeTheRun) {
  const auto refused = ask(engine_with({{fake_preflight_error(AdapterError::Reason::authentication_failed)}}), "hi");
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is<AdapterError>(AdapterError::Reason::authentication_failed));
  const auto later = ask(engine_with({kCall, {fake_error(AdapterError::Reason::invalid_request)}}), "hi");
  ASSERT_FALSE(later.has_value());
  EXPECT_TRUE(later.error().is<AdapterError>(AdapterError::Reason::invalid_request)) << later.error().message();
  const auto wrong = ask(engine_with({{kStop}}), "hi", {.max_turns = 0});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_TRUE(wrong.error().is<ValidationError>(ValidationError::Reason::invalid_option));
}

TEST(Unwrap, FailsWithTheReasonWhyARunHasNoAnswer) {
  struct Case {
    Tool tool;
    CallOptions options;
    std::string halted;
    std::string message;
  };
  const auto handled = [](auto handler) { return Tool{.name = "tool", .handler = handler}; };
  const std::vector<Case> cases = {
      {handled([](const Json&) { return ask_user("Which one?"); }), {}, "ask_user", "Which one?"},
      {{.name = "tool", .manual = true}, {}, "manual_tool_calls", "wait for the program"},
      {handled([](const Json&) { return ok(1); }), {.max_turns = 1}, "max_turns", "limit max_turns"},
      {handled([](const Json&) { return ok(1); }),
       {.halt_when = [](const StepResult&) { return true; }},
       "halt_when",
       "halt_when"},
      {handled([](const Json&) { return halt("enough", 5); }), {}, "enough", "\"enough\""},
      {handled([](const Json&) { return failure("no"); }),
       {.on_tool_error = ToolErrorAction::halt},
       "tool_error",
       "a tool failed"},
  };
  for (const Case& each : cases) {
    const auto text = ask(engine_with({kCall}, each.tool), "hi", each.options);
    ASSERT_FALSE(text.has_value()) << each.halted;
    EXPECT_TRUE(text.error().is<SessionError>(SessionError::Reason::invalid_status_for_operation)) << each.halted;
    EXPECT_EQ(text.error().metadata().at("halted_reason"), each.halted);
    EXPECT_NE(text.error().message().find(each.message), std::string::npos) << text.error().message();
  }
  std::stop_source stop;
  stop.request_stop();
  const auto cancelled = ask(engine_with({kCall}), "hi", {.cancel = {.now = stop.get_token()}});
  ASSERT_FALSE(cancelled.has_value());
  EXPECT_TRUE(cancelled.error().is<StreamError>(StreamError::Reason::cancelled));
}

TEST(Unwrap, RefusesATruncatedAnswer) {
  const auto cut = chat(engine_with({{fake_text("half an ans"), fake_finish(FinishReason::length)}}), {user("hi")});
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(cut->halted_reason(), halted::completed);
  EXPECT_EQ(cut->text(), "half an ans");
  EXPECT_EQ(cut->metadata, Json::object());
  const auto text = unwrap(*cut);
  ASSERT_FALSE(text.has_value());
  EXPECT_TRUE(text.error().is<StreamError>(StreamError::Reason::adapter_error));
  EXPECT_EQ(text.error().metadata().at("finish_reason"), "length");
  EXPECT_NE(text.error().message().find("max_tokens"), std::string::npos) << text.error().message();

  const auto filtered = ask(engine_with({{fake_text("x"), fake_finish(FinishReason::content_filter)}}), "hi");
  ASSERT_FALSE(filtered.has_value());
  EXPECT_TRUE(filtered.error().is<AdapterError>(AdapterError::Reason::content_filter));
}

TEST(Unwrap, CallsThatWereDroppedAreListed) {
  const FakeCallScript cut = {fake_text("I will"), fake_tool_call("c0", "tool", {{"n", 1}}),
                              fake_finish(FinishReason::length)};
  const auto result = chat(engine_with({cut}), {user("hi")});
  ASSERT_TRUE(result.has_value());
  const Json& dropped = result->metadata.at("dropped_tool_calls");
  ASSERT_EQ(dropped.size(), 1U);
  const auto call = from_json_value<ToolCall>(dropped[0]);
  ASSERT_TRUE(call.has_value());
  EXPECT_EQ(*call, result->final_response->tool_calls.at(0));
  EXPECT_TRUE(result->thread.messages.back().tool_calls.empty());
  const auto text = unwrap(*result);
  ASSERT_FALSE(text.has_value());
  EXPECT_TRUE(text.error().metadata().contains("dropped_tool_calls"));
  const auto broken =
      chat(engine_with({{fake_tool_call("c0", "tool"), fake_error(AdapterError::Reason::timeout)}}), {user("hi")});
  ASSERT_TRUE(broken.has_value());
  EXPECT_EQ(broken->metadata.at("dropped_tool_calls").size(), 1U);
}

struct Book {
  std::string title;
  int year = 0;
  static Fields<Book> describe() { return {field("title", &Book::title), field("year", &Book::year).minimum(0)}; }
};

Result<ChatResult> answered(std::string text) {
  return chat(engine_with({{fake_text(std::move(text)), kStop}}), {user("hi")});
}

TEST(As, ReadsTheAnswerIntoAStruct) {
  const auto result = answered(R"({"title":"Faust","year":1808})");
  const Result<Book> book = result->as<Book>();
  ASSERT_TRUE(book.has_value()) << book.error().message();
  EXPECT_EQ(book->title, "Faust");
  EXPECT_EQ(book->year, 1808);
  EXPECT_EQ(result->final_response->as<Book>()->year, 1808);
}

TEST(As, NamesAllErrors) {
  const Result<Book> book = answered(R"({"year":-1,"pages":3})")->as<Book>();
  ASSERT_FALSE(book.has_value());
  EXPECT_TRUE(book.error().is<ValidationError>(ValidationError::Reason::invalid_request));
  EXPECT_EQ(book.error().get_if<ValidationError>()->errors.size(), 3U) << book.error().message();
  const Result<Book> prose = answered("Faust, 1808")->as<Book>();
  ASSERT_FALSE(prose.has_value());
  EXPECT_TRUE(prose.error().is<ValidationError>(ValidationError::Reason::invalid_request));
  const auto cut = chat(engine_with({{fake_text("{}"), fake_finish(FinishReason::length)}}), {user("hi")});
  EXPECT_FALSE(cut->as<Book>().has_value());
  EXPECT_TRUE(cut->as<Book>().error().is<StreamError>(StreamError::Reason::adapter_error));
}

}  // namespace
}  // namespace allm::unwrap_test
