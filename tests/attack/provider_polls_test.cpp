// A server or adapter that always has more data: one poll handles a bounded amount of it and returns, so that the
// consumer can look at its deadline, its cancellation and its other streams.
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"

#include "providers/http_source.hpp"
#include "runtime/runtime_impl.hpp"
#include "tests/attack/provider_answers.hpp"

namespace allm::attack_provider_polls_test {
namespace {

using namespace provider_attack;

// A response whose body never ends; after `most` bytes, when a poll has gone on for too long, it fails.
class EndlessTransfer : public HttpTransfer {
 public:
  EndlessTransfer(std::string piece, std::size_t most, std::size_t& sent)
      : piece_(std::move(piece)), most_(most), sent_(sent) {}
  Progress poll(const Waker&, std::string) override {
    if (!std::exchange(has_head_, true)) return HttpResponseHead{200, {{"content-type", "text/event-stream"}}};
    if (sent_ >= most_) return HttpError{.message = "the poll took all of it"};
    sent_ += piece_.size();
    return piece_;
  }
  const HttpRequest& sent() const override { return request_; }
  void drain_in_background() override {}

 private:
  const std::string piece_;
  const std::size_t most_;
  std::size_t& sent_;
  bool has_head_ = false;
  HttpRequest request_;
};

class CountingTarget : public Waker::Target {
 public:
  void wake() noexcept override { ++woken; }
  int woken = 0;
};

TEST(AttackProviderPolls, APollOfAFloodWithoutEventsReturns) {
  const std::string comments(1U << 20U, '\n');
  std::string unknown;
  while (unknown.size() < (1U << 20U)) unknown += event(R"({"type":"ping","x":"yyyyyyyyyyyyyyyyyyyy"})");
  for (const std::string& piece : {comments, unknown}) {
    for (const Protocol& protocol : protocols()) {
      if (std::string(protocol.name) != "anthropic" && piece == unknown) continue;  // they start the message
      std::size_t sent = 0;
      auto target = std::make_shared<CountingTarget>();
      HttpSource source(
          protocol.codec, protocol.codec->decoding(call_for(protocol)), [](const Error& error, int) { return error; },
          Runtime::process(), [&](HttpRequest) { return std::make_unique<EndlessTransfer>(piece, 64U << 20U, sent); },
          [](const auto&) {}, nullptr, {}, {});
      int pending = 0;
      while (pending < 20 && source.poll(Waker(target)).is_pending()) ++pending;
      EXPECT_EQ(pending, 20) << protocol.name;
      EXPECT_EQ(target->woken, pending) << protocol.name << ": each of these polls asks to be polled again";
      EXPECT_LE(sent, 4U << 20U) << protocol.name << ": at most 64 KiB are decoded in a poll";
    }
  }
}

// An adapter whose stream always has another delta.
class Endless : public Adapter {
 public:
  std::string_view provider() const override { return "endless"; }
  Result<std::unique_ptr<EventSource>> open(const AdapterCall&) override { return std::make_unique<Source>(*this); }
  std::size_t polls = 0;
  std::size_t most = 5'000'000;

 private:
  class Source : public EventSource {
   public:
    explicit Source(Endless& owner) : owner_(owner) {}
    Poll poll(const Waker&) override {
      if (owner_.polls++ == 0) return MessageStarted{assistant("")};
      if (owner_.polls > owner_.most) return Poll::end();
      return TextDelta{.delta = "x"};
    }

   private:
    Endless& owner_;
  };
};

TEST(AttackProviderPolls, APollThatDropsEventsReturns) {
  const auto adapter = std::make_shared<Endless>();
  const Engine engine({.adapter = adapter});
  EventStream endless = stream(engine, {user("hi")}, {.emit_text_deltas = false});
  auto target = std::make_shared<CountingTarget>();
  int pending = 0;
  for (int i = 0; i < 10; ++i) pending += endless.poll(Waker(target)).is_pending() ? 1 : 0;
  EXPECT_EQ(pending, 9) << "all but the first, which is the start of the message";
  EXPECT_EQ(target->woken, pending);
  EXPECT_LE(adapter->polls, 10'000U);
}

TEST(AttackProviderPolls, ARunEndsAtItsDeadlineAndWhenItIsCancelled) {
  const auto adapter = std::make_shared<Endless>();
  const Engine engine({.adapter = adapter});
  const Result<ChatResult> timed = chat(engine, {user("hi")}, {.run_timeout = std::chrono::milliseconds(20)});
  ASSERT_TRUE(timed.has_value()) << timed.error().message();
  EXPECT_EQ(timed->halted_reason(), "run_timeout");

  std::stop_source stop;
  adapter->polls = 0;
  CallOptions options;
  options.cancel.now = stop.get_token();
  options.on_event = [&](const Event&) { stop.request_stop(); };
  const Result<ChatResult> stopped = chat(engine, {user("hi")}, options);
  ASSERT_TRUE(stopped.has_value()) << stopped.error().message();
  EXPECT_EQ(stopped->halted_reason(), "cancelled");
  EXPECT_LE(adapter->polls, 10U);
}

// 160,000 calls took 178 s in one poll, with a run_timeout of 20 s.
TEST(AttackProviderPolls, ARunEndsAtItsDeadlineWhileTheAnswerIsDecoded) {
  const std::vector<Call> many(20'000, Call{"same"});
  std::string piece = gemini_stream(many);
  piece.resize(piece.find("data: {\"candidates\":[{\"finishReason\""));
  class Flood : public Adapter {
   public:
    explicit Flood(std::string piece) : piece_(std::move(piece)) {}
    std::string_view provider() const override { return "gemini"; }
    Result<std::unique_ptr<EventSource>> open(const AdapterCall& call) override {
      const Protocol gemini = protocols()[3];
      return std::make_unique<HttpSource>(
          gemini.codec, gemini.codec->decoding(call), [](const Error& error, int) { return error; }, Runtime::process(),
          [this](HttpRequest) { return std::make_unique<EndlessTransfer>(piece_, 1U << 30U, sent_); },
          [](const auto&) {}, nullptr, HttpRequest{},
          DecoderLimits{.max_body_bytes = 1U << 30U, .answer = call.limits});
    }
    std::size_t sent_ = 0;

   private:
    std::string piece_;
  };
  const auto flood = std::make_shared<Flood>(piece);
  const Engine engine(
      {.adapter = flood,
       .model = "gemini-2.5-flash",
       .answer_limits = {.max_calls = 1U << 30U, .max_call_bytes = 1U << 30U, .max_argument_values = 1U << 30U}});
  const Result<ChatResult> result = chat(engine, {user("hi")}, {.run_timeout = std::chrono::milliseconds(200)});
  ASSERT_TRUE(result.has_value()) << result.error().message();
  EXPECT_EQ(result->halted_reason(), "run_timeout");
  EXPECT_LT(flood->sent_, 1U << 30U);
}

}  // namespace
}  // namespace allm::attack_provider_polls_test
