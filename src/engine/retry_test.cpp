// When a failed model call is retried.
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allm/chat.hpp"
#include "allm/fake.hpp"
#include "allm/telemetry.hpp"

namespace allm::retry_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using Reason = AdapterError::Reason;

const FakeCallScript kAnswer = {fake_text("here"), fake_finish(FinishReason::stop)};
FakeCallScript refused(Reason reason) { return {fake_preflight_error(reason)}; }
RetryPolicy quick(int attempts = 3) {
  return {.max_attempts = attempts, .base_delay = milliseconds(1), .jitter = milliseconds(0)};
}

struct Rig {
  Rig(FakeScript script, RetryPolicy policy)
      : adapter(fake(std::move(script))),
        telemetry(std::make_shared<CollectingTelemetry>()),
        engine({.adapter = adapter, .retry = std::move(policy), .telemetry = telemetry}) {}
  std::vector<Json> retries() const {
    std::vector<Json> details;
    for (const auto& record : telemetry->records()) {
      if (record.name == "allm.adapter.retry") details.push_back(record.detail);
    }
    return details;
  }
  std::shared_ptr<FakeAdapter> adapter;
  std::shared_ptr<CollectingTelemetry> telemetry;
  Engine engine;
};

TEST(Retry, HappensForTransientErrors) {
  for (const Reason reason :
       {Reason::rate_limited, Reason::provider_unavailable, Reason::timeout, Reason::network_error}) {
    const Rig rig({refused(reason), refused(reason), kAnswer}, quick());
    const auto result = chat(rig.engine, {user("hi")});
    ASSERT_TRUE(result.has_value()) << to_string(reason);
    EXPECT_EQ(result->text(), "here");
    EXPECT_EQ(rig.adapter->calls(), 3U);
    const std::string name(to_string(reason));
    EXPECT_EQ(rig.retries(), (std::vector<Json>{{{"attempt", 1}, {"delay_ms", 1}, {"reason", name}},
                                                {{"attempt", 2}, {"delay_ms", 2}, {"reason", name}}}));
  }
}

TEST(Retry, DoesNotHappenForPermanentErrors) {
  for (const Reason reason :
       {Reason::authentication_failed, Reason::invalid_request, Reason::context_length_exceeded, Reason::content_filter,
        Reason::malformed_response, Reason::unsupported_feature, Reason::no_scripted_response, Reason::unknown}) {
    const Rig rig({refused(reason), kAnswer}, quick());
    const auto result = chat(rig.engine, {user("hi")});
    ASSERT_FALSE(result.has_value()) << to_string(reason);
    EXPECT_TRUE(result.error().is<AdapterError>(reason));
    EXPECT_EQ(rig.adapter->calls(), 1U);
  }
}

TEST(Retry, EndsAfterTheLastAttempt) {
  const Rig rig({refused(Reason::timeout), refused(Reason::rate_limited), kAnswer}, quick(2));
  const auto result = chat(rig.engine, {user("hi")});
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is<AdapterError>(Reason::rate_limited)) << "the last error";
  EXPECT_EQ(rig.adapter->calls(), 2U);
}

TEST(Retry, CanBeSwitchedOff) {
  for (RetryPolicy policy : {RetryPolicy::off(), quick(0), quick(1)}) {
    const Rig rig({refused(Reason::rate_limited), kAnswer}, std::move(policy));
    EXPECT_FALSE(generate(rig.engine, {.messages = {user("hi")}}).has_value());
    EXPECT_EQ(rig.adapter->calls(), 1U);
  }
}

TEST(Retry, FollowsTheReasonsOfThePolicy) {
  RetryPolicy policy = quick();
  policy.retry_on = {Reason::network_error};
  const Rig rig({refused(Reason::network_error), refused(Reason::rate_limited), kAnswer}, policy);
  const auto result = chat(rig.engine, {user("hi")});
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is<AdapterError>(Reason::rate_limited));
}

TEST(Retry, DoesNotHappenAfterAnEventWasDelivered) {
  const Rig rig({{fake_text("par"), fake_error(Reason::rate_limited)}, kAnswer}, quick());
  const auto response = generate(rig.engine, {.messages = {user("hi")}});
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->finish_reason, FinishReason::error);
  EXPECT_EQ(response->output_text, "par");
  ASSERT_TRUE(response->error.has_value());
  EXPECT_TRUE(response->error->is<AdapterError>(Reason::rate_limited));
  EXPECT_EQ(rig.adapter->calls(), 1U);
}

TEST(Retry, CountsAttemptsPerModelCall) {
  const FakeCallScript calls = {fake_tool_call("c0", "t"), fake_finish(FinishReason::tool_calls)};
  Rig rig({refused(Reason::timeout), calls, refused(Reason::timeout), refused(Reason::timeout), kAnswer}, quick());
  const auto result =
      chat(rig.engine.with_tools({{.name = "t", .handler = [](const Json&) { return ok(1); }}}), {user("hi")});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->text(), "here");
  EXPECT_EQ(result->steps.size(), 2U);
}

// An adapter whose first calls fail with their first event; later calls succeed.
class FailingFirst : public Adapter {
 public:
  FailingFirst(Error error, int failures) : error_(std::move(error)), failures_(failures), fake_(fake({kAnswer})) {}
  std::string_view provider() const override { return "failing"; }
  Result<std::unique_ptr<EventSource>> open(const AdapterCall& call) override {
    if (opened_++ >= failures_) return fake_->open(call);
    class Failing : public EventSource {
     public:
      explicit Failing(Error error) : error_(std::move(error)) {}
      Poll poll(const Waker&) override { return ErrorEvent{error_}; }

     private:
      Error error_;
    };
    return std::make_unique<Failing>(error_);
  }
  int opened() const { return opened_; }

