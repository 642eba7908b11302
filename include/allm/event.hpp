// Events: what a run shows while it goes on. Sixteen kinds, closed.
//
//   for (const allm::Event& event : allm::stream(engine, thread)) {
//     if (auto* text = event.get_if<allm::TextDelta>()) std::cout << text->delta;
//   }
//
// Order within a step: the model's events, then the tools', then one StepCompleted. A run is its
// steps' events and one ChatCompleted. An ErrorEvent is the last event of its message: nothing
// follows it but the completion of step and run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "allm/response.hpp"
#include "allm/result.hpp"
#include "allm/tool.hpp"

namespace allm {

enum class Mode : std::uint8_t { automatic, manual };  // "auto", "manual" in JSON
std::string_view to_string(Mode mode);

// --- From the model ---
struct MessageStarted {
  Message message = {};  // assistant, empty
  bool operator==(const MessageStarted&) const;
};
struct TextDelta {
  std::optional<std::string> id = std::nullopt;
  std::string delta = {};
  bool operator==(const TextDelta&) const;
};
// The whole text; where it differs from the deltas, this one counts.
struct TextCompleted {
  std::optional<std::string> id = std::nullopt;
  std::string text = {};
  bool operator==(const TextCompleted&) const;
};
struct ToolCallStarted {
  std::string id = {};
  std::string name = {};
  bool operator==(const ToolCallStarted&) const;
};
struct ToolCallDelta {
  std::string id = {};
  std::string arguments_delta = {};
  bool operator==(const ToolCallDelta&) const;
};
struct ToolCallCompleted {
  ToolCall call = {};
  bool operator==(const ToolCallCompleted&) const;
};
struct MessageCompleted {
  Message message = {};
  std::optional<FinishReason> finish_reason = std::nullopt;
  std::optional<Usage> usage = std::nullopt;
  std::optional<std::string> request_id = std::nullopt;         // our id of the run; filled in by the engine
  std::optional<std::string> id = std::nullopt;                 // the provider's id of the response
  std::optional<std::string> model = std::nullopt;              // as the provider named it
  std::optional<std::string> raw_finish_reason = std::nullopt;  // the provider's word
  Json metadata = empty_object();
  bool operator==(const MessageCompleted&) const;
};
// A chunk as the provider sent it; shown only with the option `include_raw_chunks`.
struct RawChunk {
  Json chunk = {};
  bool operator==(const RawChunk&) const;
};
struct ErrorEvent {
  Error error;
  bool operator==(const ErrorEvent&) const;
};

// --- From the tool runner ---
// The handler is being dispatched.
struct ToolExecutionStarted {
  std::string id = {};
  std::string name = {};
  Json arguments = empty_object();
  bool operator==(const ToolExecutionStarted&) const;
};
// The call is over. `outcome` is what the handler answered, after the error policy.
struct ToolExecutionCompleted {
  std::string id = {};
  std::string name = {};
  ToolOutcome outcome;
  bool operator==(const ToolExecutionCompleted&) const;
};
// One of the next three follows each ToolExecutionCompleted.
struct ToolResultEncoded {
  std::string id = {};
  std::string content = {};  // of the tool message
  bool operator==(const ToolResultEncoded&) const;
};
struct AskUserRequested {
  std::string tool_call_id = {};
  std::string tool_name = {};
  std::string question = {};
  Json options = empty_object();
  bool operator==(const AskUserRequested&) const;
};
struct ToolHalt {
  std::string tool_call_id = {};
  std::string reason = {};
  Json result = {};
  std::string content = {};  // of the tool message
  // Set when the run halts because the error policy itself failed.
  std::optional<Error> policy_error = std::nullopt;
  bool operator==(const ToolHalt&) const;
};

// --- From the loop ---
struct StepCompleted {
  std::shared_ptr<const StepResult> step;  // never null
  Mode mode = Mode::automatic;

