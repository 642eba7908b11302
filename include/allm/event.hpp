// Events: the progress of a run. A closed set of eighteen kinds. Plain values.
//
//   for (const allm::Event& event : allm::stream(engine, thread)) {
//     if (auto* text = event.get_if<allm::TextDelta>()) std::cout << text->delta;
//   }
//
// Order within a step: the model's events, then the tools' events, then one StepCompleted. A run produces the events of
// its steps and then one ChatCompleted. An ErrorEvent is the last event of its message: only the completion of the step
// and the run may follow it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "allm/response.hpp"
#include "allm/result.hpp"
#include "allm/tool.hpp"

namespace allm {

enum class Mode : std::uint8_t { automatic, manual };  // "auto", "manual" in JSON
std::string_view to_string(Mode mode);

// --- From the model ---
struct MessageStarted {
  Message message = {};  // an assistant message without content
  bool operator==(const MessageStarted&) const;
};
struct TextDelta {
  std::optional<std::string> id = std::nullopt;  // for adapters that give texts an id; allm's adapters do not
  std::string delta = {};
  bool operator==(const TextDelta&) const;
};
// The whole text of the message. If it differs from the joined deltas, this text is the right one.
struct TextCompleted {
  std::optional<std::string> id = std::nullopt;
  std::string text = {};
  bool operator==(const TextCompleted&) const;
};
// A piece of the model's reasoning, or of a summary of the reasoning: text for people that is not part of the answer.
// With the option `emit_reasoning = false`, the consumer gets neither this event nor ReasoningCompleted.
struct ReasoningDelta {
  std::string delta = {};
  bool operator==(const ReasoningDelta&) const;
};
// The whole reasoning since the last ReasoningCompleted. The engine adds this event before the first event that is
// neither reasoning nor a raw chunk, so adapters need not send it. A message may have several.
struct ReasoningCompleted {
  std::string text = {};
  bool operator==(const ReasoningCompleted&) const;
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
  std::optional<std::string> request_id = std::nullopt;         // the run's id; set by the engine
  std::optional<std::string> id = std::nullopt;                 // the provider's id of the response
  std::optional<std::string> model = std::nullopt;              // as the provider named it
  std::optional<std::string> raw_finish_reason = std::nullopt;  // as the provider wrote it
  // All reasoning of the message; set by the engine unless the adapter has set it.
  std::optional<std::string> reasoning = std::nullopt;
  Json metadata = empty_object();
  bool operator==(const MessageCompleted&) const;
};
// A chunk as the provider sent it. The consumer gets it only with the option `include_raw_chunks`.
struct RawChunk {
  Json chunk = null_json();
  bool operator==(const RawChunk&) const;
};
struct ErrorEvent {
  Error error;
  bool operator==(const ErrorEvent&) const;
};

// --- From the tool runner ---
// A tool call begins: its handler is started now, or allm answers the call without a handler.
struct ToolExecutionStarted {
  std::string id = {};
  std::string name = {};
  Json arguments = empty_object();
  bool rewritten = false;  // true if the approval gate replaced the model's arguments
  bool operator==(const ToolExecutionStarted&) const;
};
// A tool call has ended. `outcome` is its outcome after the option `on_tool_error` was applied.
struct ToolExecutionCompleted {
  std::string id = {};
  std::string name = {};
  ToolOutcome outcome;
  bool operator==(const ToolExecutionCompleted&) const;
};
// Each ToolExecutionCompleted is followed by one of these: ToolResultEncoded, AskUserRequested or ToolHalt.
struct ToolResultEncoded {
  std::string id = {};
  std::string content = {};  // the content of the tool message; "" if `parts` is not empty
  // The content of the tool message if the tool answered with images, documents or audio; else empty.
  std::vector<Part> parts = {};
  bool is_error = false;  // the call failed; the tool message has `metadata.is_error`
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
  Json result = null_json();
  std::string content = {};  // the content of the tool message
  // Set if the run halts because the function in `on_tool_error` itself failed.
  std::optional<Error> policy_error = std::nullopt;
  bool operator==(const ToolHalt&) const;
};

// --- From the loop ---
struct StepCompleted {
  std::shared_ptr<const StepResult> step;  // never null
  Mode mode = Mode::automatic;

