// The suite accepts correct implementations. For each check a test has a broken implementation that the check finds.
#include "allm/conformance.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/fake.hpp"

#include "runtime/test_waits.hpp"

namespace allm::conformance_test {
namespace {

using std::chrono::milliseconds;
using Outcome = ConformanceCheck::Outcome;

const Event kStarted = MessageStarted{assistant("")};
Event completed(const std::string& text, FinishReason reason = FinishReason::stop) {
  return MessageCompleted{.message = assistant(text), .finish_reason = reason};
}

// A timeout for things that never happen: long enough to schedule a thread, short enough for a test.
constexpr milliseconds kNever{50};
AdapterConformanceOptions short_timeouts() { return {.max_blocking = kNever, .timeout = kNever}; }

Outcome outcome_of(const ConformanceReport& report, const std::string& name) {
  const ConformanceCheck* check = report.find(name);
  EXPECT_NE(check, nullptr) << "there is no check " << name << "\n" << report.summary();
  return check == nullptr ? Outcome::skipped : check->outcome;
}
void expect_found(const ConformanceReport& report, const std::string& name) {
  EXPECT_EQ(outcome_of(report, name), Outcome::failed) << name << "\n" << report.summary();
  EXPECT_FALSE(report.passed());
  if (const ConformanceCheck* check = report.find(name)) {
    EXPECT_FALSE(check->message.empty());
  }
}

// --- Adapters ---

using PollFunction = std::function<Poll(std::size_t index, const Waker& waker)>;

class FunctionSource : public EventSource {
 public:
  explicit FunctionSource(PollFunction poll) : poll_(std::move(poll)) {}
  Poll poll(const Waker& waker) override { return poll_(next_++, waker); }

 private:
  PollFunction poll_;
  std::size_t next_ = 0;
};

using OpenFunction = std::function<Result<std::unique_ptr<EventSource>>(const AdapterCall&)>;

class FunctionAdapter : public Adapter {
 public:
  FunctionAdapter(OpenFunction open, std::string name) : open_(std::move(open)), name_(std::move(name)) {}
  std::string_view provider() const override { return name_; }
  Result<std::unique_ptr<EventSource>> open(const AdapterCall& call) override { return open_(call); }

