#include "allm/fake.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"

#include "runtime/test_waits.hpp"

namespace allm::fake_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using Reason = AdapterError::Reason;

AdapterCall a_call() { return {.runtime = Runtime::process()}; }

std::vector<Event> played(FakeCallScript script, FakeOptions options = {}) {
  const auto adapter = fake({std::move(script)}, std::move(options));
  auto source = adapter->open(a_call());
  EXPECT_TRUE(source.has_value());
  EventStream stream(*std::move(source));
  std::vector<Event> events;
  while (Poll event = stream.next()) events.push_back(*std::move(event));
  return events;
}

MessageCompleted completed(std::string text, std::optional<FinishReason> reason,
                           std::optional<Usage> usage = std::nullopt) {
  return {.message = assistant(std::move(text)), .finish_reason = reason, .usage = std::move(usage)};
}
const Event kStarted = MessageStarted{assistant("")};

TEST(Fake, AnEmptyScriptIsAnEmptyMessage) {
  EXPECT_EQ(played({}), (std::vector<Event>{kStarted, completed("", std::nullopt)}));
}

TEST(Fake, TextComesInDeltasAndOnceAsAWhole) {
  EXPECT_EQ(played({fake_text("a"), fake_text(""), fake_text("b"), fake_finish(FinishReason::stop)}),
            (std::vector<Event>{kStarted, TextDelta{.delta = "a"}, TextDelta{.delta = ""}, TextDelta{.delta = "b"},
                                TextCompleted{.text = "ab"}, completed("ab", FinishReason::stop)}));
  EXPECT_EQ(played({fake_text("")}).size(), 4U) << "empty text is text";
}

TEST(Fake, ToolCallsStartAndComplete) {
  const ToolCall call{.id = "c0", .name = "t", .arguments = {{"a", 1}}, .raw_arguments = R"({"a":1})"};
  EXPECT_EQ(played({fake_tool_call("c0", "t", {{"a", 1}}), fake_finish(FinishReason::tool_calls)}),
            (std::vector<Event>{kStarted, ToolCallStarted{"c0", "t"}, ToolCallCompleted{call},
                                completed("", FinishReason::tool_calls)}));
}

TEST(Fake, RawArgumentsAreParsedWhereTheyAreAnObject) {
  const auto arguments = [](const std::string& raw) {
    const auto events = played({FakeToolCall{.id = "c", .name = "t", .arguments = {{"x", 0}}, .raw_arguments = raw}});
    const ToolCall& call = events.at(2).get_if<ToolCallCompleted>()->call;
    EXPECT_EQ(call.raw_arguments, raw);
    return call.arguments;
  };
  EXPECT_EQ(arguments(R"({"a":1})"), Json({{"a", 1}}));
  EXPECT_EQ(arguments("{\"a\""), Json::object());
  EXPECT_EQ(arguments("[1]"), Json::object());
  EXPECT_EQ(arguments(""), Json::object());
}

TEST(Fake, ArgumentDeltasNeedNoToolCall) {
  EXPECT_EQ(played({FakeToolCallDelta{"c0", "{\"a\""}}),
            (std::vector<Event>{kStarted, ToolCallDelta{"c0", "{\"a\""}, completed("", std::nullopt)}));
}

TEST(Fake, TheLastUsageCountsUnlessTheOptionsHaveOne) {
  const FakeCallScript script = {fake_usage({.input_tokens = 1}), fake_usage({.input_tokens = 2})};
  EXPECT_EQ(played(script).back(), Event(completed("", std::nullopt, Usage{.input_tokens = 2})));
  EXPECT_EQ(played(script, {.usage = Usage{.input_tokens = 9}}).back(),
            Event(completed("", std::nullopt, Usage{.input_tokens = 9})));
}

TEST(Fake, RawChunksArePassedOn) {
  EXPECT_EQ(played({FakeRawChunk{{{"x", 1}}}}),
            (std::vector<Event>{kStarted, RawChunk{{{"x", 1}}}, completed("", std::nullopt)}));
}

TEST(Fake, NothingFollowsTheFinish) {
  EXPECT_EQ(played({fake_finish(FinishReason::length), fake_text("more")}),
            (std::vector<Event>{kStarted, completed("", FinishReason::length)}));
}

