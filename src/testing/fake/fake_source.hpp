// The event source of a FakeAdapter: plays the script of one model call. One thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "allm/fake.hpp"

#include "runtime/alarm.hpp"

namespace allm {

class FakeSource : public EventSource {
 public:
  FakeSource(std::shared_ptr<const FakeCallScript> script, std::optional<Usage> usage, std::shared_ptr<Runtime> runtime,
             std::shared_ptr<std::atomic<std::size_t>> closed);
  ~FakeSource() override;
  Poll poll(const Waker& waker) override;

 private:
  enum class State : std::uint8_t { begin, script, call_completed, text_completed, message_completed, done };

  Poll say(const std::string& text);
  // The event of an entry that is not text; nullopt if the entry has no event.
  std::optional<Event> play(const FakeEntry& entry);
  std::optional<Event> play_call(const FakeToolCall& call);
  Event complete_message();

  std::shared_ptr<const FakeCallScript> script_;
  std::optional<Usage> usage_;
  bool usage_fixed_;
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<std::atomic<std::size_t>> closed_;
  State state_ = State::begin;
  std::size_t next_ = 0;
  bool said_text_ = false;
  std::string text_;
  std::optional<FinishReason> finish_;
  std::optional<ToolCall> call_;  // started, to be completed next
  std::optional<Alarm> delay_;
};

}  // namespace allm
