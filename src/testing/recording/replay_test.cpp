// Replaying: a recording answers as the model did, and reports where a request differs from the recorded one.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"
#include "allm/recording.hpp"

#include "testing/recording/test_recording.hpp"

namespace allm::replay_test {
namespace {

using testing::call_of;
using ::testing::EndsWith;
using testing::Folder;
using ::testing::HasSubstr;
using testing::played;
using ::testing::StartsWith;
using Reason = AdapterError::Reason;

FakeCallScript says(const std::string& text) { return {fake_text(text), fake_finish(FinishReason::stop)}; }
const Event kStarted = MessageStarted{assistant("")};

std::string said(const std::vector<Event>& events) {
  const auto* done = events.back().get_if<MessageCompleted>();
  return done == nullptr ? events.back().get_if<ErrorEvent>()->error.message() : done->message.text();
}

std::shared_ptr<Adapter> replayed(const std::string& path, ReplayOptions options = {}) {
  auto adapter = replay(path, std::move(options));
  EXPECT_TRUE(adapter.has_value()) << adapter.error().message();
  return *adapter;
}

// Writes a recording with these questions and answers; returns its path.
std::string recording(const Folder& folder, const std::vector<std::pair<std::string, std::string>>& talk) {
  FakeScript script;
  for (const auto& [question, answer] : talk) script.push_back(says(answer));
  const auto adapter = record(fake(std::move(script)), folder.file("r.jsonl"));
  for (const auto& [question, answer] : talk) played(**adapter, call_of(question));
  return folder.file("r.jsonl");
}

TEST(Replay, DoesNotCompareWhetherTheAnswerWasStreamed) {
  const Folder folder;
  const auto adapter = replayed(recording(folder, {{"a", "1"}}));
  AdapterCall call = call_of("a");
  call.request.stream = false;  // as in all recordings of version 0.1
  EXPECT_EQ(said(played(*adapter, call)), "1");
}

// The result of a chat that uses every kind of event, and the model's events.
struct Outcome {
  ChatResult result;
  std::vector<Event> events;
  bool operator==(const Outcome&) const = default;
};

Outcome run(const std::shared_ptr<Adapter>& adapter) {
  const auto weather = [](const Json& arguments) { return ok({{"city", arguments["city"]}, {"celsius", 21}}); };
  const Engine engine({.adapter = adapter,
                       .model = "m",
                       .tools = {tool({.name = "weather", .description = "The weather.", .handler = weather})},
                       .params = {{"top_p", 0.5}},
                       .retry = {.base_delay = std::chrono::milliseconds(0), .jitter = std::chrono::milliseconds(0)}});
  Outcome made;
  CallOptions options{.response_format = ResponseFormat::json_schema("answer", {{"type", "object"}}),
                      .structured_finalize = true,
                      .include_raw_chunks = true,
                      .session_id = "s",
                      .request_id = "r"};
  for (const Event& event : stream(engine, {user("Rome and Oslo?")}, options)) {
    if (event.tag() <= EventTag::error) made.events.push_back(event);
    if (const auto* done = event.get_if<ChatCompleted>()) made.result = *done->result;
  }
  return made;
}

TEST(Replay, GivesTheSameEventsAndTheSameResult) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  const FakeScript script = {
      {fake_preflight_error(Reason::rate_limited)},
      {fake_text("Let me "), fake_text("see."), FakeRawChunk{{{"n", 1}}},
       fake_tool_call("c0", "weather", {{"city", "Rome"}}), fake_tool_call("c1", "weather", {{"city", "Oslo"}}),
       fake_usage({.input_tokens = 10, .output_tokens = 5}), fake_finish(FinishReason::tool_calls)},
      says("21 degrees in both."),
      {fake_text(R"({"celsius": 21})"), fake_error(Reason::network_error)},
  };
  const auto recorder = record(fake(script), path);
  const Outcome live = run(*recorder);
  EXPECT_EQ(live.result.steps.size(), 3U);
  EXPECT_EQ(live.result.halted_reason(), halted::error);