TEST(Fake, AnErrorIsTheLastEvent) {
  const auto events = played({fake_text("a"), fake_error(Reason::network_error), fake_text("b")});
  ASSERT_EQ(events.size(), 3U);
  EXPECT_TRUE(events[2].get_if<ErrorEvent>()->error.is<AdapterError>(Reason::network_error));
  EXPECT_EQ(events[2].get_if<ErrorEvent>()->error.get_if<AdapterError>()->provider, "fake");
}

TEST(Fake, APreflightErrorIsTheCallsFailureOnlyAsTheFirstEntry) {
  const auto adapter = fake({{fake_preflight_error(Reason::timeout)}, {}});
  const auto first = adapter->open(a_call());
  ASSERT_FALSE(first.has_value());
  EXPECT_TRUE(first.error().is<AdapterError>(Reason::timeout));
  EXPECT_TRUE(adapter->open(a_call()).has_value());
  EXPECT_EQ(played({fake_text("a"), fake_preflight_error(Reason::timeout)}).back().tag(), EventTag::error);
}

TEST(Fake, AnExhaustedScriptNamesTheCallWithoutAResponse) {
  const auto adapter = fake({{}});
  EXPECT_TRUE(adapter->open(a_call()).has_value());
  const auto second = adapter->open(a_call());
  ASSERT_FALSE(second.has_value());
  EXPECT_TRUE(second.error().is<AdapterError>(Reason::no_scripted_response));
  EXPECT_NE(second.error().message().find("call 2"), std::string::npos);
}

TEST(Fake, ADelayDoesNotBlockTheThread) {
  const auto adapter = fake({{fake_delay(hours(1)), fake_text("a")}});
  EventStream stream(*adapter->open(a_call()));
  EXPECT_TRUE(stream.try_next().has_event()) << "the message has begun before the first entry";
  EXPECT_TRUE(stream.try_next().is_pending());
  EXPECT_TRUE(stream.try_next().is_pending());
  stream.drop();
  EXPECT_EQ(adapter->closed(), 1U);
}

TEST(Fake, ADelayCallsTheWakerWhenItIsOver) {
  const auto adapter = fake({{fake_delay(milliseconds(2)), fake_text("a")}});
  EventStream stream(*adapter->open(a_call()));
  (void)stream.try_next();
  testing::Gate woken;
  if (stream.poll(Waker([&] { woken.open(); })).is_pending()) {
    woken.wait();
    EXPECT_TRUE(stream.try_next().has_event());
  }
}

TEST(Fake, TheLongestDelayDoesNotOverflow) {
  const auto adapter = fake({{fake_delay(milliseconds::max())}});
  EventStream stream(*adapter->open(a_call()));
  (void)stream.try_next();
  EXPECT_TRUE(stream.try_next().is_pending());
}

TEST(Fake, TheCursorBelongsToTheAdapter) {
  const auto script = std::make_shared<const FakeScript>(FakeScript{
      {fake_text("one"), fake_finish(FinishReason::stop)}, {fake_text("two"), fake_finish(FinishReason::stop)}});
  const auto shared = std::make_shared<FakeAdapter>(script);
  const Engine first({.adapter = shared});
  const Engine second({.adapter = shared});
  const Engine other({.adapter = std::make_shared<FakeAdapter>(script)});
  const auto said = [](const Engine& engine) { return chat(engine, {user("hi")})->text(); };
  EXPECT_EQ(said(first), "one");
  EXPECT_EQ(said(other), "one") << "two adapters made from one script never share a cursor";
  EXPECT_EQ(said(second), "two") << "two engines with one adapter do";
  EXPECT_EQ(said(other), "two");
}

TEST(Fake, TheCursorMovesWhenACallIsOpenedAndNotBefore) {
  const auto adapter = fake({{}, {}});
  const Engine engine({.adapter = adapter});
  EventStream never_read = stream(engine, {user("hi")});
  EXPECT_EQ(adapter->calls(), 0U);
  (void)never_read.try_next();
  EXPECT_EQ(adapter->calls(), 1U);
}

TEST(Fake, CountsEachStreamOnceWhenItIsDestroyed) {
  const auto adapter = fake({{fake_text("a")}, {fake_text("b")}, {fake_error(Reason::timeout)}});
  EventStream read(*adapter->open(a_call()));
  while (read.next()) {
  }
  EXPECT_EQ(adapter->closed(), 1U);
  read.drop();
  EXPECT_EQ(adapter->closed(), 1U);
  {
    EventStream dropped(*adapter->open(a_call()));
    (void)dropped.next();
  }
  EXPECT_EQ(adapter->closed(), 2U);
  EventStream broken(*adapter->open(a_call()));
  while (broken.next()) {
  }
  EXPECT_EQ(adapter->closed(), 3U);
  EXPECT_EQ(adapter->calls(), 3U);
}

