// Handlers, executors and contexts without a run around them.
#include "allm/executor.hpp"

#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/engine.hpp"
#include "allm/serialize.hpp"
#include "allm/tool_runner.hpp"

#include "runtime/test_waits.hpp"

namespace allm::executor_test {
namespace {

using testing::Gate;

Handler answering(const std::string& text) {
  return [text](const Json&) { return ok(text); };
}

ToolError::Reason reason_of(const ToolOutcome& outcome) {
  return std::get<Error>(std::get<ToolFailure>(outcome).reason).get_if<ToolError>()->reason;
}

TEST(DefaultToolExecutor, FindsTheHandlersOfToolsThatArePureData) {
  DefaultToolExecutor executor({{"get_weather", answering("sunny")}, {"empty", Handler()}});
  const auto context = ToolContext::for_testing({.tool = "get_weather"});
  EXPECT_EQ(execute_and_wait(executor, {.name = "get_weather"}, Json::object(), context), ok("sunny"));
  EXPECT_EQ(reason_of(execute_and_wait(executor, {.name = "other"}, Json::object(), context)),
            ToolError::Reason::not_found);
  EXPECT_EQ(reason_of(execute_and_wait(executor, {.name = "empty"}, Json::object(), context)),
            ToolError::Reason::not_found);
}

TEST(DefaultToolExecutor, PrefersTheHandlerOfTheToolItself) {
  DefaultToolExecutor executor({{"t", answering("by name")}});
  const Tool tool{.name = "t", .handler = answering("its own")};
  EXPECT_EQ(execute_and_wait(executor, tool, Json::object(), ToolContext::for_testing()), ok("its own"));
}

TEST(DefaultToolExecutor, RunsToolsOfPureDataInARun) {
  const auto executor = std::make_shared<DefaultToolExecutor>(Handlers{{"get_weather", answering("sunny")}});
  const auto batch = run_tool_calls({{.id = "a", .name = "get_weather"}, {.id = "b", .name = "none"}},
                                    {{.name = "get_weather"}, {.name = "none"}}, {.tool_executor = executor});
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->messages[0].text(), "sunny");
  EXPECT_EQ(Json::parse(batch->messages[1].text()).at("reason"), "not_found");
}

TEST(DefaultToolExecutor, AnswersExceptionsWithTheExceptionAsTheirCause) {
  DefaultToolExecutor executor;
  const Tool throws{.name = "t", .handler = [](const Json&) -> ToolOutcome { throw std::out_of_range("too far"); }};
  std::optional<ToolOutcome> seen;
  const ToolCompletion done([&](ToolOutcome outcome) {
    seen = std::move(outcome);
    return true;
  });
  EXPECT_NO_THROW(executor.execute(throws, Json::object(), ToolContext::for_testing({.tool = "t"}), done));
  ASSERT_TRUE(seen.has_value());
  const Error& error = std::get<Error>(std::get<ToolFailure>(*seen).reason);
  EXPECT_TRUE(error.is<ToolError>(ToolError::Reason::handler_raised));
  ASSERT_NE(error.cause(), nullptr);
  EXPECT_THROW(std::rethrow_exception(error.cause()), std::out_of_range);
}

TEST(ErrorCause, IsNeitherWrittenNorCompared) {
  const Error plain(ToolError{}, "m");
  const Error caused = plain.with_cause(std::make_exception_ptr(1));
  EXPECT_EQ(plain.cause(), nullptr);
  EXPECT_NE(caused.cause(), nullptr);
  EXPECT_EQ(plain, caused);
  EXPECT_EQ(to_json_value(plain), to_json_value(caused));
}

// An executor that sees the outcomes of another executor.
class Decorator : public ToolExecutor {
 public:
  void execute(const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) override {
    usual_.execute(tool, arguments, context, ToolCompletion([this, done](ToolOutcome outcome) {
                     seen = outcome;
                     return done(std::move(outcome));
                   }));
  }
  std::optional<ToolOutcome> seen;

