#include "testing/fake/fake_source.hpp"

#include <utility>

namespace allm {

FakeSource::FakeSource(std::shared_ptr<const FakeCallScript> script, std::optional<Usage> usage,
                       std::shared_ptr<Runtime> runtime, std::shared_ptr<std::atomic<std::size_t>> closed)
    : script_(std::move(script)),
      usage_(std::move(usage)),
      usage_fixed_(usage_.has_value()),
      runtime_(std::move(runtime)),
      closed_(std::move(closed)) {}

FakeSource::~FakeSource() { closed_->fetch_add(1, std::memory_order_release); }

Poll FakeSource::poll(const Waker& waker) {
  while (true) {
    switch (state_) {
      case State::begin:
        state_ = State::script;
        return Event(MessageStarted{assistant("")});
      case State::script: {
        if (delay_) {
          if (!delay_->poll(waker)) return Poll::pending();
          delay_.reset();
        }
        if (finish_ || next_ == script_->size()) {
          state_ = said_text_ ? State::text_completed : State::message_completed;
          break;
        }
        if (const auto* text = std::get_if<FakeText>(&(*script_)[next_])) {
          ++next_;
          return say(text->text);
        }
        if (auto event = play((*script_)[next_++])) return *std::move(event);
        break;
      }
      case State::call_completed:
        state_ = State::script;
        return Event(ToolCallCompleted{*std::exchange(call_, std::nullopt)});
      case State::text_completed:
        state_ = State::message_completed;
        return Event(TextCompleted{.text = text_});
      case State::message_completed:
        state_ = State::done;
        return complete_message();
      case State::done:
        return Poll::end();
    }
  }
}

Poll FakeSource::say(const std::string& text) {
  said_text_ = true;
  text_ += text;
  return TextDelta{.delta = text};
}

std::optional<Event> FakeSource::play(const FakeEntry& entry) {
  if (const auto* call = std::get_if<FakeToolCall>(&entry)) return play_call(*call);
  if (const auto* reasoning = std::get_if<FakeReasoning>(&entry)) return Event(ReasoningDelta{reasoning->text});
  if (const auto* delta = std::get_if<FakeToolCallDelta>(&entry)) {
    return Event(ToolCallDelta{delta->id, delta->arguments_delta});
  }
  if (const auto* usage = std::get_if<FakeUsage>(&entry)) {
    if (!usage_fixed_) usage_ = usage->usage;
    return std::nullopt;
  }
  if (const auto* chunk = std::get_if<FakeRawChunk>(&entry)) return Event(RawChunk{chunk->chunk});
  if (const auto* finish = std::get_if<FakeFinish>(&entry)) {
    finish_ = finish->reason;
    return std::nullopt;
  }
  if (const auto* delay = std::get_if<FakeDelay>(&entry)) {
    delay_.emplace(*runtime_, delay->delay);
    return std::nullopt;
  }
  if (std::holds_alternative<FakeExpectToolChoice>(entry)) return std::nullopt;  // open() has checked it
  state_ = State::done;
  const auto* error = std::get_if<FakeError>(&entry);
  return Event(ErrorEvent{error != nullptr ? error->error : std::get<FakePreflightError>(entry).error});
}

std::optional<Event> FakeSource::play_call(const FakeToolCall& call) {
  ToolCall completed{
      .id = call.id, .name = call.name, .arguments = call.arguments, .raw_arguments = call.raw_arguments};
  if (call.raw_arguments) {
    Result<Json> parsed = parse_json(*call.raw_arguments);
    completed.arguments = parsed && parsed->is_object() ? *std::move(parsed) : Json::object();
  } else {
    completed.raw_arguments = write_json(call.arguments).value_or("");
  }
  call_ = std::move(completed);
  state_ = State::call_completed;
  return Event(ToolCallStarted{call.id, call.name});
}

Event FakeSource::complete_message() {
  return MessageCompleted{.message = assistant(std::move(text_)), .finish_reason = finish_, .usage = usage_};
}

}  // namespace allm
