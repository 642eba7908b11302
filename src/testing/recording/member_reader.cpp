#include "testing/recording/member_reader.hpp"

#include "data/failure.hpp"

namespace allm {

Error invalid_within(Path path, const Error& error, std::string message) {
  std::string reason = "malformed";
  if (const auto* invalid = error.get_if<ValidationError>(); invalid != nullptr && !invalid->errors.empty()) {
    const FieldError& first = invalid->errors.front();
    path.insert(path.end(), first.path.begin(), first.path.end());
    reason = first.reason;
  }
  return validation_error(ValidationError::Reason::invalid_request, std::move(path), std::move(reason),
                          std::move(message));
}

const Json* MemberReader::take(std::string_view name) {
  if (error_) return nullptr;
  if (!object_.is_object()) {
    error_ = validation_error(ValidationError::Reason::invalid_request, {}, "invalid_type", "must be an object");
    return nullptr;
  }
  names_ += (names_.empty() ? "" : ", ") + std::string(name);
  const auto found = object_.find(name);
  if (found == object_.end()) return nullptr;
  ++read_;
  return &*found;
}

bool MemberReader::text(std::string_view name, std::string& out) {
  const Json* found = take(name);
  if (found == nullptr) return fail_missing(name);
  if (!found->is_string()) return fail(name, "invalid_type", "must be a text");
  out = found->get_ref<const std::string&>();
  return true;
}

bool MemberReader::optional_text(std::string_view name, std::optional<std::string>& out) {
  const Json* found = take(name);
  if (found == nullptr) return !error_;
  if (!found->is_string()) return fail(name, "invalid_type", "must be a text");
  out = found->get_ref<const std::string&>();
  return true;
}

bool MemberReader::json(std::string_view name, Json& out) {
  const Json* found = take(name);
  if (found == nullptr) return fail_missing(name);
  out = *found;
  return true;
}

bool MemberReader::object(std::string_view name, Json& out) {
  return json(name, out) && (out.is_object() || fail(name, "invalid_type", "must be an object"));
}

bool MemberReader::fail_missing(std::string_view name) { return fail(name, "missing", "is missing"); }

bool MemberReader::fail(std::string_view name, std::string reason, std::string message) {
  if (!error_) {
    error_ = validation_error(ValidationError::Reason::invalid_request, {codec::printable(name)}, std::move(reason),
                              codec::printable(name) + " " + std::move(message));
  }
  return false;
}

bool MemberReader::fail(Path path, const Error& error) {
  if (error_) return false;
  const std::string message = to_string(path) + ": " + error.message();
  error_ = invalid_within(std::move(path), error, message);
  return false;
}

std::optional<Error> MemberReader::finish() {
  if (error_ || object_.size() == read_) return error_;
  // A search in the joined names is good enough: there are few, and no known name contains a comma.
  for (const auto& [name, value] : object_.items()) {
    if ((", " + names_ + ", ").find(", " + name + ", ") != std::string::npos) continue;
    fail(name, "unknown_field", "is not a member here: there are " + names_);
    break;
  }
  return error_;
}

}  // namespace allm
