// Errors: they are returned, never thrown.
//
// Every function of allm that can fail returns `Result<T>`. An `Error` has one of seven kinds, a reason from the closed
// set of its kind, a message for people and metadata for programs. Failures have different reasons if the caller should
// handle them differently. Errors are immutable and cheap to copy; several threads may share one.
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
    missing_stream_adapter,  // allm never makes it; saved data may contain it
    missing_model,
    missing_key,
    unknown_tool,                 // a call names a tool that does not exist
    invalid_engine,               // the configuration, a file or the process cannot be used; see the message
    unsupported_response_format,  // allm never makes it; saved data may contain it
    no_image_adapter,             // allm never makes it; saved data may contain it
    catalog_not_loaded,           // the catalogue has no models
    over_budget,                  // a model call was not sent, because its worst case does not fit into a budget
  };
  Reason reason = Reason::invalid_engine;
  std::optional<std::string> provider = std::nullopt;
};

// The model's provider failed or refused the call. `rate_limited`, `provider_unavailable`, `timeout` and
// `network_error` are temporary; by default the engine retries them (allm/retry.hpp). For the other reasons, the
// request or the configuration has to be changed. The metadata of an error of an HTTP exchange has `provider`, `url`
// (without its query) and, if the server answered, `http_status`.
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

// A stream failed while it was read. `event_index` is the index, from 0, of the provider's event that caused the error.
struct StreamError {
  enum class Reason : std::uint8_t { adapter_error, cancelled, timeout, malformed_event, unknown };
  Reason reason = Reason::unknown;
  std::optional<std::string> provider = std::nullopt;
  std::optional<std::int64_t> event_index = std::nullopt;
};

// One element of a path into a JSON value: the name of a member, or an index of an array.
using PathStep = std::variant<std::string, std::int64_t>;
using Path = std::vector<PathStep>;

// An error in one field. `reason` is a short snake_case word such as `required`.
struct FieldError {
  Path path;
  std::string reason;
  bool operator==(const FieldError&) const;
};

// Input was rejected before anything was done. `errors` has every error that was found, in the order of the checks.
struct ValidationError {
  enum class Reason : std::uint8_t {
    invalid_request,
    invalid_message,
    invalid_tool,
    invalid_thread,
    invalid_session,
    invalid_session_input,  // allm never makes it; saved data may contain it
    unsupported_capability,
    invalid_image_request,  // allm never makes it; saved data may contain it
    invalid_option,
    invalid_schema,
    invalid_scenario,
  };
  Reason reason = Reason::invalid_request;
  std::vector<FieldError> errors;
};

// A tool call failed, and allm reports it. A failure that the handler itself reports is not a ToolError; see
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
    unknown_tool,       // the tool does not exist, and the option is OnUnknownTool::report
    not_run,            // skipped: another call, a limit or a cancellation ended the step
    overloaded,         // too many handlers still run past their deadlines
    denied,             // the approval gate refused the call
    cancelled,          // the run was cancelled while the tool was running
    interrupted,        // the program died while the tool was running; the call may have had effects
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
    no_pending_tool_call,  // allm never makes it; saved data may contain it
  };
  Reason reason = Reason::invalid_status_for_operation;
};

// A session store could not do what it was asked to do.
struct StoreError {
  enum class Reason : std::uint8_t {
    not_found,       // there is no such session or budget
    already_exists,  // a session with this id, or a budget with this name, exists
    conflict,        // somebody else has changed the session meanwhile; load it again. Or a budget has other limits
    leased,          // somebody else runs the session
    fenced,          // the lease has ended; the caller must stop to run the session
    invalid_url,     // the store's URL or file name cannot be used
    unavailable,     // the database is locked or cannot be reached; try again later
    full,            // the disk is full
    read_only,       // the file or the database cannot be written
    corrupted,       // the database or one of its rows cannot be read
    future_version,  // a newer version of allm wrote the database
  };
  Reason reason = Reason::unavailable;
  std::optional<std::string> session_id = std::nullopt;
};

// The names of reasons as they appear in JSON, scenarios and messages to the model.
std::string_view to_string(EngineError::Reason reason);
std::string_view to_string(AdapterError::Reason reason);
std::string_view to_string(StreamError::Reason reason);
std::string_view to_string(ValidationError::Reason reason);
std::string_view to_string(ToolError::Reason reason);
std::string_view to_string(SessionError::Reason reason);
std::string_view to_string(StoreError::Reason reason);

// The reason with that name, or nullopt: reason_from_string<ToolError::Reason>("timeout").
template <class Reason>
std::optional<Reason> reason_from_string(std::string_view name);

class Error {
 public:
  using Detail =
      std::variant<EngineError, AdapterError, StreamError, ValidationError, ToolError, SessionError, StoreError>;

  // `Kind` is one of the seven structs above. An empty message is replaced by a default message: the kind, the provider
  // or the tool in parentheses if it is known, and the reason. `metadata` is a JSON object; `reported_cause` is any
  // JSON value.
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
  // The cause as the provider or a test script reported it, unchanged; null for most errors. In the JSON form of the
  // error its name is `cause`.
  const Json& reported_cause() const;
  // The exception that caused the error, for `std::rethrow_exception`; null for most errors. It is not part of the JSON
  // form, and operator== ignores it.
  const std::exception_ptr& cause() const;
  // Returns a copy of the error whose cause() is this exception.
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

// The path as text: "messages[1].tool_call_id".
std::string to_string(const Path& path);

}  // namespace allm
