// Reads the members of a JSON object, each once, and keeps the first error. The object must outlive the reader. One
// thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "allm/json.hpp"
#include "allm/serialize.hpp"

namespace allm {

// An error in an inner value, reported for the outer one: ValidationError `invalid_request` with the reason of `error`.
// Its path is `path` followed by the path of `error`.
Error invalid_within(Path path, const Error& error, std::string message);

class MemberReader {
 public:
  explicit MemberReader(const Json& object) : object_(object) {}

  // Each returns whether to go on: false after the first failure.
  bool text(std::string_view name, std::string& out);
  bool optional_text(std::string_view name, std::optional<std::string>& out);
  // Any value.
  bool json(std::string_view name, Json& out);
  bool object(std::string_view name, Json& out);
  // A value that allm/serialize.hpp reads.
  template <class T>
  bool value(std::string_view name, std::optional<T>& out) {
    return read_value(name, take(name), out) && (out || fail_missing(name));
  }
  // As `value`, but may be missing.
  template <class T>
  bool optional_value(std::string_view name, std::optional<T>& out) {
    return read_value(name, take(name), out);
  }

  // The member, which then counts as read; null if it is missing or something failed before.
  const Json* take(std::string_view name);
  bool fail_missing(std::string_view name);
  // `message` continues the name of the member: "must be a text".
  bool fail(std::string_view name, std::string reason, std::string message);
  // Reports an error within a member.
  bool fail(Path path, const Error& error);

  // The first failure; nullopt if there was none. A member that was not read is a failure.
  std::optional<Error> finish();

 private:
  template <class T>
  bool read_value(std::string_view name, const Json* found, std::optional<T>& out) {
    if (found == nullptr) return !error_;
    Result<T> read = from_json_value<T>(*found);
    if (!read) return fail({std::string(name)}, read.error());
    out = *std::move(read);
    return true;
  }

  const Json& object_;
  std::size_t read_ = 0;
  std::string names_;  // of the members that were read, for the message about an unknown one
  std::optional<Error> error_;
};

}  // namespace allm