 private:
  OpenFunction open_;
  std::string name_;
};

std::function<std::shared_ptr<Adapter>()> opening(OpenFunction open, std::string name = "broken") {
  return [open = std::move(open), name = std::move(name)] { return std::make_shared<FunctionAdapter>(open, name); };
}
std::function<std::shared_ptr<Adapter>()> polling(PollFunction poll) {
  return opening([poll = std::move(poll)](const AdapterCall&) { return std::make_unique<FunctionSource>(poll); });
}
std::function<std::shared_ptr<Adapter>()> giving(std::vector<Event> events) {
  return polling([events = std::move(events)](std::size_t index, const Waker&) -> Poll {
    if (index >= events.size()) return Poll::end();
    return events[index];
  });
}

Request asking(const char* text) { return {.messages = {user(text)}}; }

// A scripted model. The last message of the request decides whether it answers, calls tools or fails.
std::shared_ptr<FakeAdapter> obedient_fake() {
  return fake([](const Request& request) -> FakeCallScript {
    const std::string said = request.messages.back().text();
    if (said == "fail") return {fake_text("half"), fake_error(AdapterError::Reason::network_error)};
    if (said == "refuse") return {fake_preflight_error(AdapterError::Reason::authentication_failed)};
    if (said == "tools") {
      return {fake_tool_call("c0", "a", {{"x", 1}}), fake_tool_call("c1", "b"), fake_finish(FinishReason::tool_calls)};
    }
    return {fake_text("Hel"), fake_delay(milliseconds(1)), fake_text("lo"), fake_finish(FinishReason::stop)};
  });
}

TEST(AdapterConformance, TheFakePasses) {
  for (const char* failing : {"fail", "refuse"}) {
    const ConformanceReport report =
        check_adapter(obedient_fake, {.tool_request = asking("tools"), .failing_request = asking(failing)});
    EXPECT_TRUE(report.passed()) << report.summary();
    EXPECT_EQ(report.subject, "fake");
    for (const ConformanceCheck& check : report.checks) EXPECT_EQ(check.outcome, Outcome::passed) << check.name;
  }
}

TEST(AdapterConformance, ChecksThatNeedARequestAreSkippedWithoutIt) {
  const ConformanceReport report = check_adapter(obedient_fake);
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(outcome_of(report, "call_ids_are_unique"), Outcome::skipped);
  EXPECT_EQ(outcome_of(report, "nothing_follows_an_error"), Outcome::skipped);
  EXPECT_NE(report.summary().find("needs the option `tool_request`"), std::string::npos) << report.summary();
}

TEST(AdapterConformance, FindsEventsThatBreakTheProtocol) {
  const std::string bad = "caf\xe9";
  const std::vector<std::pair<const char*, std::vector<Event>>> broken = {
      {"answers_the_request", {}},
      {"answers_the_request", {kStarted, TextDelta{.delta = "a"}}},
      {"message_started_is_first", {TextDelta{.delta = "a"}, completed("a")}},
      {"message_started_is_first", {kStarted, kStarted, completed("")}},
      {"message_completed_is_last", {kStarted, completed("a"), TextDelta{.delta = "a"}}},
      {"message_completed_is_last", {kStarted, completed("a"), completed("a")}},
      {"only_model_events", {kStarted, ToolExecutionStarted{}, completed("")}},
      {"text_is_utf8", {kStarted, TextDelta{.delta = bad}, completed(bad)}},
      {"text_deltas_match_the_text", {kStarted, TextDelta{.delta = "a"}, completed("b")}},
      {"text_deltas_match_the_text", {kStarted, TextDelta{.delta = "a"}, TextCompleted{.text = "b"}, completed("a")}},
  };
  for (const auto& [check, events] : broken) expect_found(check_adapter(giving(events)), check);
}

TEST(AdapterConformance, FindsToolCallsThatBreakTheProtocol) {
  const auto started = [](const char* id, const char* name) -> Event { return ToolCallStarted{id, name}; };
  const auto done = [](const char* id, const char* name, Json arguments = Json::object()) -> Event {
    return ToolCallCompleted{{.id = id, .name = name, .arguments = std::move(arguments)}};
  };
  const Event end = completed("", FinishReason::tool_calls);
  const std::vector<std::pair<const char*, std::vector<Event>>> broken = {
      {"calls_tools", {kStarted, end}},
      {"call_ids_are_unique", {kStarted, started("c", "a"), done("c", "a"), started("c", "b"), done("c", "b"), end}},
      {"call_ids_are_unique", {kStarted, started("", "a"), done("", "a"), end}},
      {"calls_are_started_and_completed", {kStarted, done("c", "a"), end}},
      {"calls_are_started_and_completed", {kStarted, started("c", "a"), done("c", "b"), end}},
      {"calls_are_started_and_completed", {kStarted, started("c", "a"), end}},
      {"calls_are_started_and_completed", {kStarted, ToolCallDelta{"d", "{}"}, end}},
      {"call_deltas_match_the_arguments",
       {kStarted, started("c", "a"), ToolCallDelta{"c", R"({"x":1})"}, done("c", "a", {{"x", 2}}), end}},
      {"finish_reason_is_tool_calls", {kStarted, started("c", "a"), done("c", "a"), completed("")}},
  };
  for (const auto& [check, events] : broken) {
    expect_found(check_adapter(giving(events), {.tool_request = asking("tools")}), check);
  }
}

TEST(AdapterConformance, FindsErrorsThatBreakTheProtocol) {
  const Event error = ErrorEvent{Error(AdapterError{.reason = AdapterError::Reason::network_error})};
  expect_found(check_adapter(giving({kStarted, error, completed("")}), {.failing_request = asking("fail")}),
               "nothing_follows_an_error");
  expect_found(check_adapter(giving({kStarted, completed("")}), {.failing_request = asking("fail")}),
               "failures_are_errors");
}

TEST(AdapterConformance, FindsANamelessOrMissingAdapter) {
  expect_found(check_adapter(opening([](const AdapterCall&) { return nullptr; }, "")), "provider_has_a_name");
  expect_found(check_adapter(opening([](const AdapterCall&) { return nullptr; })), "answers_the_request");
  expect_found(check_adapter([] { return nullptr; }), "factory_makes_an_adapter");
}

TEST(AdapterConformance, FindsASourceThatGoesOnAfterItsEnd) {
  expect_found(check_adapter(polling([](std::size_t index, const Waker&) -> Poll {
                 if (index == 0) return kStarted;
                 if (index == 1) return completed("");
                 return index == 2 ? Poll::end() : Poll(kStarted);
               })),
               "end_is_final");
}

TEST(AdapterConformance, FindsExceptions) {
  expect_found(check_adapter(opening([](const AdapterCall&) -> Result<std::unique_ptr<EventSource>> {
                 throw std::runtime_error("no network");
               })),
               "throws_nothing");
  expect_found(check_adapter(polling([](std::size_t, const Waker&) -> Poll { throw 7; })), "throws_nothing");
}

TEST(AdapterConformance, FindsAPendingSourceThatCallsNoWaker) {
  expect_found(check_adapter(polling([](std::size_t, const Waker&) { return Poll::pending(); }), short_timeouts()),
               "pending_calls_the_waker");
}

TEST(AdapterConformance, FindsASourceThatKeepsItsFirstWaker) {
  const auto factory = opening([](const AdapterCall&) {
    auto first = std::make_shared<std::optional<Waker>>();
    return std::make_unique<FunctionSource>([first](std::size_t, const Waker& waker) {
      if (!*first) {
        *first = waker;
      } else {
        (*first)->wake();
      }
      return Poll::pending();
    });
  });
  expect_found(check_adapter(factory, short_timeouts()), "latest_waker_is_called");
}

TEST(AdapterConformance, FindsCallsThatBlock) {
  const auto gate = std::make_shared<testing::Gate>();
  const ConformanceReport opened =
      check_adapter(opening([gate](const AdapterCall&) -> Result<std::unique_ptr<EventSource>> {
                      gate->wait();
                      return nullptr;
                    }),
                    short_timeouts());
  expect_found(opened, "calls_do_not_block");
  EXPECT_NE(opened.summary().find("open()"), std::string::npos) << opened.summary();

  const ConformanceReport polled = check_adapter(polling([gate](std::size_t, const Waker&) {
                                                   gate->wait();
                                                   return Poll::end();
                                                 }),
                                                 short_timeouts());
  expect_found(polled, "calls_do_not_block");
  EXPECT_NE(polled.summary().find("poll()"), std::string::npos) << polled.summary();
  gate->open();
}

// A source that was not read to its end blocks in its destructor, like a source that joins a thread.
class WaitingSource : public EventSource {
 public:
  explicit WaitingSource(std::shared_ptr<testing::Gate> gate) : gate_(std::move(gate)) {}
  ~WaitingSource() override {
    if (next_ < 2) gate_->wait();
  }
  WaitingSource(const WaitingSource&) = delete;
  WaitingSource& operator=(const WaitingSource&) = delete;
  Poll poll(const Waker&) override {
    if (next_ == 2) return Poll::end();
    return next_++ == 0 ? kStarted : completed("");
  }

