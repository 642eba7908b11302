#include "allm/stream.hpp"

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/blocking.hpp"
#include "runtime/failed_source.hpp"
#include "runtime/test_waits.hpp"

namespace allm::stream_test {
namespace {

using Clock = std::chrono::steady_clock;

// A source whose events the test puts in, from any thread.
class Channel {
 public:
  void say(std::string text) { put(Event(TextDelta{.delta = std::move(text)})); }
  void end() { put(std::nullopt); }
  EventStream stream() { return EventStream(std::make_unique<Source>(state_)); }
  int polls() const {
    const std::lock_guard lock(state_->mutex);
    return state_->polls;
  }
  bool dropped() const {
    const std::lock_guard lock(state_->mutex);
    return state_->dropped;
  }
  testing::Counter& pending() { return state_->pending; }

 private:
  struct State {
    std::mutex mutex;
    std::deque<std::optional<Event>> events;  // null is the end
    Waker waker;
    int polls = 0;
    bool dropped = false;
    testing::Counter pending;
  };
  class Source : public EventSource {
   public:
    explicit Source(std::shared_ptr<State> state) : state_(std::move(state)) {}
    ~Source() override {
      const std::lock_guard lock(state_->mutex);
      state_->dropped = true;
    }
    Poll poll(const Waker& waker) override {
      const std::lock_guard lock(state_->mutex);
      ++state_->polls;
      if (state_->events.empty()) {
        state_->waker = waker;
        state_->pending.add();
        return Poll::pending();
      }
      if (!state_->events.front()) return Poll::end();
      Event event = *std::move(state_->events.front());
      state_->events.pop_front();
      return event;
    }

