// An adapter that breaks the protocol causes an error, never a hang, a crash or a wrong result.
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"

namespace allm::adapter_protocol_test {
namespace {

// An adapter whose stream gives these events, valid or not, and ends.
class Rogue : public Adapter {
 public:
  explicit Rogue(std::vector<Event> events) : events_(std::move(events)) {}
  std::string_view provider() const override { return "rogue"; }
  Result<std::unique_ptr<EventSource>> open(const AdapterCall&) override {
    ++opened;
    return std::make_unique<Source>(events_);
  }
  int opened = 0;

 private:
  class Source : public EventSource {
   public:
    explicit Source(std::vector<Event> events) : events_(std::move(events)) {}
    Poll poll(const Waker&) override {
      if (next_ == events_.size()) return Poll::end();
      return events_[next_++];
    }

   private:
    std::vector<Event> events_;
    std::size_t next_ = 0;
  };
  std::vector<Event> events_;
};

const Event kStarted = MessageStarted{assistant("")};
const Event kCompleted = MessageCompleted{.message = assistant("ab"), .finish_reason = FinishReason::stop};
const Error kError(AdapterError{.reason = AdapterError::Reason::network_error});

Engine rogue(std::vector<Event> events) { return Engine({.adapter = std::make_shared<Rogue>(std::move(events))}); }
std::vector<EventTag> tags_of(EventStream events) {
  std::vector<EventTag> tags;
  for (const Event& event : events) tags.push_back(event.tag());
  return tags;
}
bool malformed(const std::optional<Error>& error) {
  return error && error->is<AdapterError>(AdapterError::Reason::malformed_response);
}

TEST(AdapterProtocol, AStreamThatEndsWithoutAMessageIsAFailedCall) {
  const auto result = chat(rogue({}), {user("hi")});
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(malformed(result.error()));
  EXPECT_FALSE(generate(rogue({}), {.messages = {user("hi")}}).has_value());
}

TEST(AdapterProtocol, AStreamThatEndsWithinItsMessageInterruptsIt) {
  const auto result = chat(rogue({kStarted, TextDelta{.delta = "a"}}), {user("hi")});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->halted_reason(), "error");
  EXPECT_TRUE(malformed(*result->error()));
  EXPECT_EQ(result->final_response->output_text, "a");
  EXPECT_EQ(
      tags_of(stream(rogue({kStarted}), {user("hi")})),
      (std::vector{EventTag::message_started, EventTag::error, EventTag::step_completed, EventTag::chat_completed}));
}

TEST(AdapterProtocol, NothingFollowsAnError) {
  EXPECT_EQ(
      tags_of(stream(rogue({kStarted, ErrorEvent{kError}, TextDelta{.delta = "b"}, kCompleted}), {user("hi")})),
      (std::vector{EventTag::message_started, EventTag::error, EventTag::step_completed, EventTag::chat_completed}));
}

TEST(AdapterProtocol, AMessageNeedNotBeginWithMessageStarted) {
  const auto result = chat(rogue({TextDelta{.delta = "a"}, TextDelta{.delta = "b"}, kCompleted}), {user("hi")});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->text(), "ab");
  EXPECT_EQ(chat(rogue({kCompleted}), {user("hi")})->halted_reason(), "completed");
}

TEST(AdapterProtocol, EventsAfterTheCompletedMessageAreKept) {
  const auto tags = tags_of(stream_generate(rogue({kStarted, kCompleted, RawChunk{1}}), {.messages = {user("hi")}},
                                            {.include_raw_chunks = true}));
  EXPECT_EQ(tags, (std::vector{EventTag::message_started, EventTag::message_completed, EventTag::raw_chunk}));
}