TEST(Fake, StreamsMayOutliveTheirAdapter) {
  std::optional<EventStream> stream;
  {
    const auto adapter = fake({{fake_text("a")}});
    stream.emplace(*adapter->open(a_call()));
  }
  std::size_t events = 0;
  while (stream->next()) ++events;
  EXPECT_EQ(events, 4U);
}

TEST(Fake, RecordsRequestsOnlyWithTheOption) {
  const auto silent = fake({{}});
  ASSERT_TRUE(chat(Engine({.adapter = silent}), {user("hi")}).has_value());
  EXPECT_TRUE(silent->requests().empty());
  const auto recording = fake({{fake_preflight_error(Reason::unknown)}}, {.record = true});
  EXPECT_FALSE(chat(Engine({.adapter = recording, .model = "m"}), {user("hi")}, {.request_id = "r"}).has_value());
  ASSERT_EQ(recording->requests().size(), 1U) << "a call that fails was received too";
  EXPECT_EQ(recording->requests()[0].request.messages[0].text(), "hi");
  EXPECT_EQ(recording->requests()[0].model->id, "m");
  EXPECT_EQ(recording->requests()[0].request_id, "r");
}

TEST(Fake, IsSafeToUseFromManyThreads) {
  FakeScript script;
  for (int i = 0; i < 100; ++i) script.push_back({fake_text("x"), fake_finish(FinishReason::stop)});
  const auto adapter = fake(std::move(script), {.record = true});
  const Engine engine({.adapter = adapter});
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 25; ++n) EXPECT_EQ(chat(engine, {user("hi")})->text(), "x");
      });
    }
  }
  EXPECT_EQ(adapter->calls(), 100U);
  EXPECT_EQ(adapter->closed(), 100U);
  EXPECT_EQ(adapter->requests().size(), 100U);
}

TEST(FakeScriptFromJson, ReadsEveryEntry) {
  const auto script =
      fake_script_from_json(Json::parse(R"([[{"text":"a"},{"tool_call":{"id":"c","name":"t","arguments":{"x":1}}},
    {"tool_call":{"id":"d","name":"t","raw_arguments":"{"}},{"tool_call_delta":{"id":"c","arguments_delta":"z"}},
    {"usage":{"input_tokens":3}},{"raw_chunk":[1]},{"delay":5},{"error":"timeout"},{"finish":"stop"}],
    [{"preflight_error":"rate_limited"}],[]])"));
  ASSERT_TRUE(script.has_value()) << script.error().message();
  ASSERT_EQ(script->size(), 3U);
  const FakeCallScript& first = (*script)[0];
  ASSERT_EQ(first.size(), 9U);
  EXPECT_EQ(std::get<FakeText>(first[0]).text, "a");
  EXPECT_EQ(std::get<FakeToolCall>(first[1]).arguments, Json({{"x", 1}}));
  EXPECT_EQ(std::get<FakeToolCall>(first[2]).raw_arguments, "{");
  EXPECT_EQ(std::get<FakeToolCallDelta>(first[3]).arguments_delta, "z");
  EXPECT_EQ(std::get<FakeUsage>(first[4]).usage.input_tokens, 3);
  EXPECT_EQ(std::get<FakeRawChunk>(first[5]).chunk, Json::array({1}));
  EXPECT_EQ(std::get<FakeDelay>(first[6]).delay, milliseconds(5));
  EXPECT_TRUE(std::get<FakeError>(first[7]).error.is<AdapterError>(Reason::timeout));
  EXPECT_EQ(std::get<FakeFinish>(first[8]).reason, FinishReason::stop);
  EXPECT_TRUE(std::get<FakePreflightError>((*script)[1][0]).error.is<AdapterError>(Reason::rate_limited));
}

TEST(FakeScriptFromJson, KeepsAnUnknownReasonAsTheCause) {
  const auto script = fake_script_from_json(Json::parse(R"([[{"error":"cosmic rays"}]])"));
  ASSERT_TRUE(script.has_value());
  const Error& error = std::get<FakeError>((*script)[0][0]).error;
  EXPECT_TRUE(error.is<AdapterError>(Reason::unknown));
  EXPECT_EQ(error.reported_cause(), "cosmic rays");
}

