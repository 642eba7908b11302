#include "allm/error.hpp"

#include <utility>

#include <fmt/format.h>

#include "allm/json.hpp"

#include "data/names.hpp"
#include "data/overloaded.hpp"
#include "data/validation_errors.hpp"

namespace allm {

struct Error::Data {
  Detail detail;
  std::string message;
  Json metadata;
  Json reported_cause;
  std::exception_ptr cause = nullptr;
};

namespace {

std::string describe(std::string_view kind, const std::optional<std::string>& who, std::string_view reason) {
  if (who.has_value()) return fmt::format("{} ({}): {}", kind, *who, reason);
  return fmt::format("{}: {}", kind, reason);
}

std::string default_message(const Error::Detail& detail) {
  return std::visit(
      Overloaded{
          [](const EngineError& e) { return describe("engine error", e.provider, to_string(e.reason)); },
          [](const AdapterError& e) { return describe("adapter error", e.provider, to_string(e.reason)); },
          [](const StreamError& e) { return describe("stream error", e.provider, to_string(e.reason)); },
          [](const ValidationError& e) {
            return fmt::format("validation error: {} ({} {})", to_string(e.reason), e.errors.size(),
                               e.errors.size() == 1 ? "error" : "errors");
          },
          [](const ToolError& e) { return describe("tool error", e.tool_name, to_string(e.reason)); },
          [](const SessionError& e) { return describe("session error", std::nullopt, to_string(e.reason)); },
          [](const StoreError& e) { return describe("store error", e.session_id, to_string(e.reason)); },
      },
      detail);
}

bool equal(const EngineError& a, const EngineError& b) { return a.reason == b.reason && a.provider == b.provider; }
bool equal(const AdapterError& a, const AdapterError& b) {
  return a.reason == b.reason && a.provider == b.provider && a.status == b.status &&
         a.retry_after_ms == b.retry_after_ms && a.request_id == b.request_id;
}
bool equal(const StreamError& a, const StreamError& b) {
  return a.reason == b.reason && a.provider == b.provider && a.event_index == b.event_index;
}
bool equal(const ValidationError& a, const ValidationError& b) { return a.reason == b.reason && a.errors == b.errors; }
bool equal(const ToolError& a, const ToolError& b) {
  return a.reason == b.reason && a.tool_name == b.tool_name && a.tool_call_id == b.tool_call_id;
}
bool equal(const SessionError& a, const SessionError& b) { return a.reason == b.reason; }
bool equal(const StoreError& a, const StoreError& b) { return a.reason == b.reason && a.session_id == b.session_id; }

}  // namespace

std::string_view to_string(EngineError::Reason reason) { return enum_name(reason); }
std::string_view to_string(AdapterError::Reason reason) { return enum_name(reason); }
std::string_view to_string(StreamError::Reason reason) { return enum_name(reason); }
std::string_view to_string(ValidationError::Reason reason) { return enum_name(reason); }
std::string_view to_string(ToolError::Reason reason) { return enum_name(reason); }
std::string_view to_string(SessionError::Reason reason) { return enum_name(reason); }
std::string_view to_string(StoreError::Reason reason) { return enum_name(reason); }

template <class Reason>
std::optional<Reason> reason_from_string(std::string_view name) {
  return enum_from_name<Reason>(name);
}

template std::optional<EngineError::Reason> reason_from_string(std::string_view);
template std::optional<AdapterError::Reason> reason_from_string(std::string_view);
template std::optional<StreamError::Reason> reason_from_string(std::string_view);
template std::optional<ValidationError::Reason> reason_from_string(std::string_view);
template std::optional<ToolError::Reason> reason_from_string(std::string_view);
template std::optional<SessionError::Reason> reason_from_string(std::string_view);
template std::optional<StoreError::Reason> reason_from_string(std::string_view);

template <class Kind>
  requires std::is_enum_v<typename Kind::Reason>
Error::Error(Kind detail, std::string message)
    : data_(make(std::move(detail), std::move(message), Json::object(), nullptr)) {}

template <class Kind>
  requires std::is_enum_v<typename Kind::Reason>
Error::Error(Kind detail, std::string message, Json metadata)
    : data_(make(std::move(detail), std::move(message), std::move(metadata), nullptr)) {}

template <class Kind>
  requires std::is_enum_v<typename Kind::Reason>
Error::Error(Kind detail, std::string message, Json metadata, Json reported_cause)
    : data_(make(std::move(detail), std::move(message), std::move(metadata), std::move(reported_cause))) {}

template <class Kind>
const Kind* Error::get_if() const {
  return std::get_if<Kind>(&data_->detail);
}

template Error::Error(EngineError, std::string);
template Error::Error(EngineError, std::string, Json);
template Error::Error(EngineError, std::string, Json, Json);
template const EngineError* Error::get_if<EngineError>() const;
template Error::Error(AdapterError, std::string);
template Error::Error(AdapterError, std::string, Json);
template Error::Error(AdapterError, std::string, Json, Json);
template const AdapterError* Error::get_if<AdapterError>() const;
template Error::Error(StreamError, std::string);
template Error::Error(StreamError, std::string, Json);
template Error::Error(StreamError, std::string, Json, Json);
template const StreamError* Error::get_if<StreamError>() const;
template Error::Error(ValidationError, std::string);
template Error::Error(ValidationError, std::string, Json);
template Error::Error(ValidationError, std::string, Json, Json);
template const ValidationError* Error::get_if<ValidationError>() const;
template Error::Error(ToolError, std::string);
template Error::Error(ToolError, std::string, Json);
template Error::Error(ToolError, std::string, Json, Json);
template const ToolError* Error::get_if<ToolError>() const;
template Error::Error(SessionError, std::string);
template Error::Error(SessionError, std::string, Json);
template Error::Error(SessionError, std::string, Json, Json);
template const SessionError* Error::get_if<SessionError>() const;
template Error::Error(StoreError, std::string);
template Error::Error(StoreError, std::string, Json);
template Error::Error(StoreError, std::string, Json, Json);
template const StoreError* Error::get_if<StoreError>() const;

std::shared_ptr<const Error::Data> Error::make(Detail detail, std::string message, Json metadata, Json reported_cause) {
  if (message.empty()) message = default_message(detail);
  if (metadata.is_null()) metadata = Json::object();
  return std::make_shared<const Data>(
      Data{std::move(detail), std::move(message), std::move(metadata), std::move(reported_cause)});
}

const Error::Detail& Error::detail() const { return data_->detail; }
const std::string& Error::message() const { return data_->message; }
const Json& Error::metadata() const { return data_->metadata; }
const Json& Error::reported_cause() const { return data_->reported_cause; }
const std::exception_ptr& Error::cause() const { return data_->cause; }

Error Error::with_cause(std::exception_ptr cause) const {
  Error copy = *this;
  auto data = std::make_shared<Data>(*data_);
  data->cause = std::move(cause);
  copy.data_ = std::move(data);
  return copy;
}

std::string_view Error::kind() const {
  return std::visit(Overloaded{
                        [](const EngineError&) { return std::string_view("EngineError"); },
                        [](const AdapterError&) { return std::string_view("AdapterError"); },
                        [](const StreamError&) { return std::string_view("StreamError"); },
                        [](const ValidationError&) { return std::string_view("ValidationError"); },
                        [](const ToolError&) { return std::string_view("ToolError"); },
                        [](const SessionError&) { return std::string_view("SessionError"); },
                        [](const StoreError&) { return std::string_view("StoreError"); },
                    },
                    detail());
}

std::string_view Error::reason() const {
  return std::visit([](const auto& kind) { return to_string(kind.reason); }, detail());
}

bool operator==(const Error& a, const Error& b) {
  if (a.data_ == b.data_) return true;
  if (a.detail().index() != b.detail().index()) return false;
  const bool same_detail = std::visit(
      [&b](const auto& kind) { return equal(kind, std::get<std::remove_cvref_t<decltype(kind)>>(b.detail())); },
      a.detail());
  return same_detail && a.message() == b.message() && a.metadata() == b.metadata() &&
         a.reported_cause() == b.reported_cause();
}

Error validation_error(ValidationError::Reason reason, Path path, std::string field_reason, std::string message) {
  std::vector<FieldError> errors;
  errors.push_back({std::move(path), std::move(field_reason)});
  if (message.empty()) return validation_errors(reason, std::move(errors));
  return Error(ValidationError{reason, std::move(errors)}, std::move(message));
}

std::string to_string(const Path& path) {
  std::string text;
  for (const PathStep& step : path) {
    if (const auto* index = std::get_if<std::int64_t>(&step)) {
      text += fmt::format("[{}]", *index);
    } else {
      if (!text.empty()) text += '.';
      text += std::get<std::string>(step);
    }
  }
  return text;
}

}  // namespace allm