  const Response& response() const { return step->response; }
  const Thread& thread() const { return step->thread; }
  const std::vector<PendingToolCall>& manual_tool_calls() const { return step->manual_tool_calls(); }
  bool operator==(const StepCompleted& other) const { return *step == *other.step && mode == other.mode; }
};
struct ChatCompleted {
  std::shared_ptr<const ChatResult> result;  // never null
  bool operator==(const ChatCompleted& other) const { return *result == *other.result; }
};

enum class EventTag : std::uint8_t {
  message_started,
  text_delta,
  text_completed,
  reasoning_delta,
  reasoning_completed,
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
// The tag of a payload's type; -1 for any other type.
template <class T>
inline constexpr int kTagOf = -1;
template <>
inline constexpr int kTagOf<MessageStarted> = static_cast<int>(EventTag::message_started);
template <>
inline constexpr int kTagOf<TextDelta> = static_cast<int>(EventTag::text_delta);
template <>
inline constexpr int kTagOf<TextCompleted> = static_cast<int>(EventTag::text_completed);
template <>
inline constexpr int kTagOf<ReasoningDelta> = static_cast<int>(EventTag::reasoning_delta);
template <>
inline constexpr int kTagOf<ReasoningCompleted> = static_cast<int>(EventTag::reasoning_completed);
template <>
inline constexpr int kTagOf<ToolCallStarted> = static_cast<int>(EventTag::tool_call_started);
template <>
inline constexpr int kTagOf<ToolCallDelta> = static_cast<int>(EventTag::tool_call_delta);
template <>
inline constexpr int kTagOf<ToolCallCompleted> = static_cast<int>(EventTag::tool_call_completed);
template <>
inline constexpr int kTagOf<MessageCompleted> = static_cast<int>(EventTag::message_completed);
template <>
inline constexpr int kTagOf<RawChunk> = static_cast<int>(EventTag::raw_chunk);
template <>
inline constexpr int kTagOf<ErrorEvent> = static_cast<int>(EventTag::error);
template <>
inline constexpr int kTagOf<ToolExecutionStarted> = static_cast<int>(EventTag::tool_execution_started);
template <>
inline constexpr int kTagOf<ToolExecutionCompleted> = static_cast<int>(EventTag::tool_execution_completed);
template <>
inline constexpr int kTagOf<ToolResultEncoded> = static_cast<int>(EventTag::tool_result_encoded);
template <>
inline constexpr int kTagOf<AskUserRequested> = static_cast<int>(EventTag::ask_user_requested);
template <>
inline constexpr int kTagOf<ToolHalt> = static_cast<int>(EventTag::tool_halt);
template <>
inline constexpr int kTagOf<StepCompleted> = static_cast<int>(EventTag::step_completed);
template <>
inline constexpr int kTagOf<ChatCompleted> = static_cast<int>(EventTag::chat_completed);
template <class T>
inline constexpr bool kIsPayload = kTagOf<T> >= 0;
}  // namespace detail

// An event: one of the eighteen structs above (its payload). It is not a std::variant, because a variant of so many
// types is slow to compile in every file that includes this header. A moved-from event can only be assigned to or
// destroyed.
class Event {
 public:
  template <class T>
    requires detail::kIsPayload<std::remove_cvref_t<T>>
  Event(T&& payload) : tag_(static_cast<EventTag>(detail::kTagOf<std::remove_cvref_t<T>>)) {
    construct<std::remove_cvref_t<T>>(std::forward<T>(payload));
  }
  Event(const Event& other);
  Event(Event&& other) noexcept;
  Event& operator=(const Event& other);
  Event& operator=(Event&& other) noexcept;
  ~Event();

