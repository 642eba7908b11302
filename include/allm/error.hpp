// Errors: they are returned, never thrown.
//
// Every function of allm that can fail returns `Result<T>`. An `Error` has one of six kinds, a reason from the closed
// set of its kind, a message for people and metadata for programs. Two reasons differ if the caller should do something
// different next. Errors are immutable and cheap to copy; several threads may share one.
//
// Exceptions leave the library in three cases only: a callback of the program threw on the thread that called allm;
// memory is exhausted (std::bad_alloc); the system has no descriptors left for a new Runtime or WakeQueue
// (std::system_error).
#pragma once

#include <cstdint>
#include <exception>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace allm {

using Json = nlohmann::ordered_json;

// The engine cannot make the call: something is not configured, or the model called a tool that does
// not exist. Retrying the same call does not help.
struct EngineError {
  enum class Reason : std::uint8_t {
    missing_adapter,
    missing_stream_adapter,  // never produced; read from saved data
    missing_model,
    missing_key,
    unknown_tool,
    invalid_engine,
    unsupported_response_format,  // never produced; read from saved data
    no_image_adapter,             // never produced; read from saved data
    catalog_not_loaded,
  };
  Reason reason = Reason::invalid_engine;
  std::optional<std::string> provider = std::nullopt;
};

// The model's provider failed or refused. `rate_limited`, `provider_unavailable`, `timeout` and
// `network_error` are temporary (the engine retries the first three by itself); the others need a
// change of the request or the configuration.
struct AdapterError {
  enum class Reason : std::uint8_t {
    rate_limited,
    authentication_failed,
    invalid_request,
    provider_unavailable,
    context_length_exceeded,
    content_filter,
    timeout,
    network_error,
    malformed_response,
    unsupported_feature,
    no_scripted_response,
    unknown,
  };
  Reason reason = Reason::unknown;
  std::optional<std::string> provider = std::nullopt;
  std::optional<int> status = std::nullopt;                   // HTTP status
  std::optional<std::int64_t> retry_after_ms = std::nullopt;  // the wait that the provider asked for
  std::optional<std::string> request_id = std::nullopt;       // the provider's id of the call
};

// A stream failed while it was read.
struct StreamError {
  enum class Reason : std::uint8_t { adapter_error, cancelled, timeout, malformed_event, unknown };
  Reason reason = Reason::unknown;
  std::optional<std::string> provider = std::nullopt;
  std::optional<std::int64_t> event_index = std::nullopt;
};

// One step of a path into a value: a field's name or an index.
using PathStep = std::variant<std::string, std::int64_t>;
using Path = std::vector<PathStep>;

// An error in one field. `reason` is a short snake_case word such as `required`.
struct FieldError {
  Path path;
  std::string reason;
  bool operator==(const FieldError&) const;
};

// Input was rejected before anything was done. `errors` holds every error found, in rule order.
struct ValidationError {
  enum class Reason : std::uint8_t {
    invalid_request,
    invalid_message,
    invalid_tool,
    invalid_thread,
    invalid_session,
    invalid_session_input,  // never produced; read from saved data
    unsupported_capability,
    invalid_image_request,  // never produced; read from saved data
    invalid_option,
    invalid_schema,
    invalid_scenario,
  };
  Reason reason = Reason::invalid_request;
  std::vector<FieldError> errors;
};

// A tool call failed, and the runtime made the error. A failure that the handler reports is not a ToolError; see
// ToolFailure.
struct ToolError {
  enum class Reason : std::uint8_t {
    handler_raised,     // the handler threw
    handler_exit,       // the process that ran the handler died
    timeout,            // the handler did not answer by its deadline
    invalid_return,     // the handler's answer is not allowed
    not_found,          // the tool has no handler
    encoding_failed,    // the result cannot be written as JSON
    invalid_arguments,  // the model's arguments are not a JSON object or break the tool's schema
    unknown_tool,       // reported to the model under OnUnknownTool::report
    not_run,            // skipped: another call, a limit or a cancellation ended the step
    overloaded,         // too many handlers still run past their deadlines
    denied,             // the approval gate refused the call
    cancelled,          // the run was cancelled while the tool was running
  };
  Reason reason = Reason::handler_raised;
  std::optional<std::string> tool_name = std::nullopt;
  std::optional<std::string> tool_call_id = std::nullopt;
};

// The operation is not allowed in the session's state.
struct SessionError {
  enum class Reason : std::uint8_t {
    session_in_error_state,
    unknown_tool_call_id,
    invalid_status_for_operation,
    no_pending_tool_call,  // never produced; read from saved data
  };
  Reason reason = Reason::invalid_status_for_operation;
};

// The names of reasons as they appear in JSON, scenarios and messages to the model.
std::string_view to_string(EngineError::Reason reason);
std::string_view to_string(AdapterError::Reason reason);
std::string_view to_string(StreamError::Reason reason);
std::string_view to_string(ValidationError::Reason reason);
std::string_view to_string(ToolError::Reason reason);
std::string_view to_string(SessionError::Reason reason);

// The reason of a given name, or nullopt.
template <class Reason>
std::optional<Reason> reason_from_string(std::string_view name);

class Error {
 public:
  using Detail = std::variant<EngineError, AdapterError, StreamError, ValidationError, ToolError, SessionError>;

  // An empty message is replaced by a default one: the kind, the provider or tool in parentheses
  // where known, and the reason. `metadata` is a JSON object; `reported_cause` any JSON value.
  // `Kind` is one of the six.
  template <class Kind>
    requires std::is_enum_v<typename Kind::Reason>
  Error(Kind detail, std::string message = {});
  template <class Kind>
    requires std::is_enum_v<typename Kind::Reason>
  Error(Kind detail, std::string message, Json metadata);
  template <class Kind>
    requires std::is_enum_v<typename Kind::Reason>
  Error(Kind detail, std::string message, Json metadata, Json reported_cause);

  const Detail& detail() const;
  const std::string& message() const;
  const Json& metadata() const;
  // The cause as a provider or a script reported it, in its own form; null for most errors. In the JSON form it is
  // `cause`.
  const Json& reported_cause() const;
  // The exception that caused the error, for `std::rethrow_exception`; null for most errors. It is not part of the JSON
  // form, and operator== ignores it.
  const std::exception_ptr& cause() const;
  // The same error with this exception as its cause.
  Error with_cause(std::exception_ptr cause) const;

  // "EngineError", "AdapterError", …
  std::string_view kind() const;
  // The reason's name, e.g. "rate_limited".
  std::string_view reason() const;

  // The detail if the error is of that kind, else null: `if (auto* e = error.get_if<ToolError>())`.
  template <class Kind>
  const Kind* get_if() const;
  template <class Kind>
  bool is(typename Kind::Reason reason) const {
    const Kind* kind = get_if<Kind>();
    return kind != nullptr && kind->reason == reason;
  }

  friend bool operator==(const Error& a, const Error& b);

 private:
  struct Data;
  static std::shared_ptr<const Data> make(Detail detail, std::string message, Json metadata, Json reported_cause);
  std::shared_ptr<const Data> data_;
};

template <class T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

// Makes a ValidationError about one field.
Error validation_error(ValidationError::Reason reason, Path path, std::string field_reason, std::string message = {});

// "messages[1].tool_call_id"
std::string to_string(const Path& path);

}  // namespace allm