   private:
    std::shared_ptr<State> state_;
  };
  void put(std::optional<Event> event) {
    Waker waker;
    {
      const std::lock_guard lock(state_->mutex);
      state_->events.push_back(std::move(event));
      waker = state_->waker;
    }
    waker.wake();
  }
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

std::string text_of(const Poll& event) {
  return event && event->get_if<TextDelta>() ? event->get_if<TextDelta>()->delta : "nothing";
}

TEST(EventStream, WithoutASourceIsAtItsEnd) {
  EventStream stream;
  EXPECT_FALSE(stream.next().has_event());
  EXPECT_TRUE(stream.try_next().is_end());
  EXPECT_TRUE(stream.next(Clock::now()).is_end());
  for ([[maybe_unused]] const Event& event : stream) FAIL();
}

TEST(EventStream, DoesNotPollItsSourceBeforeItIsRead) {
  Channel channel;
  channel.say("a");
  EventStream stream = channel.stream();
  EXPECT_EQ(channel.polls(), 0);
  EXPECT_EQ(text_of(stream.next()), "a");
  EXPECT_EQ(channel.polls(), 1) << "and for no more than is read";
}

TEST(EventStream, NextBlocksUntilThereIsAnEvent) {
  Channel channel;
  EventStream stream = channel.stream();
  std::thread teller([&] {
    channel.pending().wait_for(1);
    channel.say("a");
    channel.pending().wait_for(2);
    channel.end();
  });
  EXPECT_EQ(text_of(stream.next()), "a");
  EXPECT_FALSE(stream.next().has_event());
  EXPECT_FALSE(stream.next().has_event()) << "the end is for ever";
  teller.join();
}

TEST(EventStream, NextWithADeadlineGivesUpAndCanBeCalledAgain) {
  Channel channel;
  EventStream stream = channel.stream();
  EXPECT_TRUE(stream.next(Clock::now()).is_pending());
  EXPECT_TRUE(stream.next(Clock::now() + std::chrono::milliseconds(2)).is_pending());
  EXPECT_TRUE(stream.next(Clock::time_point::min()).is_pending());
  channel.say("a");
  EXPECT_TRUE(stream.next(Clock::now()).has_event()) << "what is there is given, whatever the deadline";
  std::thread teller([&] {
    channel.pending().wait_for(4);
    channel.say("b");
  });
  Poll polled = stream.next(Clock::now() + testing::kWatchdog);
  ASSERT_TRUE(polled.has_event());
  EXPECT_EQ(text_of(polled.take()), "b");
  channel.end();
  EXPECT_TRUE(stream.next(Clock::now()).is_end());
  teller.join();
}

TEST(EventStream, TryNextNeverWaits) {
  Channel channel;
  EventStream stream = channel.stream();
  EXPECT_TRUE(stream.try_next().is_pending());
  channel.say("a");
  EXPECT_TRUE(stream.try_next().has_event());
  channel.end();
  EXPECT_TRUE(stream.try_next().is_end());
  EXPECT_TRUE(channel.dropped()) << "what a finished run held is freed";
}

TEST(EventStream, PollCallsTheWakerWhenPollingAgainIsWorthIt) {
  Channel channel;
  EventStream stream = channel.stream();
  testing::Counter woken;
  const Waker waker([&] { woken.add(); });
  EXPECT_TRUE(stream.poll(waker).is_pending());
  EXPECT_EQ(woken.value(), 0U);
  std::thread([&] { channel.say("a"); }).join();
  EXPECT_EQ(woken.value(), 1U);
  EXPECT_TRUE(stream.poll(waker).has_event());
}

TEST(EventStream, IsARange) {
  Channel channel;
  channel.say("a");
  channel.say("b");
  channel.end();
  std::string text;
  for (const Event& event : channel.stream()) text += event.get_if<TextDelta>()->delta;
  EXPECT_EQ(text, "ab");
}

TEST(EventStream, ALoopThatIsLeftCanBeContinued) {
  Channel channel;
  for (const char* text : {"a", "b", "c"}) channel.say(text);
  EventStream stream = channel.stream();
  for (const Event& event : stream) {
    EXPECT_EQ(text_of(event), "a");
    break;
  }
  EXPECT_EQ(text_of(stream.next()), "b");
}

TEST(EventStream, AfterADropItIsAtItsEndAndItsSourceIsDestroyed) {
  Channel channel;
  channel.say("a");
  EventStream stream = channel.stream();
  stream.drop();
  EXPECT_TRUE(channel.dropped());
  EXPECT_FALSE(stream.next().has_event());
  EXPECT_TRUE(stream.try_next().is_end());
  channel.say("nobody reads this");
}

TEST(EventStream, DestroyedOrOverwrittenDropsItsSource) {
  Channel first;
  Channel second;
  {
    EventStream stream = first.stream();
    stream = second.stream();
    EXPECT_TRUE(first.dropped());
    EXPECT_FALSE(second.dropped());
  }
  EXPECT_TRUE(second.dropped());
}

TEST(EventStream, AWakeUpAfterTheDropIsHarmless) {
  Channel channel;
  EventStream stream = channel.stream();
  EXPECT_TRUE(stream.next(Clock::now()).is_pending());
  stream.drop();
  channel.say("wakes the thread's parker, which is still there");
}

TEST(EventStream, CanBeReadWhileAnotherOneIsPolled) {
  // The source of the outer stream reads the inner one while it is polled, as a callback of a run may.
  Channel inner_channel;
  Channel outer_channel;
  class Nesting : public EventSource {
   public:
    Nesting(EventStream inner, EventStream outer) : inner_(std::move(inner)), outer_(std::move(outer)) {}
    Poll poll(const Waker& waker) override {
      if (first_) {
        first_ = false;
        EXPECT_EQ(text_of(inner_.next()), "inner");
      }
      return outer_.poll(waker);
    }

   private:
    EventStream inner_;
    EventStream outer_;
    bool first_ = true;
  };
  EventStream stream(std::make_unique<Nesting>(inner_channel.stream(), outer_channel.stream()));
  std::thread teller([&] {
    inner_channel.pending().wait_for(1);
    inner_channel.say("inner");
    outer_channel.pending().wait_for(1);
    outer_channel.say("outer");
  });
  EXPECT_EQ(text_of(stream.next()), "outer");
  teller.join();
}

TEST(EventStream, AnExceptionOfItsSourceReachesTheReader) {
  class Throwing : public EventSource {
    Poll poll(const Waker&) override { throw std::runtime_error("mine"); }
  };
  EventStream stream(std::make_unique<Throwing>());
  EXPECT_THROW(stream.next(), std::runtime_error);
  // The thread can wait again: the exception released its parker.
  Channel channel;
  std::thread teller([&] {
    channel.pending().wait_for(1);
    channel.say("a");
  });
  EventStream other = channel.stream();
  EXPECT_EQ(text_of(other.next()), "a");
  teller.join();
}

TEST(EventStream, ARangeWhoseSourceThrowsIsAtItsEnd) {
  class ThrowsSecond : public EventSource {
    Poll poll(const Waker&) override {
      if (first_) throw std::runtime_error("mine");
      first_ = true;
      return TextDelta{.delta = std::string(100, 'x')};
    }
    bool first_ = false;
  };
  EventStream stream(std::make_unique<ThrowsSecond>());
  auto at = stream.begin();
  EXPECT_EQ(at->get_if<TextDelta>()->delta.size(), 100U);
  EXPECT_THROW(++at, std::runtime_error);
  EXPECT_EQ(at, stream.end());
}

TEST(EventStream, AWakerThatThrowsEndsTheStreamWithAnError) {
  Channel channel;
  EventStream stream = channel.stream();
  const Waker broken([] { throw std::runtime_error("no loop to post to"); });
  EXPECT_TRUE(stream.poll(broken).is_pending());
  channel.say("a");
  EXPECT_EQ(text_of(stream.poll(broken)), "a") << "what is there is still given";
  const Poll failed = stream.poll(broken);
  ASSERT_TRUE(failed && failed->get_if<ErrorEvent>());
  EXPECT_EQ(failed->get_if<ErrorEvent>()->error.message(), "the waker of the stream threw: no loop to post to");
  EXPECT_TRUE(stream.poll(broken).is_end());
}

TEST(Poll, IsReadLikeAPointerToItsEvent) {
  Poll polled = TextDelta{.delta = "a"};
  ASSERT_TRUE(polled);
  EXPECT_EQ(polled->tag(), EventTag::text_delta);
  EXPECT_EQ(*polled, Event(TextDelta{.delta = "a"}));
  const Event taken = *std::move(polled);
  EXPECT_EQ(taken, Event(TextDelta{.delta = "a"}));
  EXPECT_FALSE(Poll::pending());
  EXPECT_FALSE(Poll::end());
}

TEST(Waker, WithoutATargetWakesNobody) { Waker().wake(); }

TEST(Waker, CopiesWakeTheSameConsumerEvenAfterTheFirstIsGone) {
  int woken = 0;
  std::optional<Waker> waker(std::in_place, [&] { ++woken; });
  const Waker copy = *waker;
  waker->wake();
  waker.reset();
  copy.wake();
  EXPECT_EQ(woken, 2);
}

TEST(Drain, HandsOverEveryEvent) {
  Channel channel;
  std::thread teller([&] {
    for (int i = 0; i < 100; ++i) channel.say("x");
    channel.end();
  });
  class Borrowed : public EventSource {
   public:
    explicit Borrowed(EventStream stream) : stream_(std::move(stream)) {}
    Poll poll(const Waker& waker) override { return stream_.poll(waker); }

   private:
    EventStream stream_;
  };
  Borrowed source(channel.stream());
  int events = 0;
  drain(source, [&](const Event&) { ++events; });
  EXPECT_EQ(events, 100);
  teller.join();
}

TEST(FailedSource, GivesItsErrorAndEnds) {
  EventStream stream(std::make_unique<FailedSource>(Error(EngineError{.reason = EngineError::Reason::missing_key})));
  const Poll event = stream.next();
  ASSERT_TRUE(event && event->get_if<ErrorEvent>());
  EXPECT_EQ(event->get_if<ErrorEvent>()->error.reason(), "missing_key");
  EXPECT_FALSE(stream.next().has_event());
}

}  // namespace
}  // namespace allm::stream_test