 private:
  DefaultToolExecutor usual_;
};

TEST(DecoratingExecutor, SeesAnOutcomeForEveryCall) {
  Decorator executor;
  const auto context = ToolContext::for_testing({.tool = "t"});
  EXPECT_EQ(execute_and_wait(executor, {.name = "t", .handler = answering("yes")}, Json::object(), context), ok("yes"));
  EXPECT_EQ(executor.seen, ok("yes"));
  const Tool throws{.name = "t", .handler = [](const Json&) -> ToolOutcome { throw 1; }};
  execute_and_wait(executor, throws, Json::object(), context);
  EXPECT_EQ(reason_of(*executor.seen), ToolError::Reason::handler_raised);
}

TEST(DecoratingExecutor, ThatDropsItsCompletionFailsWithNoAnswer) {
  Decorator executor;
  const Tool silent{.name = "t", .handler = [](const Json&, ToolCompletion) {}};
  EXPECT_EQ(reason_of(execute_and_wait(executor, silent, Json::object(), ToolContext::for_testing({.tool = "t"}))),
            ToolError::Reason::invalid_return);
}

TEST(ToolCompletion, ThatWasMovedFromHasNoEffect) {
  ToolCompletion first([](const ToolOutcome&) { return true; });
  const ToolCompletion second = std::move(first);
  EXPECT_TRUE(second(ok(1)));
  EXPECT_FALSE(first(ok(1)));  // NOLINT(bugprone-use-after-move): this is what the test is about
}

TEST(ToolContext, ForTestingShowsItsOptions) {
  const Engine engine({.metadata = {{"e", 1}}});
  std::stop_source stop;
  std::vector<Json> progress;
  const auto deadline = std::chrono::steady_clock::now();
  const auto context = ToolContext::for_testing({.call = {.name = "own", .arguments = {{"a", 1}}},
                                                 .tool = "t",
                                                 .context = {{"user", "ann"}},
                                                 .engine = &engine,
                                                 .session_id = "s",
                                                 .deadline = deadline,
                                                 .stop_token = stop.get_token(),
                                                 .on_progress = [&](const Json& json) { progress.push_back(json); }});
  EXPECT_EQ(context.tool_call(), (ToolCall{.id = "call_1", .name = "own", .arguments = {{"a", 1}}}));
  EXPECT_EQ(context.context(), (Json{{"user", "ann"}}));
  EXPECT_EQ(context.engine().metadata(), (Json{{"e", 1}}));
  EXPECT_EQ(context.session_id(), "s");
  EXPECT_EQ(context.request_id(), "test");
  EXPECT_EQ(context.deadline(), deadline);
  context.report_progress("half");
  EXPECT_EQ(progress, std::vector<Json>{"half"});
  EXPECT_FALSE(context.stop_token().stop_requested());
  stop.request_stop();
  EXPECT_TRUE(context.stop_token().stop_requested());
}

TEST(ToolContext, CopiesOutliveHandlerAndRun) {
  Gate run_is_gone;
  std::optional<std::jthread> user;
  {
    const Engine engine({.context = {{"user", "ann"}}, .runtime = Runtime::create(), .metadata = {{"c", 3}}});
    const Tool tool{.name = "t", .handler = [&](const Json&, const ToolContext& context) {
                      user.emplace([&run_is_gone, copy = context] {
                        run_is_gone.wait();
                        EXPECT_EQ(copy.context().at("user"), "ann");
                        EXPECT_EQ(copy.tool_call().id, "c0");
                        EXPECT_EQ(copy.engine().metadata().at("c"), 3);
                        EXPECT_FALSE(copy.request_id().empty());
                        copy.report_progress("ignored");
                      });
                      return ok(1);
                    }};
    ASSERT_TRUE(run_tool_calls({{.id = "c0", .name = "t"}}, {tool}, {}, engine).has_value());
  }
  run_is_gone.open();
  user->join();
}

TEST(ToolContext, ThatWasMovedFromStillShowsItsCall) {
  ToolContext first = ToolContext::for_testing({.tool = "t"});
  const ToolContext second = std::move(first);
  EXPECT_EQ(first.tool_call(), second.tool_call());  // NOLINT(bugprone-use-after-move): this is what the test is about
}

// The forms that a handler may have; tests/compile_failures has the compiler's messages for others.
template <class F>
constexpr bool kIsHandler = detail::HandlerOf<std::decay_t<F>, Json>;

TEST(HandlerForms, AreFourWithoutImplicitConversions) {
  const auto plain = [](const Json&) { return ok(1); };
  const auto by_value = [](Json) { return ToolOk{1}; };
  const auto with_context = [](const Json&, ToolContext) { return failure("x"); };
  const auto generic = [](const auto& arguments) { return ok(arguments.size()); };
  const auto late = [](const Json&, ToolCompletion) {};
  const auto late_bool = [](const Json&, const ToolCompletion& done) { return done(ok(1)); };
  const auto late_context = [](const Json&, const ToolContext&, ToolCompletion) {};
  static_assert(kIsHandler<decltype(plain)> && kIsHandler<decltype(by_value)> && kIsHandler<decltype(with_context)>);
  static_assert(kIsHandler<decltype(generic)> && kIsHandler<ToolOutcome (*)(const Json&)>);
  static_assert(kIsHandler<decltype(late)> && kIsHandler<decltype(late_bool)> && kIsHandler<decltype(late_context)>);

  const auto of_text = [](std::string) { return ok(1); };
  const auto of_number = [](int, const ToolContext&) { return ok(1); };
  const auto returns_json = [](const Json& arguments) { return arguments; };
  const auto returns_bool = [](const Json&) { return true; };
  const auto returns_nothing = [](const Json&, const ToolContext&) {};
  const auto drops_an_outcome = [](const Json&, ToolCompletion) { return ok(1); };
  const auto no_parameters = [] { return ok(1); };
  auto changes = [n = 0](const Json&) mutable { return ok(++n); };
  static_assert(!kIsHandler<decltype(of_text)> && !kIsHandler<decltype(of_number)> && !kIsHandler<int>);
  static_assert(!kIsHandler<decltype(returns_json)> && !kIsHandler<decltype(returns_bool)>);
  static_assert(!kIsHandler<decltype(returns_nothing)> && !kIsHandler<decltype(drops_an_outcome)>);
  static_assert(!kIsHandler<decltype(no_parameters)> && !kIsHandler<decltype(changes)>);
}

}  // namespace
}  // namespace allm::executor_test
