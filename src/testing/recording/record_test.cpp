// Recording: events are passed on unchanged, and the file has the requests and events.
#include <csignal>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"
#include "allm/recording.hpp"

#include "testing/recording/recording_file.hpp"
#include "testing/recording/test_recording.hpp"

namespace allm::record_test {
namespace {

using testing::call_of;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::played;
using testing::text_of;
using Reason = AdapterError::Reason;

FakeCallScript says(const std::string& text) { return {fake_text(text), fake_finish(FinishReason::stop)}; }

std::shared_ptr<Adapter> recorded(FakeScript script, const std::string& path, RecordOptions options = {}) {
  auto adapter = record(fake(std::move(script)), path, options);
  EXPECT_TRUE(adapter.has_value()) << adapter.error().message();
  return *adapter;
}

std::vector<Exchange> exchanges(const std::string& path) {
  auto read = read_recording(path);
  EXPECT_TRUE(read.has_value()) << read.error().message();
  return *std::move(read);
}

TEST(Record, PassesEventsOnAndWritesThemToTheFile) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  const FakeScript script = {
      {fake_text("a"), fake_text("b"), fake_tool_call("c0", "t", {{"x", 1}}), FakeToolCallDelta{"c1", "{"},
       FakeRawChunk{{{"n", 1}}}, fake_usage({.input_tokens = 3}), fake_finish(FinishReason::tool_calls)},
      {fake_text("half"), fake_error(Reason::network_error)},
      {fake_preflight_error(Reason::rate_limited)},
  };
  const auto plain = fake(script);
  const auto adapter = recorded(script, path);
  EXPECT_EQ(adapter->provider(), "fake");
  std::vector<std::vector<Event>> said;
  for (std::size_t i = 0; i < script.size(); ++i) {
    said.push_back(played(*adapter, call_of("hi")));
    EXPECT_EQ(said.back(), played(*plain, call_of("hi")));
  }

  const auto found = exchanges(path);
  ASSERT_EQ(found.size(), 3U);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].events, said[i]) << "deltas one by one";
    EXPECT_EQ(found[i].provider, "fake");
    EXPECT_EQ(found[i].end, i == 0 ? Exchange::End::completed : Exchange::End::failed);
    EXPECT_EQ(found[i].request["request"]["data"]["messages"][0]["data"]["content"], "hi");
  }
}

TEST(Record, WritesTheDocumentedFormat) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  const auto adapter = recorded({says("Hi.")}, path);
  AdapterCall call = call_of("hi");
  call.model = "m";
  call.request_id = "run-id";
  call.session_id = "session-id";
  call.options = {{"top_p", 0.5}};
  played(*adapter, call);

  const std::string text = text_of(path);
  const std::size_t first = text.find('\n');
  EXPECT_EQ(text.substr(0, first), R"({"allm_recording":1})");
  const auto line = parse_json(text.substr(first + 1));
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->size(), 4U);
  EXPECT_EQ((*line)["provider"], "fake");
  EXPECT_EQ((*line)["request"].size(), 3U);
  EXPECT_EQ((*line)["request"]["model"]["data"]["id"], "m");
  EXPECT_EQ((*line)["request"]["options"], Json({{"top_p", 0.5}}));
  EXPECT_EQ((*line)["events"][1], Json({{"type", "text_delta"}, {"delta", "Hi."}}));
  EXPECT_EQ((*line)["end"], "completed");
  EXPECT_THAT(text, Not(HasSubstr("run-id")));
  EXPECT_THAT(text, Not(HasSubstr("session-id")));
}

TEST(Record, CreatesAFileThatOnlyItsOwnerMayRead) {
  const Folder folder;
  const auto adapter = recorded({}, folder.file("r.jsonl"));
  struct stat status{};
  ASSERT_EQ(::stat(folder.file("r.jsonl").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(Record, WritesDroppedStreamsAsFarAsTheyWereRead) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  {
    auto source = recorded({{fake_text("a"), fake_text("b")}}, path)->open(call_of("hi"));
    EventStream stream(*std::move(source));
    stream.next();
    stream.next();
    EXPECT_EQ(exchanges(path).size(), 0U) << "it is not over";
  }
  const auto found = exchanges(path);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].end, Exchange::End::dropped);
  EXPECT_EQ(found[0].events, (std::vector<Event>{MessageStarted{assistant("")}, TextDelta{.delta = "a"}}));
}