 private:
  Error error_;
  int failures_;
  int opened_ = 0;
  std::shared_ptr<FakeAdapter> fake_;
};

TEST(Retry, AnErrorBeforeTheMessageFailsTheCall) {
  const auto adapter = std::make_shared<FailingFirst>(Error(AdapterError{.reason = Reason::timeout}), 2);
  const auto result = chat(Engine({.adapter = adapter, .retry = quick()}), {user("hi")});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->text(), "here");
  EXPECT_EQ(adapter->opened(), 3);
  EXPECT_FALSE(
      chat(Engine({.adapter = std::make_shared<FailingFirst>(Error(AdapterError{.reason = Reason::timeout}), 3),
                   .retry = quick()}),
           {user("hi")})
          .has_value());
}

TEST(Retry, OtherKindsOfErrorsAreNotRetried) {
  const auto adapter = std::make_shared<FailingFirst>(Error(StreamError{.reason = StreamError::Reason::timeout}), 1);
  EXPECT_FALSE(chat(Engine({.adapter = adapter, .retry = quick()}), {user("hi")}).has_value());
  EXPECT_EQ(adapter->opened(), 1);
}

// The delay that telemetry reports for the last retry. The test does not wait for it.
std::int64_t announced_delay(RetryPolicy policy, std::optional<std::int64_t> retry_after_ms, int failures = 1) {
  FakeScript script;
  for (int i = 0; i < failures; ++i) {
    script.push_back(
        {FakePreflightError{Error(AdapterError{.reason = Reason::rate_limited, .retry_after_ms = retry_after_ms})}});
  }
  script.push_back(kAnswer);
  const Rig rig(std::move(script), std::move(policy));
  EventStream events = stream(rig.engine, {user("hi")});
  while (rig.retries().size() < static_cast<std::size_t>(failures)) {
    (void)events.next(std::chrono::steady_clock::now() + milliseconds(1));
  }
  return rig.retries().back().at("delay_ms").get<std::int64_t>();
}

TEST(Retry, WaitsAsLongAsTheProviderAsks) {
  const RetryPolicy policy{.base_delay = hours(1), .jitter = milliseconds(0)};
  EXPECT_EQ(announced_delay(policy, 77), 77);
  EXPECT_EQ(announced_delay(policy, std::nullopt), 30'000) << "the most that a backoff may take";
  EXPECT_EQ(announced_delay(policy, 0), 30'000);
  RetryPolicy deaf = policy;
  deaf.respect_retry_after = false;
  EXPECT_EQ(announced_delay(deaf, 77), 30'000);
  RetryPolicy patient = policy;
  patient.max_retry_after = milliseconds::max();
  EXPECT_EQ(announced_delay(patient, milliseconds::max().count() - 1), milliseconds::max().count() - 1);
}

TEST(Retry, DoesNotWaitLongerThanMaxRetryAfterOrTheRunsDeadline) {
  const auto asks = [](std::int64_t wait) {
    return std::make_shared<FailingFirst>(Error(AdapterError{.reason = Reason::rate_limited, .retry_after_ms = wait}),
                                          1);
  };
  const auto patient = asks(600'001);
  EXPECT_FALSE(chat(Engine({.adapter = patient, .retry = quick()}), {user("hi")}).has_value());
  EXPECT_EQ(patient->opened(), 1);
  const auto hurried = asks(60'000);
  const auto result =
      chat(Engine({.adapter = hurried, .retry = quick()}), {user("hi")}, {.run_timeout = milliseconds(50'000)});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().get_if<AdapterError>()->retry_after_ms, 60'000);
  EXPECT_EQ(hurried->opened(), 1);
}

TEST(Retry, DoublesTheDelayUpToMaxDelay) {
  const RetryPolicy policy{
      .max_attempts = 9, .base_delay = milliseconds(1), .max_delay = milliseconds(6), .jitter = milliseconds(0)};
  EXPECT_EQ(announced_delay(policy, std::nullopt, 1), 1);
  EXPECT_EQ(announced_delay(policy, std::nullopt, 2), 2);
  EXPECT_EQ(announced_delay(policy, std::nullopt, 3), 4);
  EXPECT_EQ(announced_delay(policy, std::nullopt, 4), 6);
  EXPECT_EQ(announced_delay(policy, std::nullopt, 5), 6);
}

TEST(Retry, AddsJitterWithinItsLimit) {
  const RetryPolicy policy{.base_delay = milliseconds(10), .jitter = milliseconds(5)};
  for (int i = 0; i < 20; ++i) {
    const std::int64_t delay = announced_delay(policy, std::nullopt);
    EXPECT_GE(delay, 10);
    EXPECT_LE(delay, 15);
  }
}

TEST(Retry, DoesNotBlockTheConsumerWhileItWaits) {
  const Rig rig({refused(Reason::timeout), kAnswer}, {.base_delay = hours(1)});
  EventStream events = stream(rig.engine, {user("hi")});
  EXPECT_TRUE(events.try_next().is_pending());
  EXPECT_TRUE(events.try_next().is_pending());
  EXPECT_EQ(rig.adapter->calls(), 1U);
}

}  // namespace
}  // namespace allm::retry_test