 private:
  std::shared_ptr<testing::Gate> gate_;
  int next_ = 0;
};

TEST(AdapterConformance, FindsASourceThatCannotBeDropped) {
  const auto gate = std::make_shared<testing::Gate>();
  const ConformanceReport report = check_adapter(
      opening([gate](const AdapterCall&) { return std::make_unique<WaitingSource>(gate); }), short_timeouts());
  expect_found(report, "dropping_cancels");
  expect_found(report, "calls_do_not_block");
  gate->open();
}

TEST(AdapterConformance, FindsAnAdapterThatCannotBeUsedByTwoThreads) {
  // An adapter with one connection, whose second concurrent call fails.
  const auto factory = []() -> std::shared_ptr<Adapter> {
    return std::make_shared<FunctionAdapter>(
        [opened = std::make_shared<std::atomic<int>>(0)](const AdapterCall&) -> Result<std::unique_ptr<EventSource>> {
          if (opened->fetch_add(1) > 0) {
            return std::unexpected(Error(AdapterError{.reason = AdapterError::Reason::invalid_request}, "busy"));
          }
          return std::make_unique<FunctionSource>([](std::size_t index, const Waker&) -> Poll {
            if (index == 0) return kStarted;
            return index == 1 ? Poll(completed("")) : Poll::end();
          });
        },
        "single");
  };
  const ConformanceReport report = check_adapter(factory);
  expect_found(report, "calls_at_once");
  EXPECT_EQ(outcome_of(report, "answers_the_request"), Outcome::passed) << "one call at a time is fine";
}

// --- Executors ---

using ExecuteFunction = std::function<void(const Tool&, const Json&, const ToolContext&, ToolCompletion)>;

class FunctionExecutor : public ToolExecutor {
 public:
  explicit FunctionExecutor(ExecuteFunction execute) : execute_(std::move(execute)) {}
  void execute(const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) override {
    execute_(tool, arguments, context, std::move(done));
  }