  const auto player = replayed(path);
  EXPECT_EQ(player->provider(), "fake");
  const Outcome again = run(player);
  EXPECT_EQ(again.events, live.events);
  EXPECT_EQ(again.result, live.result);
  EXPECT_TRUE(again == run(replayed(path))) << "as often as it is opened";
}

TEST(Replay, EachExchangeAnswersOnceInAnyOrder) {
  const Folder folder;
  const std::string path = recording(folder, {{"a", "1"}, {"b", "2"}, {"a", "3"}});
  const auto adapter = replayed(path);
  EXPECT_EQ(said(played(*adapter, call_of("b"))), "2");
  EXPECT_EQ(said(played(*adapter, call_of("a"))), "1");
  EXPECT_THAT(said(played(*adapter, call_of("b"))), HasSubstr("exchange 3 (line 4), the first that is unused, at"));
  EXPECT_EQ(said(played(*adapter, call_of("a"))), "3");
  EXPECT_EQ(said(played(*adapter, call_of("a"))),
            "the recording '" + path +
                "' has no exchange left for this request: all 3 were used; record again, or set ReplayOptions::reuse "
                "to let them answer more than once");
}

TEST(Replay, CallsMayOverlap) {
  const Folder folder;
  const auto adapter = replayed(recording(folder, {{"a", "1"}, {"a", "2"}}));
  auto first = adapter->open(call_of("a"));
  auto second = adapter->open(call_of("a"));
  EXPECT_EQ(said(testing::read_all(*std::move(second))), "2");
  EXPECT_EQ(said(testing::read_all(*std::move(first))), "1");
}

TEST(Replay, WithReuseEqualExchangesAnswerInTurn) {
  const Folder folder;
  const std::string path = recording(folder, {{"a", "1"}, {"b", "2"}, {"a", "3"}});
  const auto adapter = replayed(path, {.reuse = true});
  for (const char* answer : {"1", "3", "1", "3"}) EXPECT_EQ(said(played(*adapter, call_of("a"))), answer);
  EXPECT_THAT(said(played(*adapter, call_of("c"))), HasSubstr("differs from exchange 1 (line 2) at /request"));
}

TEST(Replay, ReportsWhereTheRequestDiffers) {
  const Folder folder;
  const std::string path = recording(folder, {{"How are you?", "Fine."}});
  const auto adapter = replayed(path);
  const auto refused = adapter->open(call_of("How is it?"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is<AdapterError>(Reason::invalid_request));
  EXPECT_FALSE(is_retryable({.retry_on = {Reason::invalid_request}}, refused.error()));
  EXPECT_EQ(refused.error().message(),
            "the recording '" + path +
                "' has no exchange for this request, which differs from exchange 1 (line 2), the first that is unused, "
                "at /request/data/messages/0/data/content: recorded \"How are you?\", now \"How is it?\"; record "
                "again, or add the pointer to ReplayOptions::ignore if the difference does not matter");
  EXPECT_EQ(said(played(*adapter, call_of("How are you?"))), "Fine.") << "nothing was used up";
}

TEST(Replay, ShowsThePartOfALongTextThatDiffers) {
  const Folder folder;
  const std::string long_text = std::string(500, 'x') + "äöü";
  const auto adapter = replayed(recording(folder, {{long_text + "1" + long_text, "Fine."}}));
  const std::string message = said(played(*adapter, call_of(long_text + "2" + long_text)));
  EXPECT_THAT(message, HasSubstr("recorded …xxxxxxxxxxxxxxäöü1xxx"));
  EXPECT_THAT(message, HasSubstr("now …xxxxxxxxxxxxxxäöü2xxx"));
  EXPECT_LT(message.size(), 700U);
}

TEST(Replay, ReportsMissingAndNewMembers) {
  const Folder folder;
  const auto adapter = replayed(recording(folder, {{"a", "1"}}));
  AdapterCall more = call_of("a");
  more.request.messages.push_back(user("b"));
  EXPECT_THAT(said(played(*adapter, more)),
              HasSubstr("at /request/data/messages/1: recorded nothing, now {\"__type__"));
  AdapterCall option = call_of("a");
  option.options = {{"a/b~c", 1}};
  EXPECT_THAT(said(played(*adapter, option)), HasSubstr("at /options/a~1b~0c: recorded nothing, now 1;"));
  AdapterCall less = call_of("a");
  less.request.messages = {};
  EXPECT_THAT(said(played(*adapter, less)), HasSubstr("now nothing"));
}

TEST(Replay, DoesNotCompareIgnoredPointers) {
  const Folder folder;
  const std::string path = recording(folder, {{"a", "1"}, {"a", "2"}, {"a", "3"}});
  const auto adapter = replayed(path, {.ignore = {"/request/data/messages/0/data/content", "/options/a~1b", "/model"}});
  AdapterCall call = call_of("b");
  call.model = "other";
  call.options = {{"a/b", {{"c", 1}}}};
  EXPECT_EQ(said(played(*adapter, call)), "1");
  call.options["d"] = 2;
  EXPECT_THAT(said(played(*adapter, call)), HasSubstr("at /options/d"));
  EXPECT_EQ(said(played(*replayed(path, {.ignore = {""}}), call)), "1") << "all of it";
  for (const char* wrong : {"request", "/a~", "/a~2"}) {
    const auto refused = replay(path, {.ignore = {"/a", wrong}});
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(refused.error().is<ValidationError>(ValidationError::Reason::invalid_option));
  }
}

TEST(Replay, NeedsNoKey) {
  const Folder folder;
  const auto recorder = record(fake({says("1"), says("2")}), folder.file("r.jsonl"));
  AdapterCall call = call_of("my key is sk-proj-123456789");
  call.api_key = "sk-proj-123456789";
  played(**recorder, call);
  AdapterCall other = call_of("it is my-own-secret-1");
  other.api_key = "my-own-secret-1";
  played(**recorder, other);

  const auto adapter = replayed(folder.file("r.jsonl"));
  EXPECT_EQ(said(played(*adapter, call_of("my key is sk-other-987654321"))), "1");
  AdapterCall another = call_of("it is not-the-same-one");
  another.api_key = "not-the-same-one";
  EXPECT_EQ(said(played(*adapter, another)), "2");
}

TEST(Replay, NumbersAreComparedByValue) {
  const Folder folder;
  const auto recorder = record(fake({says("1")}), folder.file("r.jsonl"));
  AdapterCall call = call_of("a");
  call.options = {{"n", 1.0}, {"m", 2}};
  played(**recorder, call);
  call.options = {{"m", 2.0}, {"n", 1}};
  EXPECT_EQ(said(played(*replayed(folder.file("r.jsonl")), call)), "1");
}

TEST(Replay, ADroppedStreamEndsWithAnErrorWhereItWasCut) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  {
    EventStream stream(*(*record(fake({{fake_text("a"), fake_text("b")}}), path))->open(call_of("hi")));
    stream.next();
    stream.next();
  }
  const auto events = played(*replayed(path), call_of("hi"));
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0], kStarted);
  EXPECT_EQ(events[1], Event(TextDelta{.delta = "a"}));
  const Error& error = events[2].get_if<ErrorEvent>()->error;
  EXPECT_TRUE(error.is<AdapterError>(Reason::malformed_response));
  EXPECT_EQ(error.message(), "the recording '" + path +
                                 "' is cut here: the stream of exchange 1 (line 2) was dropped while it was recorded; "
                                 "record again and read it to its end");
}