TEST(Record, AMessageThatWasCompletedIsNotDropped) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  {
    EventStream stream(*recorded({{}}, path)->open(call_of("hi")));
    stream.next();
    EXPECT_NE(stream.next()->get_if<MessageCompleted>(), nullptr);
  }
  EXPECT_EQ(exchanges(path).at(0).end, Exchange::End::completed);
}

TEST(Record, ReplacesOrAppends) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  played(*recorded({says("1")}, path), call_of("hi"));
  played(*recorded({says("2")}, path, {.append = true}), call_of("hi"));
  EXPECT_EQ(exchanges(path).size(), 2U);
  played(*recorded({says("3")}, path), call_of("hi"));
  ASSERT_EQ(exchanges(path).size(), 1U);
  EXPECT_EQ(exchanges(path)[0].events[1], Event(TextDelta{.delta = "3"}));
  played(*recorded({says("4")}, folder.file("new.jsonl"), {.append = true}), call_of("hi"));
  EXPECT_EQ(exchanges(folder.file("new.jsonl")).size(), 1U) << "there need not be a file";
}

TEST(Record, AppendsToRecordingsOnly) {
  const Folder folder;
  for (const char* text : {"hello\n", "{\"allm_recording\":2}\n", "{\"allm_recording\":1}\n{\"provi"}) {
    const std::string path = folder.file("r.jsonl", text);
    const auto adapter = record(fake({}), path, {.append = true});
    ASSERT_FALSE(adapter.has_value());
    EXPECT_TRUE(adapter.error().is<EngineError>(EngineError::Reason::invalid_engine));
    EXPECT_THAT(adapter.error().message(), HasSubstr(path));
    EXPECT_EQ(text_of(path), text);
  }
}

TEST(Record, RefusesFilesThatItCannotWrite) {
  const Folder folder;
  const auto nowhere = record(fake({}), folder.file("no/such/folder.jsonl"));
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_TRUE(nowhere.error().is<EngineError>(EngineError::Reason::invalid_engine));
  EXPECT_EQ(nowhere.error().message(),
            "cannot write the recording '" + folder.file("no/such/folder.jsonl") +
                "': No such file or directory (ENOENT); see that its folder exists and that you may write there");
  EXPECT_FALSE(record(fake({}), folder.file("")).has_value()) << "a folder";
  EXPECT_FALSE(record(fake({}), "/dev/null").has_value()) << "no regular file";
  const auto nothing = record(nullptr, folder.file("r.jsonl"));
  ASSERT_FALSE(nothing.has_value());
  EXPECT_TRUE(nothing.error().is<EngineError>(EngineError::Reason::missing_adapter));
}

// While it exists, files of this process cannot grow.
class FullDisk {
 public:
  explicit FullDisk(rlim_t size) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = size, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(Record, AFailedWriteKeepsTheAnswerAndFailsTheNextCall) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  const auto adapter = recorded({says("1"), says("2"), says("3"), says("4")}, path);
  const Engine engine({.adapter = adapter});
  ASSERT_TRUE(chat(engine, {user("hi")}).has_value());
  const std::string before = text_of(path);
  {
    const FullDisk full(before.size() + 10);
    const auto answer = chat(engine, {user("hi")});
    ASSERT_TRUE(answer.has_value()) << answer.error().message();
    EXPECT_EQ(answer->text(), "2");
  }
  EXPECT_EQ(text_of(path), before) << "no half of a line";
  for (int i = 0; i < 2; ++i) {
    const auto refused = chat(engine, {user("hi")});
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(refused.error().is<EngineError>(EngineError::Reason::invalid_engine));
    EXPECT_THAT(refused.error().message(), HasSubstr(path));
    EXPECT_THAT(refused.error().message(), HasSubstr("EFBIG"));
  }
}

