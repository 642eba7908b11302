// The names of enumerators in JSON and messages, and the way back. One table an enumeration; the
// public to_string functions read the same tables.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "allm/error.hpp"
#include "allm/event.hpp"
#include "allm/message.hpp"
#include "allm/request.hpp"
#include "allm/response.hpp"
#include "allm/session.hpp"

namespace allm {

// Specialised for every enumeration that has names: `values` in the order of the enumerators, and
// `last`, the last enumerator, so that a new one without a name breaks the build.
template <class Enum>
struct EnumNames;

template <class Enum>
constexpr std::string_view enum_name(Enum value) {
  static_assert(EnumNames<Enum>::values.size() == static_cast<std::size_t>(EnumNames<Enum>::last) + 1);
  return EnumNames<Enum>::values[static_cast<std::size_t>(value)];
}

// The enumerator of a given name, or nothing.
template <class Enum>
constexpr std::optional<Enum> enum_from_name(std::string_view name) {
  const auto& values = EnumNames<Enum>::values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

template <std::size_t N>
using NameTable = std::array<std::string_view, N>;

template <>
struct EnumNames<Role> {
  static constexpr Role last = Role::tool;
  static constexpr NameTable<4> values = {"system", "user", "assistant", "tool"};
};

template <>
struct EnumNames<ImageDetail> {
  static constexpr ImageDetail last = ImageDetail::high;
  static constexpr NameTable<3> values = {"auto", "low", "high"};
};

template <>
struct EnumNames<SessionStatus> {
  static constexpr SessionStatus last = SessionStatus::error;
  static constexpr NameTable<5> values = {"idle", "completed", "awaiting_user", "awaiting_tools", "error"};
};

template <>
struct EnumNames<PendingKind> {
  static constexpr PendingKind last = PendingKind::suspended;
  static constexpr NameTable<2> values = {"manual", "suspended"};
};

template <>
struct EnumNames<ended::Limit::Which> {
  static constexpr auto last = ended::Limit::Which::max_repeated_failures;
  static constexpr NameTable<5> values = {halted::run_timeout, halted::max_total_tokens, halted::max_cost,
                                          halted::max_tool_calls, halted::max_repeated_failures};
};

template <>
struct EnumNames<Mode> {
  static constexpr Mode last = Mode::manual;
  static constexpr NameTable<2> values = {"auto", "manual"};
};

template <>
struct EnumNames<FinishReason> {
  static constexpr FinishReason last = FinishReason::other;
  static constexpr NameTable<6> values = {"stop", "length", "tool_calls", "content_filter", "error", "other"};
};

template <>
struct EnumNames<PromptCache::Retention> {
  static constexpr PromptCache::Retention last = PromptCache::Retention::long_term;
  static constexpr NameTable<2> values = {"short", "long"};
};

template <>
struct EnumNames<EventTag> {
  static constexpr EventTag last = EventTag::chat_completed;
  static constexpr NameTable<18> values = {
      "message_started",
      "text_delta",
      "text_completed",
      "reasoning_delta",
      "reasoning_completed",
      "tool_call_started",
      "tool_call_delta",
      "tool_call_completed",
      "message_completed",
      "raw_chunk",
      "error",
      "tool_execution_started",
      "tool_execution_completed",
      "tool_result_encoded",
      "ask_user_requested",
      "tool_halt",
      "step_completed",
      "chat_completed",
  };
};

template <>
struct EnumNames<EngineError::Reason> {
  static constexpr EngineError::Reason last = EngineError::Reason::over_budget;
  static constexpr NameTable<10> values = {
      "missing_adapter", "missing_stream_adapter",      "missing_model",    "missing_key",        "unknown_tool",
      "invalid_engine",  "unsupported_response_format", "no_image_adapter", "catalog_not_loaded", "over_budget",
  };
};

template <>
struct EnumNames<AdapterError::Reason> {
  static constexpr AdapterError::Reason last = AdapterError::Reason::unknown;
  static constexpr NameTable<12> values = {
      "rate_limited",
      "authentication_failed",
      "invalid_request",
      "provider_unavailable",
      "context_length_exceeded",
      "content_filter",
      "timeout",
      "network_error",
      "malformed_response",
      "unsupported_feature",
      "no_scripted_response",
      "unknown",
  };
};

template <>
struct EnumNames<StreamError::Reason> {
  static constexpr StreamError::Reason last = StreamError::Reason::unknown;
  static constexpr NameTable<5> values = {"adapter_error", "cancelled", "timeout", "malformed_event", "unknown"};
};

template <>
struct EnumNames<ValidationError::Reason> {
  static constexpr ValidationError::Reason last = ValidationError::Reason::invalid_scenario;
  static constexpr NameTable<11> values = {
      "invalid_request", "invalid_message",       "invalid_tool",           "invalid_thread",
      "invalid_session", "invalid_session_input", "unsupported_capability", "invalid_image_request",
      "invalid_option",  "invalid_schema",        "invalid_scenario",
  };
};

template <>
struct EnumNames<ToolError::Reason> {
  static constexpr ToolError::Reason last = ToolError::Reason::interrupted;
  static constexpr NameTable<13> values = {
      "handler_raised",  "handler_exit",      "timeout",      "invalid_return", "not_found",
      "encoding_failed", "invalid_arguments", "unknown_tool", "not_run",        "overloaded",
      "denied",          "cancelled",         "interrupted",
  };
};

template <>
struct EnumNames<SessionError::Reason> {
  static constexpr SessionError::Reason last = SessionError::Reason::no_pending_tool_call;
  static constexpr NameTable<4> values = {"session_in_error_state", "unknown_tool_call_id",
                                          "invalid_status_for_operation", "no_pending_tool_call"};
};

template <>
struct EnumNames<StoreError::Reason> {
  static constexpr StoreError::Reason last = StoreError::Reason::future_version;
  static constexpr NameTable<11> values = {"not_found", "already_exists", "conflict",      "leased",
                                           "fenced",    "invalid_url",    "unavailable",   "full",
                                           "read_only", "corrupted",      "future_version"};
};

}  // namespace allm