TEST(Replay, AnEmptyRecordingAnswersNothing) {
  const Folder folder;
  const auto adapter = replayed(recording(folder, {}));
  EXPECT_EQ(adapter->provider(), "replay");
  EXPECT_THAT(said(played(*adapter, call_of("a"))), EndsWith("holds no exchange; record again"));
}

TEST(Replay, ReportsAMissingFile) {
  const Folder folder;
  for (const std::string& path : {folder.file("none.jsonl"), folder.file(""), std::string("/dev/null")}) {
    const auto adapter = replay(path);
    ASSERT_FALSE(adapter.has_value());
    EXPECT_TRUE(adapter.error().is<EngineError>(EngineError::Reason::invalid_engine));
    EXPECT_THAT(adapter.error().message(), StartsWith("cannot read the recording '" + path + "': "));
  }
}

TEST(Replay, ReportsWhichLineIsDamaged) {
  const Folder folder;
  const std::string header = "{\"allm_recording\":1}\n";
  const std::string good = R"({"provider":"p","request":{},"events":[],"end":"completed"})";
  EXPECT_TRUE(replay(folder.file("r.jsonl", header + good)).has_value()) << "a last line without its line break";
  const auto error = [](const char* words) { return std::string(R"({"type":"error","error":)") + words + "}"; };
  const std::string unknown =
      error(R"({"__type__":"ALLM.Error.AdapterError","data":{"reason":"unknown","message":"m"}})");
  const auto line = [](const std::string& events, const char* end) {
    return R"({"provider":"p","request":{},"events":[)" + events + R"(],"end":")" + end + "\"}";
  };
  EXPECT_TRUE(replay(folder.file("r.jsonl", header + line(unknown, "failed"))).has_value());

  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "line 1: this is no recording"},
      {"hello\n", "line 1: this is no recording"},
      {"{\"allm_recording\":2}\n", "line 1: the recording is of a version that this allm cannot read"},
      {header + "\n", "line 2: malformed JSON"},
      {header + good + "\n" + good.substr(0, 20), "line 3: malformed JSON"},
      {header + "[]", "line 2: must be an object"},
      {header + R"({"provider":"p","request":{},"events":[]})", "line 2: end is missing"},
      {header + R"({"provider":7,"request":{},"events":[],"end":"completed"})", "line 2: provider must be a text"},
      {header + R"({"provider":"p","request":7,"events":[],"end":"completed"})", "line 2: request must be an object"},
      {header + R"({"provider":"p","request":{},"events":{},"end":"completed"})", "line 2: events must be an array"},
      {header + R"({"provider":"p","request":{},"events":[],"end":"completed","x":1})", "line 2: x is not a member"},
      {header + line("", "over"), "line 2: end must be completed, failed or dropped"},
      {header + line("", "failed"), "line 2: end is failed if"},
      {header + line(unknown, "completed"), "line 2: end is failed if"},
      {header + line(unknown + "," + unknown, "failed"), "line 2: end is failed if"},
      {header + line(R"({"type":"text_delta","delta":"a"},{"type":"tool_halt"})", "completed"),
       "line 2: events[1]: type is not a kind of event that a model gives"},
  };
  for (const auto& [text, message] : cases) {
    const std::string path = folder.file("r.jsonl", text);
    const auto adapter = replay(path);
    ASSERT_FALSE(adapter.has_value()) << text;
    EXPECT_TRUE(adapter.error().is<ValidationError>(ValidationError::Reason::invalid_request));
    EXPECT_THAT(adapter.error().message(), HasSubstr("'" + path + "' is damaged at " + message));
    EXPECT_THAT(adapter.error().message(), EndsWith("; mend the line or record again"));
  }
}

}  // namespace
}  // namespace allm::replay_test
