#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "allm/demo.hpp"

#include "providers/demo/reply.hpp"
#include "runtime/alarm.hpp"

namespace allm {
namespace {

// About the size of a token of real models.
constexpr std::int64_t kBytesPerToken = 4;

std::int64_t tokens_in(std::size_t bytes) {
  return (static_cast<std::int64_t>(bytes) + kBytesPerToken - 1) / kBytesPerToken;
}

std::size_t bytes_of(const Request& request) {
  std::size_t bytes = 0;
  for (const Message& message : request.messages) bytes += message.text().size();
  for (const Tool& tool : request.tools) bytes += tool.name.size() + tool.description.size();
  return bytes;
}

// Plays a reply, a word at a time.
class DemoSource : public EventSource {
 public:
  DemoSource(demo_model::Reply reply, std::size_t input_bytes, std::chrono::milliseconds delay, bool streams,
             std::shared_ptr<Runtime> runtime)
      : reply_(std::move(reply)),
        input_bytes_(input_bytes),
        delay_(delay),
        streams_(streams),
        runtime_(std::move(runtime)) {}

  Poll poll(const Waker& waker) override {
    if (alarm_) {
      if (!alarm_->poll(waker)) return Poll::pending();
      alarm_.reset();
    }
    switch (state_) {
      case State::begin:
        state_ = State::reasoning;
        return Event(MessageStarted{assistant("")});
      case State::reasoning:
        if (at_ < reply_.reasoning.size()) return Event(ReasoningDelta{next_piece(reply_.reasoning)});
        state_ = State::text;
        at_ = 0;
        [[fallthrough]];
      case State::text:
        if (at_ < reply_.text.size()) return Event(TextDelta{.delta = next_piece(reply_.text)});
        state_ = State::calls;
        if (!reply_.text.empty()) return Event(TextCompleted{.text = reply_.text});
        [[fallthrough]];
      case State::calls:
        if (call_ < reply_.calls.size()) return next_of_call(reply_.calls[call_]);
        state_ = State::done;
        return Event(completed());
      case State::done:
        break;
    }
    return Poll::end();
  }

 private:
  enum class State : std::uint8_t { begin, reasoning, text, calls, done };

  // The next word with the space after it.
  std::string next_piece(const std::string& text) {
    const std::size_t begin = std::exchange(at_, text.size());
    if (!streams_) return text.substr(begin);
    const std::size_t space = text.find_first_of(" \n", begin);
    const std::size_t next = space == std::string::npos ? space : text.find_first_not_of(" \n", space);
    at_ = std::min(next, text.size());
    if (delay_.count() > 0) alarm_.emplace(*runtime_, delay_);
    return text.substr(begin, at_ - begin);
  }
  Poll next_of_call(const ToolCall& call) {
    if (!std::exchange(call_started_, true)) return Event(ToolCallStarted{call.id, call.name});
    call_started_ = false;
    ++call_;
    return Event(ToolCallCompleted{call});
  }
  MessageCompleted completed() const {
    std::size_t output = reply_.text.size() + reply_.reasoning.size();
    for (const ToolCall& call : reply_.calls) output += call.name.size() + call.raw_arguments.value_or("").size();
    Usage usage{.input_tokens = tokens_in(input_bytes_), .output_tokens = tokens_in(output)};
    usage.total_tokens = *usage.input_tokens + *usage.output_tokens;
    return {.message = assistant(reply_.text),
            .finish_reason = reply_.calls.empty() ? FinishReason::stop : FinishReason::tool_calls,
            .usage = std::move(usage),
            .model = "demo"};
  }

  const demo_model::Reply reply_;
  const std::size_t input_bytes_;
  const std::chrono::milliseconds delay_;
  const bool streams_;
  const std::shared_ptr<Runtime> runtime_;  // shared with the run, for the alarm
  State state_ = State::begin;
  std::size_t at_ = 0;  // in the reasoning, then in the text
  std::size_t call_ = 0;
  bool call_started_ = false;
  std::optional<Alarm> alarm_;
};

class DemoAdapter : public Adapter {
 public:
  explicit DemoAdapter(DemoOptions options) : options_(options) {}

  std::string_view provider() const override { return "demo"; }
  Result<std::unique_ptr<EventSource>> open(const AdapterCall& call) override {
    return std::make_unique<DemoSource>(demo_model::reply_to(call.request), bytes_of(call.request), options_.word_delay,
                                        call.request.stream, call.runtime ? call.runtime : Runtime::process());
  }

 private:
  const DemoOptions options_;
};

}  // namespace

std::shared_ptr<Adapter> demo(DemoOptions options) { return std::make_shared<DemoAdapter>(options); }

}  // namespace allm