  EventTag tag() const { return tag_; }

  // The payload if the event is of that kind, else null. The pointer is valid as long as the event, so this does not
  // compile for a temporary event.
  template <class T>
  const T* get_if() const& {
    return static_cast<int>(tag_) == detail::kTagOf<T> ? &stored<T>() : nullptr;
  }
  template <class T>
  T* get_if() & {
    return const_cast<T*>(std::as_const(*this).template get_if<T>());
  }
  template <class T>
  const T* get_if() const&& = delete;

  // Calls `visitor` with the payload; it must accept all eighteen kinds.
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    return dispatch(tag_, [&]<class T>() -> decltype(auto) { return std::forward<Visitor>(visitor)(stored<T>()); });
  }

  bool operator==(const Event& other) const;

 private:
  // Larger payloads are rare; they are kept on the heap so that they do not make every event large.
  static constexpr std::size_t kSize = 15 * sizeof(void*);
  template <class T>
  static constexpr bool kBoxed = sizeof(T) > kSize;

  // Calls `function` with the type that belongs to the tag.
  template <class Function>
  static decltype(auto) dispatch(EventTag tag, Function&& function) {
    switch (tag) {
      case EventTag::message_started:
        return function.template operator()<MessageStarted>();
      case EventTag::text_delta:
        return function.template operator()<TextDelta>();
      case EventTag::text_completed:
        return function.template operator()<TextCompleted>();
      case EventTag::reasoning_delta:
        return function.template operator()<ReasoningDelta>();
      case EventTag::reasoning_completed:
        return function.template operator()<ReasoningCompleted>();
      case EventTag::tool_call_started:
        return function.template operator()<ToolCallStarted>();
      case EventTag::tool_call_delta:
        return function.template operator()<ToolCallDelta>();
      case EventTag::tool_call_completed:
        return function.template operator()<ToolCallCompleted>();
      case EventTag::message_completed:
        return function.template operator()<MessageCompleted>();
      case EventTag::raw_chunk:
        return function.template operator()<RawChunk>();
      case EventTag::error:
        return function.template operator()<ErrorEvent>();
      case EventTag::tool_execution_started:
        return function.template operator()<ToolExecutionStarted>();
      case EventTag::tool_execution_completed:
        return function.template operator()<ToolExecutionCompleted>();
      case EventTag::tool_result_encoded:
        return function.template operator()<ToolResultEncoded>();
      case EventTag::ask_user_requested:
        return function.template operator()<AskUserRequested>();
      case EventTag::tool_halt:
        return function.template operator()<ToolHalt>();
      case EventTag::step_completed:
        return function.template operator()<StepCompleted>();
      case EventTag::chat_completed:
        break;
    }
    return function.template operator()<ChatCompleted>();
  }

  template <class T, class From>
  void construct(From&& payload) {
    if constexpr (kBoxed<T>) {
      ::new (static_cast<void*>(storage_)) T*(new T(std::forward<From>(payload)));
    } else {
      ::new (static_cast<void*>(storage_)) T(std::forward<From>(payload));
    }
  }

  // What is in the storage for a payload of type T: the payload, or a pointer to it.
  template <class T>
  using Slot = std::conditional_t<kBoxed<T>, T*, T>;
  template <class T>
  const Slot<T>& slot() const {
    return *std::launder(reinterpret_cast<const Slot<T>*>(storage_));
  }
  template <class T>
  Slot<T>& slot() {
    return *std::launder(reinterpret_cast<Slot<T>*>(storage_));
  }
  template <class T>
  const T& stored() const {
    if constexpr (kBoxed<T>) {
      return *slot<T>();
    } else {
      return slot<T>();
    }
  }
  void destroy();
  void take(Event& other);

  alignas(void*) std::byte storage_[kSize];
  EventTag tag_;
};

}  // namespace allm