  const Response& response() const { return step->response; }
  const Thread& thread() const { return step->thread; }
  const std::vector<ToolCall>& manual_tool_calls() const { return step->manual_tool_calls; }
  bool operator==(const StepCompleted& other) const { return *step == *other.step && mode == other.mode; }
};
struct ChatCompleted {
  std::shared_ptr<const ChatResult> result;  // never null
  bool operator==(const ChatCompleted& other) const { return *result == *other.result; }
};

// In the order of the alternatives of Event::Payload.
enum class EventTag : std::uint8_t {
  message_started,
  text_delta,
  text_completed,
  tool_call_started,
  tool_call_delta,
  tool_call_completed,
  message_completed,
  raw_chunk,
  error,
  tool_execution_started,
  tool_execution_completed,
  tool_result_encoded,
  ask_user_requested,
  tool_halt,
  step_completed,
  chat_completed,
};
std::string_view to_string(EventTag tag);

namespace detail {
// A value kept on the heap, so that the rare large payloads do not make every event large.
template <class T>
class Boxed {
 public:
  Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Boxed(const Boxed& other) : value_(std::make_unique<T>(*other.value_)) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) {
    value_ = std::make_unique<T>(*other.value_);
    return *this;
  }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  friend bool operator==(const Boxed& a, const Boxed& b) { return *a == *b; }

 private:
  std::unique_ptr<T> value_;
};
template <class T>
struct Stored {
  using Type = T;
};
template <>
struct Stored<MessageStarted> {
  using Type = Boxed<MessageStarted>;
};
template <>
struct Stored<ToolCallCompleted> {
  using Type = Boxed<ToolCallCompleted>;
};
template <>
struct Stored<MessageCompleted> {
  using Type = Boxed<MessageCompleted>;
};
template <>
struct Stored<ToolHalt> {
  using Type = Boxed<ToolHalt>;
};
template <class T, class... Kinds>
inline constexpr bool kIsOneOf = (std::is_same_v<T, Kinds> || ...);
template <class T>
inline constexpr bool kIsPayload =
    kIsOneOf<T, MessageStarted, TextDelta, TextCompleted, ToolCallStarted, ToolCallDelta, ToolCallCompleted,
             MessageCompleted, RawChunk, ErrorEvent, ToolExecutionStarted, ToolExecutionCompleted, ToolResultEncoded,
             AskUserRequested, ToolHalt, StepCompleted, ChatCompleted>;
template <class T>
const T& unboxed(const T& value) {
  return value;
}
template <class T>
const T& unboxed(const T&& value) = delete;
template <class T>
const T& unboxed(const Boxed<T>& value) {
  return *value;
}
}  // namespace detail

class Event {
 public:
  template <class T>
  using Stored = typename detail::Stored<T>::Type;
  using Payload = std::variant<Stored<MessageStarted>, TextDelta, TextCompleted, ToolCallStarted, ToolCallDelta,
                               Stored<ToolCallCompleted>, Stored<MessageCompleted>, RawChunk, ErrorEvent,
                               ToolExecutionStarted, ToolExecutionCompleted, ToolResultEncoded, AskUserRequested,
                               Stored<ToolHalt>, StepCompleted, ChatCompleted>;

  template <class T>
    requires detail::kIsPayload<std::remove_cvref_t<T>>
  Event(T&& payload) : payload_(std::in_place_type<Stored<std::remove_cvref_t<T>>>, std::forward<T>(payload)) {}

  EventTag tag() const { return static_cast<EventTag>(payload_.index()); }

  // The payload if the event is of that kind, else null.
  template <class T>
  const T* get_if() const {
    const auto* stored = std::get_if<Stored<T>>(&payload_);
    return stored == nullptr ? nullptr : &detail::unboxed(*stored);
  }

  template <class T>
  T* get_if() {
    return const_cast<T*>(std::as_const(*this).template get_if<T>());
  }

  // Calls `visitor` with the payload; it must accept all sixteen kinds.
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    return std::visit(
        [&visitor](const auto& stored) -> decltype(auto) {
          return std::forward<Visitor>(visitor)(detail::unboxed(stored));
        },
        payload_);
  }

  bool operator==(const Event&) const;

 private:
  Payload payload_;
};

}  // namespace allm
