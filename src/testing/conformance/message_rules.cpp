#include "testing/conformance/message_rules.hpp"

#include <algorithm>
#include <string_view>

#include "data/utf8.hpp"

namespace allm::conformance {
namespace {

std::string tag_of(const Event& event) { return std::string(to_string(event.tag())); }

template <class Payload>
std::size_t count_of(const Reading& reading) {
  return static_cast<std::size_t>(
      std::ranges::count_if(reading.events, [](const Event& event) { return event.get_if<Payload>() != nullptr; }));
}

const MessageCompleted* completed_of(const Reading& reading) {
  for (const Event& event : reading.events) {
    if (const auto* completed = event.get_if<MessageCompleted>()) return completed;
  }
  return nullptr;
}

// The texts of an event that must be valid UTF-8.
std::vector<std::string> texts_of(const Event& event) {
  if (const auto* delta = event.get_if<TextDelta>()) return {delta->delta};
  if (const auto* text = event.get_if<TextCompleted>()) return {text->text};
  if (const auto* delta = event.get_if<ReasoningDelta>()) return {delta->delta};
  if (const auto* text = event.get_if<ReasoningCompleted>()) return {text->text};
  if (const auto* call = event.get_if<ToolCallStarted>()) return {call->id, call->name};
  if (const auto* delta = event.get_if<ToolCallDelta>()) return {delta->id, delta->arguments_delta};
  if (const auto* completed = event.get_if<MessageCompleted>()) return {completed->message.text()};
  return {};
}

std::string joined_deltas(const Reading& reading) {
  std::string text;
  for (const Event& event : reading.events) {
    if (const auto* delta = event.get_if<TextDelta>()) text += delta->delta;
  }
  return text;
}

}  // namespace

Finding throws_nothing(const Reading& reading) {
  if (!reading.thrown) return std::nullopt;
  return "open(), poll() or a destructor threw: " + *reading.thrown +
         ". Return an error from open(), or give an ErrorEvent.";
}

Finding pending_calls_the_waker(const Reading& reading) {
  if (!reading.never_woken) return std::nullopt;
  return "after " + std::to_string(reading.events.size()) +
         " events poll() returned pending and no waker was called. Keep the waker and call it when the source "
         "can be polled again.";
}

Finding latest_waker_is_called(const Reading& reading) {
  if (!reading.stale_waker) return std::nullopt;
  return "poll() was called twice while the source was pending, and the waker of the first call was called. Replace "
         "the "
         "waker that is kept at every poll().";
}

Finding end_is_final(const Reading& reading) {
  if (!reading.event_after_end) return std::nullopt;
  return "poll() returned the end, and something else when it was called again. Once at its end a source stays there.";
}

Finding answers_the_request(const Reading& reading) {
  if (reading.open_error) return "open() failed: " + reading.open_error->message();
  if (reading.no_source) return "open() returned a null pointer. Return a source or an error.";
  for (const Event& event : reading.events) {
    if (const auto* error = event.get_if<ErrorEvent>()) return "the call failed: " + error->error.message();
  }
  if (!reading.ended) return "the stream did not end";
  if (completed_of(reading) == nullptr) return "the stream ended without MessageCompleted";
  return std::nullopt;
}

Finding message_started_is_first(const Reading& reading) {
  if (reading.events.empty() || reading.events.front().get_if<ErrorEvent>() != nullptr) return std::nullopt;
  if (reading.events.front().get_if<MessageStarted>() == nullptr) {
    return "the first event is " + tag_of(reading.events.front()) + ", not message_started";
  }
  const std::size_t count = count_of<MessageStarted>(reading);
  if (count > 1) return "there are " + std::to_string(count) + " message_started events; a call is one message";
  return std::nullopt;
}

Finding message_completed_is_last(const Reading& reading) {
  for (std::size_t i = 0; i + 1 < reading.events.size(); ++i) {
    if (reading.events[i].get_if<MessageCompleted>() != nullptr) {
      return "message_completed is followed by " + tag_of(reading.events[i + 1]) + "; the stream must end there";
    }
  }
  return std::nullopt;
}

Finding only_model_events(const Reading& reading) {
  for (const Event& event : reading.events) {
    const EventTag tag = event.tag();
    if (tag > EventTag::error) return tag_of(event) + " is an event of the loop; an adapter must not give it";
  }
  return std::nullopt;
}

Finding text_is_utf8(const Reading& reading) {
  for (const Event& event : reading.events) {
    for (const std::string& text : texts_of(event)) {
      if (!is_utf8(text))
        return "the text of a " + tag_of(event) +
               " event is not valid UTF-8. Keep an incomplete "
               "character back until its rest has arrived.";
    }
  }
  return std::nullopt;
}

Finding text_deltas_match_the_text(const Reading& reading) {
  if (count_of<TextDelta>(reading) == 0) return std::nullopt;
  const std::string deltas = joined_deltas(reading);
  std::string whole;
  for (const Event& event : reading.events) {
    if (const auto* text = event.get_if<TextCompleted>()) whole += text->text;
  }
  if (count_of<TextCompleted>(reading) > 0 && whole != deltas) {
    return "text_completed is \"" + whole + "\" and the text deltas make \"" + deltas + "\"";
  }
  const MessageCompleted* completed = completed_of(reading);
  if (completed != nullptr && completed->message.text() != deltas) {
    return "the message is \"" + completed->message.text() + "\" and the text deltas make \"" + deltas + "\"";
  }
  return std::nullopt;
}

Finding nothing_follows_an_error(const Reading& reading) {
  for (std::size_t i = 0; i + 1 < reading.events.size(); ++i) {
    if (reading.events[i].get_if<ErrorEvent>() != nullptr) {
      return "the error is followed by " + tag_of(reading.events[i + 1]) + "; an ErrorEvent ends the stream";
    }
  }
  return std::nullopt;
}

Finding calls_tools(const Reading& reading) {
  if (Finding failed = answers_the_request(reading)) return failed;
  if (count_of<ToolCallCompleted>(reading) == 0) {
    return "the answer to `tool_request` has no tool_call_completed event";
  }
  return std::nullopt;
}

Finding call_ids_are_unique(const Reading& reading) {
  std::vector<std::string> ids;
  for (const Event& event : reading.events) {
    const auto* call = event.get_if<ToolCallCompleted>();
    if (call == nullptr) continue;
    if (call->call.id.empty()) return "the call of tool '" + call->call.name + "' has an empty id";
    if (std::ranges::find(ids, call->call.id) != ids.end()) {
      return "two calls have the id '" + call->call.id + "'. Give each call an id of its own.";
    }
    ids.push_back(call->call.id);
  }
  return std::nullopt;
}

Finding calls_are_started_and_completed(const Reading& reading) {
  std::vector<ToolCallStarted> open;
  const auto find = [&](const std::string& id) { return std::ranges::find(open, id, &ToolCallStarted::id); };
  for (const Event& event : reading.events) {
    if (const auto* started = event.get_if<ToolCallStarted>()) open.push_back(*started);
    if (const auto* delta = event.get_if<ToolCallDelta>(); delta != nullptr && find(delta->id) == open.end()) {
      return "a tool_call_delta has the id '" + delta->id + "', which no open call has";
    }
    if (const auto* completed = event.get_if<ToolCallCompleted>()) {
      const auto started = find(completed->call.id);
      if (started == open.end()) {
        return "tool_call_completed of '" + completed->call.id + "' comes without tool_call_started";
      }
      if (started->name != completed->call.name) {
        return "the call '" + completed->call.id + "' starts as '" + started->name + "' and completes as '" +
               completed->call.name + "'";
      }
      open.erase(started);
    }
  }
  if (!open.empty()) return "the call '" + open.front().id + "' is started and never completed";
  return std::nullopt;
}

Finding call_deltas_match_the_arguments(const Reading& reading) {
  for (const Event& event : reading.events) {
    const auto* completed = event.get_if<ToolCallCompleted>();
    if (completed == nullptr) continue;
    std::string deltas;
    for (const Event& other : reading.events) {
      const auto* delta = other.get_if<ToolCallDelta>();
      if (delta != nullptr && delta->id == completed->call.id) deltas += delta->arguments_delta;
    }
    if (deltas.empty()) continue;
    const Result<Json> parsed = parse_json(deltas);
    if (parsed && parsed->is_object() && *parsed != completed->call.arguments) {
      return "the argument deltas of '" + completed->call.id + "' make " + deltas + ", and the completed call has " +
             completed->call.arguments.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
  }
  return std::nullopt;
}

Finding finish_reason_is_tool_calls(const Reading& reading) {
  const MessageCompleted* completed = completed_of(reading);
  if (completed == nullptr || completed->finish_reason == FinishReason::tool_calls) return std::nullopt;
  return "the message calls tools and its finish reason is not tool_calls; the loop would not run them";
}

Finding failures_are_errors(const Reading& reading) {
  if (reading.open_error || count_of<ErrorEvent>(reading) > 0) return std::nullopt;
  return "the answer to `failing_request` has no error: neither open() failed, nor is there an ErrorEvent";
}

}  // namespace allm::conformance