TEST(AdapterProtocol, EventsThatNoModelMaySendAreRefused) {
  const std::vector<Event> foreign = {ToolExecutionStarted{.id = "a"},
                                      ToolExecutionCompleted{.id = "a"},
                                      ToolResultEncoded{.id = "a"},
                                      AskUserRequested{.tool_call_id = "a"},
                                      ToolHalt{.tool_call_id = "a"},
                                      StepCompleted{std::make_shared<StepResult>()},
                                      ChatCompleted{std::make_shared<ChatResult>()}};
  for (const Event& event : foreign) {
    const auto first = chat(rogue({event, kStarted, kCompleted}), {user("hi")});
    ASSERT_FALSE(first.has_value()) << to_string(event.tag());
    EXPECT_TRUE(malformed(first.error()));
    const auto later = chat(rogue({kStarted, event, kCompleted}), {user("hi")});
    ASSERT_TRUE(later.has_value()) << to_string(event.tag());
    EXPECT_EQ(later->halted_reason(), "error");
    EXPECT_TRUE(malformed(*later->error()));
  }
}

class Opening : public Adapter {
 public:
  explicit Opening(std::function<Result<std::unique_ptr<EventSource>>()> open) : open_(std::move(open)) {}
  std::string_view provider() const override { return "opening"; }
  Result<std::unique_ptr<EventSource>> open(const AdapterCall&) override { return open_(); }

 private:
  std::function<Result<std::unique_ptr<EventSource>>()> open_;
};

TEST(AdapterProtocol, AnAdapterThatOpensNoStreamIsAFailedCall) {
  const Engine engine({.adapter = std::make_shared<Opening>([] { return std::unique_ptr<EventSource>(); })});
  const auto result = chat(engine, {user("hi")});
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(malformed(result.error()));
}

TEST(AdapterProtocol, AnExceptionOfAnAdapterIsTheErrorOfItsCall) {
  const Engine opening({.adapter = std::make_shared<Opening>(
                            []() -> Result<std::unique_ptr<EventSource>> { throw std::runtime_error("open"); })});
  const auto refused = chat(opening, {user("hi")});
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is<AdapterError>(AdapterError::Reason::unknown));
  EXPECT_EQ(refused.error().message(), "the adapter threw: open");
  EXPECT_THROW(std::rethrow_exception(refused.error().cause()), std::runtime_error);
  class Throwing : public EventSource {
    Poll poll(const Waker&) override {
      if (first_) {
        first_ = false;
        return Event(MessageStarted{assistant("")});
      }
      throw std::runtime_error("poll");
    }
    bool first_ = true;
  };
  const Engine polling({.adapter = std::make_shared<Opening>([] { return std::make_unique<Throwing>(); })});
  const auto broken = chat(polling, {user("hi")});
  ASSERT_TRUE(broken.has_value());
  EXPECT_EQ(broken->halted_reason(), "error");
  EXPECT_EQ(broken->error()->message(), "the adapter threw: poll");
}

TEST(AdapterProtocol, AProvidersMetadataReachTheResponse) {
  const auto response = generate(rogue({kStarted, MessageCompleted{.message = assistant("ab"),
                                                                   .finish_reason = FinishReason::stop,
                                                                   .request_id = "not ours",
                                                                   .id = "resp_1",
                                                                   .model = "m-2024",
                                                                   .raw_finish_reason = "end_turn"}}),
                                 {.messages = {user("hi")}}, {.request_id = "ours"});
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->request_id, "ours");
  EXPECT_EQ(response->id, "resp_1");
  EXPECT_EQ(response->model, "m-2024");
  EXPECT_EQ(response->raw_finish_reason, "end_turn");
}

TEST(AdapterProtocol, AStreamThatIsNeverReadyCanBeDropped) {
  class Stuck : public EventSource {
    Poll poll(const Waker&) override { return Poll::pending(); }
  };
  const Engine engine({.adapter = std::make_shared<Opening>([] { return std::make_unique<Stuck>(); })});
  EventStream events = stream(engine, {user("hi")});
  EXPECT_TRUE(events.next(std::chrono::steady_clock::now()).is_pending());
  events.drop();
}

}  // namespace
}  // namespace allm::adapter_protocol_test
