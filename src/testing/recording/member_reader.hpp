// Reads the members of a JSON object, each once, and says what is wrong with the first that is not as it should be.
// One thread at a time; borrows the object.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "allm/json.hpp"
#include "allm/serialize.hpp"

namespace allm {

// What is wrong further in, as seen from outside: ValidationError `invalid_request` at `path` and then the path of
// `error`, for its reason.
Error invalid_within(Path path, const Error& error, std::string message);

class MemberReader {
 public:
  explicit MemberReader(const Json& object) : object_(object) {}

  // Each answers whether to go on; after the first failure all answer false.
  bool text(std::string_view name, std::string& out);
  bool optional_text(std::string_view name, std::optional<std::string>& out);
  // Any value.
  bool json(std::string_view name, Json& out);
  bool object(std::string_view name, Json& out);
  // A value that allm/serialize.hpp reads.
  template <class T>
  bool value(std::string_view name, std::optional<T>& out) {
    return read_value(name, take(name), out) && (out || absent(name));
  }
  // As `value`, but may be missing.
  template <class T>
  bool optional_value(std::string_view name, std::optional<T>& out) {
    return read_value(name, take(name), out);
  }

  // The member, or null: then it is missing, or something failed before. It counts as read.
  const Json* take(std::string_view name);
  bool absent(std::string_view name);
  bool fail(std::string_view name, std::string reason, std::string problem);
  // What is wrong within a member.
  bool fail(Path path, const Error& error);

  // The failure, if there was one; and members that nobody read are one.
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
  std::string names_;  // of what was read, for the message about what was not
  std::optional<Error> error_;
};

}  // namespace allm