 private:
  ExecuteFunction execute_;
};
std::shared_ptr<ToolExecutor> executing(ExecuteFunction execute) {
  return std::make_shared<FunctionExecutor>(std::move(execute));
}
ConformanceReport checked(ExecuteFunction execute) {
  return check_executor(executing(std::move(execute)), {.timeout = milliseconds(200)});
}
void run_handler(const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) {
  DefaultToolExecutor().execute(tool, arguments, context, std::move(done));
}

TEST(ExecutorConformance, TheDefaultExecutorPasses) {
  const ConformanceReport report = check_executor(std::make_shared<DefaultToolExecutor>());
  EXPECT_TRUE(report.passed()) << report.summary();
  EXPECT_EQ(report.checks.size(), 8U);
}

TEST(ExecutorConformance, AnExecutorThatRunsToolsElsewhereIsCheckedWithItsOwnCalls) {
  const auto elsewhere = executing([](const Tool&, const Json&, const ToolContext&, const ToolCompletion& done) {
    std::thread([done] { done(ok("from elsewhere")); }).detach();
  });
  const ConformanceReport report =
      check_executor(elsewhere, {.runs_handlers = false, .calls = {{.tool = {.name = "remote"}}}});
  EXPECT_TRUE(report.passed()) << report.summary();
  EXPECT_EQ(outcome_of(report, "answers_exactly_once"), Outcome::passed);
  EXPECT_EQ(outcome_of(report, "outcomes_are_passed_on"), Outcome::skipped);
}

TEST(ExecutorConformance, FindsWrongOutcomes) {
  expect_found(checked([](const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) {
                 if (tool.name == "halt") {
                   done(ok("went on"));
                 } else {
                   run_handler(tool, arguments, context, std::move(done));
                 }
               }),
               "outcomes_are_passed_on");
}

TEST(ExecutorConformance, FindsMissingAnswersAndSecondAnswers) {
  expect_found(checked([](const Tool&, const Json&, const ToolContext&, const ToolCompletion&) {}),
               "answers_exactly_once");
  expect_found(checked([](const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) {
                 run_handler(tool, arguments, context, done);
                 done(ok("again"));
               }),
               "answers_exactly_once");
}

TEST(ExecutorConformance, FindsLostArguments) {
  expect_found(checked([](const Tool& tool, const Json&, const ToolContext& context, ToolCompletion done) {
                 run_handler(tool, Json::object(), context, std::move(done));
               }),
               "arguments_and_context_reach_the_handler");
}

TEST(ExecutorConformance, FindsSwallowedExceptions) {
  expect_found(checked([](const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) {
                 if (tool.name == "throws") {
                   done(ok("nothing happened"));
                 } else {
                   run_handler(tool, arguments, context, std::move(done));
                 }
               }),
               "exceptions_become_handler_raised");
}

TEST(ExecutorConformance, FindsLostLateAnswers) {
  expect_found(checked([](const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) {
                 run_handler(tool, arguments, context, done);
                 if (tool.name == "late") done(failure("it returned without an answer"));
               }),
               "late_answers_are_passed_on");
}

TEST(ExecutorConformance, FindsHandlersThatAreNotAskedToStop) {
  // Answers for the handler instead of calling it with its context.
  expect_found(checked([](const Tool&, const Json&, const ToolContext&, const ToolCompletion& done) { done(ok(1)); }),
               "the_stop_token_reaches_the_handler");
}

TEST(ExecutorConformance, FindsMixedUpCalls) {
  // Reuses the first arguments of each tool for all its calls, like a cache with a wrong key.
  struct Cache {
    std::mutex mutex;
    std::optional<Json> arguments;
  };
  const auto cache = std::make_shared<Cache>();
  expect_found(
      checked([cache](const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) {
        Json used = arguments;
        if (tool.name == "echo") {
          const std::lock_guard lock(cache->mutex);
          if (!cache->arguments) cache->arguments = arguments;
          used = *cache->arguments;
        }
        run_handler(tool, used, context, std::move(done));
      }),
      "calls_at_once");
}

TEST(ExecutorConformance, FindsAMissingHandlerThatIsASuccess) {
  expect_found(checked([](const Tool& tool, const Json& arguments, const ToolContext& context, ToolCompletion done) {
                 if (!tool.handler) {
                   done(ok(nullptr));
                 } else {
                   run_handler(tool, arguments, context, std::move(done));
                 }
               }),
               "a_missing_handler_is_a_failure");
}

// --- Encoders ---

// The default encoder with one fault.
class FaultyEncoder : public JsonToolResultEncoder {
 public:
  std::function<Result<std::string>(const Json&)> on_encode;
  std::function<std::string(const ToolFailure&)> on_failure;
  Result<std::string> encode(const Json& value) override {
    return on_encode ? on_encode(value) : JsonToolResultEncoder::encode(value);
  }
  std::string encode_failure(const ToolFailure& failure) override {
    return on_failure ? on_failure(failure) : JsonToolResultEncoder::encode_failure(failure);
  }
};
ConformanceReport with_encode(std::function<Result<std::string>(const Json&)> encode) {
  const auto encoder = std::make_shared<FaultyEncoder>();
  encoder->on_encode = std::move(encode);
  return check_encoder(encoder);
}
ConformanceReport with_failure(std::function<std::string(const ToolFailure&)> encode_failure) {
  const auto encoder = std::make_shared<FaultyEncoder>();
  encoder->on_failure = std::move(encode_failure);
  return check_encoder(encoder);
}

TEST(EncoderConformance, TheDefaultEncoderPasses) {
  const ConformanceReport report =
      check_encoder(std::make_shared<JsonToolResultEncoder>(), {.values = {{{"mine", 1}}}});
  EXPECT_TRUE(report.passed()) << report.summary();
  EXPECT_EQ(report.checks.size(), 7U);
}

TEST(EncoderConformance, FindsBrokenEncoders) {
  JsonToolResultEncoder good;
  std::atomic<int> number = 0;
  expect_found(with_encode([&](const Json& value) -> Result<std::string> {
                 if (value.is_null()) return std::unexpected(Error(ToolError{}, "no value"));
                 return good.encode(value);
               }),
               "encodes_any_json");
  expect_found(with_encode([&](const Json&) { return std::to_string(++number); }), "is_deterministic");
  expect_found(with_failure([&](const ToolFailure&) { return std::to_string(++number); }), "is_deterministic");
  expect_found(with_encode([](const Json&) { return "caf\xe9"; }), "results_are_utf8");
  expect_found(with_encode([](const Json& value) { return value.is_string() ? value.get<std::string>() : "{}"; }),
               "invalid_text_is_refused_or_repaired");
  expect_found(with_failure([](const ToolFailure&) { return ""; }), "failures_are_described");
  expect_found(with_failure([](const ToolFailure&) { return "it failed"; }), "failures_are_described");
  expect_found(with_encode([](const Json&) -> Result<std::string> { throw std::runtime_error("no"); }),
               "throws_nothing");
  expect_found(with_failure([](const ToolFailure&) -> std::string { throw 7; }), "throws_nothing");
}

TEST(EncoderConformance, FindsAnEncoderThatCannotBeUsedByTwoThreads) {
  const auto main = std::this_thread::get_id();
  expect_found(with_encode([main](const Json&) { return main == std::this_thread::get_id() ? "one" : "other"; }),
               "calls_at_once");
}

}  // namespace
}  // namespace allm::conformance_test