TEST(Record, ReportsAValueThatJsonCannotCarry) {
  const Folder folder;
  const auto adapter = recorded({says("\xff"), says("2")}, folder.file("r.jsonl"));
  EXPECT_EQ(played(*adapter, call_of("hi")).size(), 4U);
  const auto refused = adapter->open(call_of("hi"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message(), HasSubstr("UTF-8"));
}

// The first call produces an event that only the tool runner may produce; the second opens a null source.
class Rogue : public Adapter {
 public:
  std::string_view provider() const override { return "rogue"; }
  Result<std::unique_ptr<EventSource>> open(const AdapterCall&) override {
    if (std::exchange(opened_, true)) return nullptr;
    class Source : public EventSource {
      Poll poll(const Waker&) override { return Event(ToolResultEncoded{.id = "c0"}); }
    };
    return std::make_unique<Source>();
  }

 private:
  bool opened_ = false;
};

TEST(Record, ReportsAnEventThatAModelMustNotProduce) {
  const Folder folder;
  const auto adapter = record(std::make_shared<Rogue>(), folder.file("r.jsonl"));
  {
    EventStream(*(*adapter)->open(call_of("hi"))).next();
  }
  const auto refused = (*adapter)->open(call_of("hi"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message(), HasSubstr("tool_result_encoded"));
}

TEST(Record, PassesOnANullSource) {
  const Folder folder;
  const auto rogue = std::make_shared<Rogue>();
  ASSERT_TRUE(rogue->open(call_of("")).has_value());
  const auto adapter = record(rogue, folder.file("r.jsonl"));
  const auto source = (*adapter)->open(call_of("hi"));
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ(*source, nullptr);
  EXPECT_EQ(exchanges(folder.file("r.jsonl")).size(), 1U);
}

// Its streams end without an event.
class Mute : public Adapter {
 public:
  std::string_view provider() const override { return "mute"; }
  Result<std::unique_ptr<EventSource>> open(const AdapterCall&) override {
    class Source : public EventSource {
      Poll poll(const Waker&) override { return Poll::end(); }
    };
    return std::make_unique<Source>();
  }
};

TEST(Record, AStreamThatEndsTooEarlyIsNotDropped) {
  const Folder folder;
  const auto adapter = record(std::make_shared<Mute>(), folder.file("r.jsonl"));
  EXPECT_TRUE(played(**adapter, call_of("hi")).empty());
  EXPECT_EQ(exchanges(folder.file("r.jsonl")).at(0).end, Exchange::End::completed) << "the replay ends there too";
}

TEST(Record, RedactsKeys) {
  const Folder folder;
  const std::string path = folder.file("r.jsonl");
  const std::string own = "my-own-secret-0123456789";
  const auto adapter = recorded(
      {{fake_text("is it sk-pro"), fake_text("j-1234567"), fake_text("89? or my-own-sec"), fake_text("ret-0123456789?"),
        fake_tool_call("c0", "t", {{"key", own}}), FakeRawChunk{{{"delta", "my-own-sec"}}},
        FakeRawChunk{{{"delta", "ret-0123456789"}}}, fake_finish(FinishReason::stop)},
       {FakeError{Error(AdapterError{.reason = Reason::unknown}, "bad key " + own)}}},
      path);
  AdapterCall call = call_of("my key is sk-proj-123456789 and " + own);
  call.options = {{own, own}};
  call.api_key = own;
  const auto said = played(*adapter, call);
  EXPECT_EQ(said[4], Event(TextDelta{.delta = "ret-0123456789?"})) << "only the file is redacted";
  played(*adapter, call);

  const std::string text = text_of(path);
  for (const char* part : {"123456789", "sk-proj", "my-own-sec", "ret-0123"}) EXPECT_THAT(text, Not(HasSubstr(part)));
  EXPECT_THAT(text, HasSubstr("my key is [REDACTED] and [REDACTED]"));
  EXPECT_THAT(text, HasSubstr("bad key [REDACTED]"));
  const auto found = exchanges(path);
  EXPECT_EQ(found[0].events.size(), said.size());
  EXPECT_EQ(found[0].events[1], Event(TextDelta{.delta = "is it [REDACTED]"}));
  EXPECT_EQ(found[0].events[3], Event(TextDelta{.delta = "? or [REDACTED]"}));
}

}  // namespace
}  // namespace allm::record_test