TEST(FakeScriptFromJson, SaysWhatIsWrongAndWhere) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {R"({})", "scripts"},
      {R"([1])", "scripts[0]"},
      {R"([[], [1]])", "scripts[1][0]"},
      {R"([[{"text":"a","finish":"stop"}]])", "scripts[0][0]"},
      {R"([[{"text":1}]])", "scripts[0][0].text"},
      {R"([[{"noise":1}]])", "scripts[0][0].noise"},
      {R"([[{"finish":"never"}]])", "scripts[0][0].finish"},
      {R"([[{"delay":-1}]])", "scripts[0][0].delay"},
      {R"([[{"delay":"1"}]])", "scripts[0][0].delay"},
      {R"([[{"error":1}]])", "scripts[0][0].error"},
      {R"([[{"usage":{"tokens":1}}]])", "scripts[0][0].usage"},
      {R"([[{"tool_call":{"id":"c"}}]])", "scripts[0][0].tool_call"},
      {R"([[{"tool_call":{"id":"c","name":"t","args":{}}}]])", "scripts[0][0].tool_call"},
      {R"([[{"tool_call_delta":{"id":"c"}}]])", "scripts[0][0].tool_call_delta"},
  };
  for (const auto& [text, path] : wrong) {
    const auto script = fake_script_from_json(Json::parse(text));
    ASSERT_FALSE(script.has_value()) << text;
    const auto* error = script.error().get_if<ValidationError>();
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->reason, ValidationError::Reason::invalid_scenario);
    EXPECT_EQ(to_string(error->errors.at(0).path), path) << text;
  }
}

TEST(FakeFunction, SeesTheRequestAndAnswersIt) {
  const auto model = fake(
      [](const Request& request) -> FakeCallScript {
        if (request.messages.back().role == Role::tool) return {fake_text("It said " + request.messages.back().text())};
        return {fake_tool_call("c0", request.tools.at(0).name), fake_finish(FinishReason::tool_calls)};
      },
      {.record = true});
  const Engine engine(
      {.adapter = model, .tools = {tool({.name = "t", .handler = [](const Json&) { return ok("yes"); }})}});
  const auto result = chat(engine, {user("hi")});
  ASSERT_TRUE(result.has_value()) << result.error().message();
  EXPECT_EQ(result->text(), "It said yes");
  EXPECT_EQ(model->calls(), 2U);
  EXPECT_EQ(model->closed(), 2U);
  EXPECT_EQ(model->requests().at(1).request.messages.size(), 3U);
}

TEST(FakeFunction, SeesTheWholeCallIfItAsksForIt) {
  const auto model = fake([](const AdapterCall& call) { return FakeCallScript{fake_text(call.request_id)}; });
  EXPECT_EQ(generate(Engine({.adapter = model}), {.messages = {user("hi")}}, {.request_id = "r-7"})->text(), "r-7");
}

TEST(FakeFunction, APreflightErrorIsTheFailureOfTheCall) {
  const auto model =
      fake([](const Request&) -> FakeCallScript { return {fake_preflight_error(Reason::content_filter)}; });
  const auto source = model->open(a_call());
  ASSERT_FALSE(source.has_value());
  EXPECT_TRUE(source.error().is<AdapterError>(Reason::content_filter));
}

TEST(FakeFunction, AnExceptionIsAnErrorOfTheCall) {
  const auto model = fake([](const Request&) -> FakeCallScript { throw std::runtime_error("not prepared"); });
  const auto result = chat(Engine({.adapter = model}), {user("hi")});
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is<AdapterError>(Reason::no_scripted_response));
  EXPECT_NE(result.error().message().find("not prepared"), std::string::npos) << result.error().message();
  EXPECT_EQ(model->calls(), 1U) << "it is not retried";
  const auto odd = fake([](const Request&) -> FakeCallScript { throw 7; });
  EXPECT_FALSE(odd->open(a_call()).has_value());
}

TEST(FakeFunction, MayBeCalledFromSeveralThreadsAtOnce) {
  constexpr std::size_t kThreads = 4;
  testing::Counter inside;
  const auto model = fake([&](const Request&) -> FakeCallScript {
    inside.add();
    inside.wait_for(kThreads);  // all calls run at the same time
    return {fake_text("x")};
  });
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back([&] { EXPECT_TRUE(model->open(a_call())); });
  threads.clear();
  EXPECT_EQ(model->calls(), kThreads);
}

}  // namespace
}  // namespace allm::fake_test
